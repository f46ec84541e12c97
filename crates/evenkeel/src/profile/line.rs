//! A command line of `evenkeel profile`: the one that a study has kept, or one made of a study's file.

use super::flags::Args;
use crate::cli::{Cli, modes};
use clap::{CommandFactory, FromArgMatches, Subcommand, error};

/// The one command that such a line may name.
#[derive(Debug, Subcommand)]
enum Only {
    /// Measure what load a server carries
    Profile(Box<Args>),
}

/// The flags of a line, whose words are those behind the program's name.
///
/// # Errors
/// Words that are no flags of a profile, or another command.
pub fn read<'a>(words: impl IntoIterator<Item = &'a str>) -> error::Result<Box<Args>> {
    let line = std::iter::once("evenkeel").chain(words);
    let Only::Profile(args) = Cli::from_arg_matches(&command().try_get_matches_from(line)?)?.command;
    Ok(args)
}

fn command() -> clap::Command {
    modes::profile(Cli::<Only>::command())
}
