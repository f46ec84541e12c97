//! `evenkeel cdr convert`.

use crate::command::{Session, mode};
use crate::failure::{FINDING, WithHint};
use crate::progress::{Mode, ProgressEvent, View};
use crate::{format, out};
use anyhow::{Result, anyhow};
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use evenkeel_core::Nanos;
use evenkeel_haul::convert::{Done, Duplicates, Job, Tally};
use evenkeel_haul::input::list;
use evenkeel_haul::{Progress, Step, layout};
use evenkeel_os::clock::Clock;
use serde_json::json;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::{Mutex, PoisonError};

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  evenkeel cdr convert calls-0801.cdr --layout calls.toml --into csv/
  evenkeel cdr convert incoming/ 'late/*.cdr.gz' --layout calls.toml --into csv/

A layout (calls.toml):
  delimiter = \";\"
  key = [\"seq\"]            # a record whose key came before is refused
  [[field]]
  name = \"seq\"
  width = 10
  type = \"integer\"         # text, integer, decimal or time
  [[field]]
  name = \"answered\"
  width = 14
  type = \"time\"            # a blank one is NULL; blank = \"empty\" or \"refuse\" say otherwise
  [[field]]
  name = \"filler\"
  width = 27
  skip = true

With a key in the layout the first record that has it becomes a line, and later ones are refused. That needs about 30 to 80 bytes of
memory for each record, for at most 117 million records in one run; with more, use --duplicates keep and let the table's primary key
refuse repeats, as it does for those of earlier runs.

For each FILE, --into gets FILE.csv, FILE.rejects (file, byte offset, reason, record) and FILE.done. A rerun skips finished files and
begins an unfinished one again.

Exit codes: 0 done; 1 more than --max-rejects records were refused; 2 wrong use, or a file that cannot be read
or written; 130, 143 stopped by Ctrl-C, SIGTERM.")]
pub struct Args {
    /// Files, folders, patterns; .gz and .zst are unpacked
    #[arg(value_name = "FILE", required = true)]
    pub inputs: Vec<String>,
    /// Layout of the records, a TOML file as below
    #[arg(long, short, value_name = "FILE")]
    pub layout: PathBuf,
    /// Folder for the outputs; made if missing
    #[arg(long, value_name = "DIR")]
    pub into: PathBuf,
    /// What happens to a record whose key occurred earlier in this run
    #[arg(long, value_name = "WHAT", default_value = "refuse", value_parser = one_of(DUPLICATES))]
    pub duplicates: Duplicates,
    /// Exit code 1 if more records are refused
    #[arg(long, value_name = "N", default_value_t = u64::MAX, hide_default_value = true)]
    pub max_rejects: u64,
    /// Print what became of the records as JSON
    #[arg(long)]
    pub json: bool,
}

/// What a word on the command line stands for, and what its help says.
pub(super) type Words<T> = [(&'static str, T, &'static str)];

pub(super) const DUPLICATES: &Words<Duplicates> = &[
    ("refuse", Duplicates::Refuse, "It becomes a reject, which names the first one"),
    ("keep", Duplicates::Keep, "It is kept"),
];

/// Takes one of these words.
pub(super) fn one_of<T: Copy + Send + Sync>(known: &'static Words<T>) -> impl TypedValueParser<Value = T> {
    let values = known.iter().map(|(word, _, help)| PossibleValue::new(*word).help(*help));
    let meant = |chosen: String| known.iter().find(|(word, ..)| *word == chosen).map(|(_, value, _)| *value);
    PossibleValuesParser::new(values).try_map(move |chosen| meant(chosen).ok_or("no such word"))
}

/// Converts the files and prints what became of their records.
pub fn run(session: &Session, args: &Args) -> Result<ExitCode> {
    let file = layout::read(&args.layout).hint("evenkeel cdr convert --help shows a layout")?;
    let inputs = files(&args.inputs)?;
    let shown = Shown::new(view(session, args.json));
    let Args { into, duplicates, .. } = args;
    let job = Job { file: &file, inputs, into, duplicates: *duplicates, stop: &session.stop };
    let done = job.run(&mut |progress| shown.tell(progress))?;
    drop(shown);
    let tally = sum(&done);
    let value = json!({ "all": tally, "inputs": done });
    out::answer(args.json, &value, || out::write(&text(&tally, &done)))?;
    Ok(if tally.rejects > args.max_rejects { ExitCode::from(FINDING) } else { ExitCode::SUCCESS })
}

/// What goes on, as lines where the result is for programs.
pub(super) fn view(session: &Session, json: bool) -> View {
    View::new(if json && !session.quiet { Mode::Lines } else { mode(session, false) })
}

/// The files that are named. A rerun reads them again, which no pipe allows.
pub(super) fn files(words: &[String]) -> Result<Vec<PathBuf>> {
    let inputs = list(words).hint("name files, folders, or patterns in quotes")?;
    match inputs.iter().find(|input| !input.is_file()) {
        None => Ok(inputs),
        Some(pipe) => Err(anyhow!("{} is a pipe, which cannot be read again", pipe.display()))
            .hint("keep it in a file first"),
    }
}

fn sum(done: &[Done]) -> Tally {
    let mut tally = Tally::default();
    done.iter().for_each(|done| tally.add(&done.tally));
    tally
}

/// The commonest reasons, a line each; records of the wrong length are told together.
pub(super) fn reasons(tally: &Tally) -> String {
    let mut kinds: BTreeMap<&str, (u64, &str)> = BTreeMap::new();
    for (reason, times) in tally.reasons.iter().map(|(reason, times)| (reason.as_str(), *times)) {
        let kind = Tally::kind(reason).unwrap_or(reason);
        let known = kinds.entry(kind).or_insert((0, reason));
        *known = (known.0 + times, if known.0 == 0 { reason } else { kind });
    }
    let mut kinds: Vec<_> = kinds.into_values().collect();
    kinds.sort_by_key(|(times, _)| std::cmp::Reverse(*times));
    let line = |(times, reason): &(u64, &str)| format!("  {:>10}  {reason}\n", format::count(*times));
    let mut text: String = kinds.iter().take(20).map(line).collect();
    if kinds.len() > 20 {
        text.push_str(&format!("  {} more reasons; --json has all\n", kinds.len() - 20));
    }
    text
}

/// What became of the records, in words.
fn text(tally: &Tally, done: &[Done]) -> String {
    let lines: u64 = tally.lines.iter().sum();
    let mut text = format!(
        "{}: {}, {}\n",
        counted(tally.records, "record"),
        counted(lines, "line"),
        counted(tally.rejects, "reject")
    );
    text.push_str(&reasons(tally));
    if let [first, ..] = done
        && tally.rejects > 0
        && let Some((path, _)) = first.outputs.last()
    {
        text.push_str(&format!(
            "each with file, byte offset, reason and record in {} and its like\n",
            path.display()
        ));
    }
    text
}

/// A view needs no more than this.
const EVERY: Nanos = Nanos::from_millis(200);

/// `1 record`, `2 records`.
pub(super) fn counted(number: u64, noun: &str) -> String {
    format::counted(usize::try_from(number).unwrap_or(usize::MAX), noun)
}

/// Shows the progress of work on call records.
pub(super) struct Shown {
    clock: Clock,
    state: Mutex<State>,
}

struct State {
    view: View,
    step: &'static str,
    /// When the step began, and what had been read by then.
    since: (Nanos, u64),
    last: Nanos,
}

impl Shown {
    pub fn new(view: View) -> Self {
        let state = State { view, step: "", since: (Nanos::ZERO, 0), last: Nanos::ZERO };
        Self { clock: Clock::start(), state: Mutex::new(state) }
    }

    /// Shows how far it is, if the last time is a while ago.
    pub fn tell(&self, progress: &Progress) {
        let Progress { read, total, records, rejects, .. } = *progress;
        let step = match progress.step {
            Step::Keys => "looking for duplicates",
            Step::Check => "counting rejects",
            Step::Lines => "converting",
            Step::Load => "loading",
            Step::Indexes => "making indexes",
            Step::Sums => "auditing",
            Step::Differences => "going through what differs",
            Step::Naming => "naming what was found",
            Step::Export => "exporting",
        };
        let (now, mut state) = (self.clock.now(), self.state.lock().unwrap_or_else(PoisonError::into_inner));
        if state.step != step {
            (state.step, state.since) = (step, (now, read));
        } else if now < state.last + EVERY {
            return;
        }
        state.last = now;
        let (since, before) = state.since;
        let bytes_per_s = read.saturating_sub(before) as f64 / (now - since).as_secs_f64().max(1e-3);
        let left = total.map(|total| total.saturating_sub(read) as f64 / bytes_per_s);
        state.view.show(&ProgressEvent::Converting {
            step: step.to_owned(),
            bytes: read,
            bytes_total: total,
            records,
            rejects,
            bytes_per_s,
            left_s: left.filter(|left| left.is_finite()),
        });
    }
}
