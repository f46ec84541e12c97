//! `evenkeel cdr layout`.

use super::audit;
use super::convert::Shown;
use crate::command::Session;
use crate::failure::{NOT_VALID, WithHint};
use crate::{format, out};
use anyhow::{Context, Result};
use evenkeel_haul::audit::Report;
use evenkeel_haul::input;
use evenkeel_haul::layout::{Guess, NoLayout, Sample, guess};
use evenkeel_haul::load::{Check, Loaded};
use evenkeel_os::clock::Clock;
use evenkeel_wire::record::Dialect;
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Bytes that a guess is made from.
const SAMPLE: usize = 4 << 20;
/// Records that are shown.
const SHOWN: usize = 3;
/// Letters of a row.
const ROW: usize = 100;

/// Flags of `evenkeel cdr layout`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  evenkeel cdr layout calls-0801.cdr > calls.toml
  evenkeel cdr layout calls-0801.cdr.gz --output calls.toml --quiet

It looks at the first 4 MB. Lines with delimiters (, ; tab |) get names from their header and types from their values.
Of others columns are where blanks and kinds of letters change over many records, numbers stand
to the right, and instants are those that the calendar has. What cannot be told, as two fields of digits side by
side, is a comment in the layout. The first records are shown below a ruler on the error stream.

Exit codes: 0 a layout, to be mended by hand; 2 wrong use, or a file that cannot be read or written; 3 it holds no
records, or too few to tell.")]
pub struct Args {
    /// File to look at, packed or not, or - for the standard input
    #[arg(value_name = "FILE")]
    pub input: String,
    /// File for the layout
    #[arg(long, short, value_name = "FILE", default_value = "-", hide_default_value = true)]
    pub output: PathBuf,
}

/// Guesses a layout, prints it, and shows the first records below it.
pub fn run(session: &Session, args: &Args) -> Result<ExitCode> {
    let input = Path::new(if args.input == "-" { "/dev/stdin" } else { args.input.as_str() });
    let stream = input::open(input, 0).hint("name a file of records, or - for a pipe")?.stream;
    let mut bytes = Vec::new();
    let read = stream.take(SAMPLE as u64 + 1).read_to_end(&mut bytes);
    read.with_context(|| format!("reading {}", input.display())).hint("is it damaged, or no file?")?;
    let is_whole = bytes.len() <= SAMPLE;
    bytes.truncate(SAMPLE);
    let guessed = Sample::new(&bytes, is_whole).and_then(|sample| Ok((guess(&sample)?, sample)));
    let (guessed, sample) = match guessed {
        Ok(found) => found,
        Err(why) => {
            out::tell(&format!("{}: no layout: {why}\n  hint: {}\n", input.display(), hint(&why)));
            return Ok(ExitCode::from(NOT_VALID));
        }
    };
    let text = guessed.to_toml();
    match args.output == Path::new("-") {
        true => out::write(&text)?,
        false => out::file(&args.output, &text)
            .with_context(|| format!("writing {}", args.output.display()))
            .hint("name a file in a folder where you may write")?,
    }
    if !session.quiet {
        out::tell(&shown(&guessed, &sample));
    }
    Ok(ExitCode::SUCCESS)
}

/// What to do about a file whose lines have delimiters, where the layout has fields of fixed width.
pub(super) fn delimited(path: &Path) -> Option<String> {
    let mut bytes = Vec::new();
    input::open(path, 0).ok()?.stream.take(64 << 10).read_to_end(&mut bytes).ok()?;
    let by = char::from(Sample::new(&bytes, false).ok()?.dialect?.delimiter);
    let file = path.display();
    Some(format!(
        "{file}: its fields are separated by {by:?}, and the layout has fields of fixed width\n  hint: `evenkeel cdr layout \
         {file} > calls.toml` writes a layout for it\n"
    ))
}

fn hint(why: &NoLayout) -> &'static str {
    match why {
        NoLayout::Few(_) => {
            "take a longer file, or write the layout by hand: evenkeel cdr convert --help shows one"
        }
        _ => "evenkeel cdr convert --help shows a layout that is written by hand",
    }
}

/// The first records below a ruler, with a mark where each field begins; then the fields by name.
fn shown(guess: &Guess, sample: &Sample<'_>) -> String {
    let of = &guess.layout.types()[0];
    if let Some(dialect) = sample.dialect {
        return shown_columns(guess, sample, dialect);
    }
    let records = sample.first(1000).iter().filter(|record| record.len() == of.length()).take(SHOWN);
    let starts: Vec<usize> = of.fields.iter().map(|field| field.start).collect();
    let mut text = format!("{} bytes\n", of.length());
    for row in (0..of.length()).step_by(ROW) {
        let places = row..(row + ROW).min(of.length());
        let tens: String = places.clone().step_by(10).map(|ten| format!("{ten:<10}")).collect();
        let _ = writeln!(text, "{}", tens.trim_end());
        let mark = |at: usize| if starts.contains(&at) { '|' } else { '.' };
        let _ = writeln!(text, "{}", places.clone().map(mark).collect::<String>());
        for record in records.clone() {
            let letters = record[places.clone()].iter().map(|byte| match byte {
                b' '..=b'~' => char::from(*byte),
                _ => '?',
            });
            let _ = writeln!(text, "{}", letters.collect::<String>());
        }
    }
    for field in &of.fields {
        let kind =
            if field.kept { format!("{:?}", field.kind).to_lowercase() } else { "left out".to_owned() };
        let _ = writeln!(text, "  {:>5} {:>5}  {:<10} {kind}", field.start, field.width, field.name);
    }
    let doubts = format::counted(guess.doubts.len(), "doubt");
    let _ = writeln!(text, "{doubts} in the layout's comments: mend it by hand");
    text
}

/// The fields by name, each with its first values.
fn shown_columns(guess: &Guess, sample: &Sample<'_>, dialect: Dialect) -> String {
    let records = || sample.first(SHOWN + 1).iter().skip(1);
    let mut text = String::new();
    for field in &guess.layout.types()[0].fields {
        let value = |record: &&[u8]| match dialect.cells(record).nth(field.start) {
            Some(Ok(value)) => String::from_utf8_lossy(&value).into_owned(),
            _ => String::new(),
        };
        let values: Vec<String> = records().map(value).collect();
        let kind = format!("{:?}", field.kind).to_lowercase();
        let _ = writeln!(text, "  {:<20} {kind:<8} {}", field.name, values.join(" | "));
    }
    let doubts = format::counted(guess.doubts.len(), "doubt");
    let _ = writeln!(text, "{doubts} in the layout's comments");
    text
}

/// What it found, and its price.
pub(super) struct Audited {
    reports: Vec<Report>,
    took_s: f64,
}

impl Audited {
    /// Audits.
    pub fn of(check: &Check<'_>, loaded: &Loaded, shown: Shown) -> Result<Self> {
        let clock = Clock::start();
        let found = check.run(loaded, &|progress| shown.tell(progress));
        drop(shown);
        let reports =
            found.hint("the load is done, and was not audited: evenkeel cdr audit does that by hand")?;
        Ok(Self { reports, took_s: clock.now().as_secs_f64() })
    }

    /// How much was found.
    pub fn total(&self) -> u64 {
        self.reports.iter().map(Report::total).sum()
    }

    /// In words: as `evenkeel cdr audit` says it, table by table.
    pub fn text(&self) -> String {
        let share = self.took_s / self.reports.len().max(1) as f64;
        self.reports.iter().map(|report| format!("audited: {}", audit::text(report, share))).collect()
    }

    /// The same for programs.
    pub fn json(&self) -> Value {
        json!({ "took_s": self.took_s, "found": self.total(), "tables": self.reports })
    }
}
