//! Settings of a published study: `KEY=VALUE` on the command line, read as the long flags of a command of its own.

use crate::cli::whole_number;
use crate::config::units;
use crate::failure::WithHint;
use anyhow::{Result, anyhow, bail};
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Arg, Command, value_parser};
use evenkeel_core::Nanos;
use std::path::PathBuf;

/// Reads the settings of this study.
pub fn read<T: clap::Parser>(study: &str, words: &[String]) -> Result<T> {
    let command = built(T::command());
    let known = || {
        let known: Vec<String> = command.get_arguments().map(setting).collect();
        format!("settings of {study} are {}; `evenkeel study {study} --list` explains them", known.join(", "))
    };
    if let Some(word) = words.iter().find(|word| !word.contains('=')) {
        return Err(anyhow!("{word:?} is not a setting: write KEY=VALUE")).hint(known());
    }
    let flags = words.iter().map(|word| format!("--{word}"));
    let found = command.clone().try_get_matches_from(flags).and_then(|found| T::from_arg_matches(&found));
    found.or_else(|error| match error.kind() {
        ErrorKind::UnknownArgument => {
            let key = named(&error, ContextKind::InvalidArg).unwrap_or_default();
            Err(anyhow!("{study} has no setting `{key}`{}", meant(&error))).hint(known())
        }
        _ => Err(anyhow!(told(&command, &error)))
            .hint(format!("`evenkeel study {study} --list` explains its settings")),
    })
}

/// The command of settings, ready to read them.
pub fn built(command: Command) -> Command {
    let mut command = command.no_binary_name(true).disable_help_flag(true);
    command.build();
    command
}

/// What clap says of flags, said of settings.
fn told(command: &Command, error: &clap::Error) -> String {
    let text = error.to_string();
    let lines = text.trim_start_matches("error: ").lines().map(str::trim).take_while(|line| !line.is_empty());
    let first = lines.collect::<Vec<_>>().join(" ");
    let is_list = first.contains("<LIST>");
    let number = if is_list { "write numbers, as 1,4,16" } else { "write a whole number, as 100000" };
    let first = whole_number(&first, number);
    command.get_arguments().fold(first, |text, flag| text.replace(&flag.to_string(), &setting(flag)))
}

/// A flag as it is written here: `clients=LIST`.
pub fn setting(flag: &Arg) -> String {
    let value = flag.get_value_names().and_then(|names| names.first()).map_or("VALUE", |name| name.as_str());
    format!("{}={value}", flag.get_long().unwrap_or_default())
}

/// The name of a flag that an error has to do with.
pub fn named(error: &clap::Error, how: ContextKind) -> Option<String> {
    let flag = match error.get(how)? {
        ContextValue::String(flag) => flag,
        ContextValue::Strings(flags) => flags.first()?,
        _ => return None,
    };
    let name = flag.strip_prefix("--")?.split([' ', '=']).next()?;
    Some(name.trim_end_matches("...").to_owned())
}

/// The flag that is most like an unknown one.
pub fn meant(error: &clap::Error) -> String {
    let near = named(error, ContextKind::SuggestedArg);
    near.map_or_else(String::new, |near| format!(", did you mean `{near}`?"))
}

/// A time in seconds.
pub fn time(text: &str) -> Result<f64> {
    units::duration(text).map(Nanos::as_secs_f64)
}

/// A time in which something can be seen, in seconds.
pub fn long(text: &str) -> Result<f64> {
    match time(text)? {
        short if short < 0.5 => bail!("too short to see anything, give it a second or more"),
        seconds => Ok(seconds),
    }
}

/// The things of these names, or all where none is named; `more` is for the hint at what there is.
pub fn chosen<T>(asked: &[String], all: Vec<T>, name: impl Fn(&T) -> &str, more: &str) -> Result<Vec<T>> {
    let names: Vec<&str> = all.iter().map(&name).collect();
    if let Some(unknown) = asked.iter().find(|asked| !names.contains(&asked.as_str())) {
        return Err(anyhow!("unknown name {unknown:?}")).hint(format!("there is {}{more}", names.join(", ")));
    }
    Ok(all
        .into_iter()
        .filter(|one| asked.is_empty() || asked.iter().any(|asked| asked == name(one)))
        .collect())
}

/// What `evenkeel study` takes.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  evenkeel study --list
      the published studies
  evenkeel study throttling --list
      the settings of one, with their defaults
  evenkeel study throttling --quick
      a published study, in short
  evenkeel study throttling clients=1,4,16,64,256 duration=30s --repeats 5
  evenkeel study variation --quick
      why a profile varies: from run to run, from start to start, from server to server
  evenkeel study examples/studies/setting.toml
      a study of your own: does a setting matter? the file says what to change, and how often to repeat
  evenkeel study --resume last
      continue a stopped study

Exit codes: 0 done; 2 wrong use, no server, or one that refuses a statement; 130, 143 stopped by Ctrl-C, SIGTERM: \
finished runs are kept (continue with --resume). A study of a file also has, like a profile, 1 most requests of a rate \
failed, 3 no bound is known.")]
pub struct Args {
    /// A published study (--list names them), or a file of your own: factors and their levels, the workload, and what is compared;
    /// examples/studies shows every key
    #[arg(value_name = "NAME|FILE")]
    pub study: Option<String>,
    /// Settings of a published study, as clients=4,16 or duet=yes; NAME --list shows them
    #[arg(value_name = "KEY=VALUE")]
    pub settings: Vec<String>,
    /// Name the published studies; after a NAME, its settings
    #[arg(long, conflicts_with_all = ["settings", "quick", "name", "repeats", "output", "json"])]
    pub list: bool,
    /// A short version of a published study
    #[arg(long)]
    pub quick: bool,
    /// Continue a stopped study: its folder, its name or a prefix of it, or `last`
    #[arg(long, value_name = "STUDY")]
    pub resume: Option<String>,
    /// Name of the study, as `compare`, `report` and other commands take it [default: time and kind of study]
    #[arg(long, value_name = "NAME")]
    pub name: Option<String>,
    /// Runs of each point of a published study; with --resume of a study of a file: raise its runs of each cell to N
    #[arg(long, value_name = "N", value_parser = value_parser!(u32).range(1..=1_000))]
    pub repeats: Option<u32>,
    /// Folder for studies [default: HOME/runs]
    #[arg(long, value_name = "DIR")]
    pub output: Option<PathBuf>,
    /// Findings as JSON
    #[arg(long)]
    pub json: bool,
}
