//! Man pages, one for each command, made of what the command line says of itself.

use crate::failure::WithHint;
use anyhow::{Context, Result};
use clap::Command;
use clap_mangen::Man;
use clap_mangen::roff::{Roff, roman};
use std::fs;
use std::io;
use std::path::PathBuf;
use std::process::ExitCode;

/// What `evenkeel man` takes.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Folder for them; made where there is none
    #[arg(value_name = "DIR")]
    pub folder: PathBuf,
}

/// Writes all pages of a program, which is given as its command line describes itself.
/// Errors: the folder cannot be made or written to.
pub fn run(args: &Args, program: Command) -> Result<ExitCode> {
    let folder = &args.folder;
    let made = fs::create_dir_all(folder).with_context(|| format!("making {}", folder.display()));
    made.hint("name a folder where you may write")?;
    for Page { file, text } in pages(program)? {
        let path = folder.join(file);
        fs::write(&path, text).with_context(|| format!("writing {}", path.display()))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// One man page, of one command.
struct Page {
    /// Name of the file, as evenkeel-guard-demo.1.
    file: String,
    text: Vec<u8>,
}

fn pages(program: Command) -> io::Result<Vec<Page>> {
    let mut root = program.disable_help_subcommand(true);
    // From here on every command knows its whole name.
    root.build();
    let mut pages = Vec::new();
    add_pages(&root, None, &mut pages)?;
    Ok(pages)
}

/// Adds the page of a command and of those below it; `above` is the page that led here.
fn add_pages(command: &Command, above: Option<&str>, pages: &mut Vec<Page>) -> io::Result<()> {
    let name = command.get_display_name().unwrap_or_else(|| command.get_name());
    pages.push(Page { file: format!("{name}.1"), text: page(command, name, above)? });
    shown_below(command).try_for_each(|below| add_pages(below, Some(name), pages))
}

fn shown_below(command: &Command) -> impl Iterator<Item = &Command> {
    command.get_subcommands().filter(|below| !below.is_hide_set())
}

fn page(command: &Command, name: &str, above: Option<&str>) -> io::Result<Vec<u8>> {
    let source = concat!("evenkeel ", env!("CARGO_PKG_VERSION"));
    let man = Man::new(command.clone()).title(name.to_uppercase()).source(source).manual("Evenkeel");
    let mut text = Vec::new();
    man.render_title(&mut text)?;
    man.render_name_section(&mut text)?;
    man.render_synopsis_section(&mut text)?;
    man.render_description_section(&mut text)?;
    man.render_options_section(&mut text)?;
    if shown_below(command).next().is_some() {
        man.render_subcommands_section(&mut text)?;
    }
    let mut rest = Roff::new();
    if let Some(after) = command.get_after_long_help().or_else(|| command.get_after_help()) {
        add_remarks(&after.to_string(), &mut rest);
    }
    rest.control("SH", ["SEE ALSO"]);
    if let Some(above) = above {
        rest.text([roman(format!("{above}(1)."))]);
    }
    rest.text([roman("The guide and examples are in /usr/share/doc/evenkeel, or in the sources.")]);
    rest.to_writer(&mut text)?;
    Ok(text)
}

/// Adds what the help says below the flags: examples, whose lines stay as they are, and notes, whose paragraphs are
/// filled. A line of notes that begins with a space begins a line of the page too.
fn add_remarks(after: &str, page: &mut Roff) {
    let mut heading = "";
    for paragraph in after.split("\n\n") {
        let (own, body) = match paragraph.split_once('\n') {
            Some(("Examples:" | "Example:", examples)) => ("EXAMPLES", examples),
            _ => ("NOTES", paragraph),
        };
        if own == heading {
            page.control("PP", []);
        } else {
            page.control("SH", [own]);
            heading = own;
        }
        let keeps_lines = own == "EXAMPLES";
        if keeps_lines {
            page.control("nf", []);
        }
        for line in body.lines() {
            page.text([roman(line)]);
        }
        if keeps_lines {
            page.control("fi", []);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::{self, Cli};
    use clap::CommandFactory;
    use std::collections::BTreeSet;

    fn program() -> Command {
        Cli::<cli::Command>::command()
    }

    /// The pages that there have to be, by the definitions alone.
    fn names(command: &Command, above: &str, found: &mut BTreeSet<String>) {
        let name = format!("{above}{}", command.get_name());
        for below in command.get_subcommands().filter(|below| !below.is_hide_set()) {
            names(below, &format!("{name}-"), found);
        }
        found.insert(format!("{name}.1"));
    }

    #[test]
    fn every_command_has_a_page_of_its_own() {
        let mut needed = BTreeSet::new();
        names(&program(), "", &mut needed);
        let found: Vec<String> = pages(program()).unwrap().into_iter().map(|page| page.file).collect();
        assert!(needed.contains("evenkeel.1") && needed.contains("evenkeel-guard-demo.1"), "{needed:?}");
        assert_eq!(found.len(), needed.len());
        assert_eq!(found.into_iter().collect::<BTreeSet<_>>(), needed);
    }
}
