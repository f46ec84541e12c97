//! `evenkeel study shares --databases`: table 7 of the published evaluation with two real databases.
//!
//! `images` fills a store once; for each run `pair` puts two hosts up on copies of it, `contend` orders from both while
//! `watch` asks the hosts, and all comes down again. What runs come to is pure (`crate::databases`).

mod contend;
mod flags;
mod images;
mod needs;
mod pair;
mod watch;

use super::Args;
use crate::clock::unix_time;
use crate::command::{Session, profile};
use crate::databases::record::{Key, Run, Setting};
use crate::databases::{csv, json, table};
use crate::progress::{Mode, ProgressEvent, View};
use crate::report::shares::databases::html;
use crate::signals;
use crate::{format, out};
use anyhow::{Context, Result};
pub use flags::Flags;
use images::Images;
use pair::Pair;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// What a run takes beside its load: copies, servers, mounts.
const AROUND_S: f64 = 15.0;

/// Makes the study and says where the page is.
pub fn run(session: &Session, args: &Args) -> Result<ExitCode> {
    let setting = args.databases.setting(args.seed, args.period.as_deref())?;
    needs::check()?;
    let id =
        format!("databases-{}-{:04x}", format::stamp(unix_time().as_secs()), std::process::id() & 0xffff);
    let folder = session.home.join("studies").join(&id);
    let page = args.out.clone().unwrap_or_else(|| folder.join("report.html"));
    let mode = if args.json { Mode::Quiet } else { profile::mode(session, false) };
    let view = View::new(mode);
    let mut work = Work { session, args, setting, id, folder, page, view, runs: Vec::new() };
    let outcome = work.all();
    // Also where a run has failed: those before it are kept.
    work.finish()?;
    match outcome {
        Err(error) if !session.stop.is_set() => Err(error),
        _ if session.stop.is_set() => Ok(signals::exit_code()),
        _ => Ok(ExitCode::SUCCESS),
    }
}

/// A study at work.
struct Work<'a> {
    session: &'a Session,
    args: &'a Args,
    setting: Setting,
    id: String,
    folder: PathBuf,
    page: PathBuf,
    view: View,
    runs: Vec<Run>,
}

impl Work<'_> {
    fn all(&mut self) -> Result<()> {
        let scratch = Scratch::new(self.folder.join("work"))?;
        let images = Images::make(self.session, &scratch.0, &self.setting, &mut self.view)?;
        if !self.args.json {
            out::write(table::HEADER)?;
        }
        let keys = self.setting.keys();
        for (at, key) in keys.iter().enumerate() {
            let left_s = (keys.len() - at) as f64 * (self.setting.whole_s() + AROUND_S);
            self.show(*key, at + 1, keys.len(), left_s);
            let Some(run) = self.one(&scratch.0.join("run"), &images, *key)? else { return Ok(()) };
            self.keep(run)?;
        }
        Ok(())
    }

    /// One run; `None` where somebody asked to stop.
    fn one(&self, folder: &Path, images: &Images, key: Key) -> Result<Option<Run>> {
        let name = || format!("in round {}, {} at most {}", key.round, key.way.name(), key.most);
        let pair =
            Pair::up(self.session, folder.to_owned(), images, &self.setting, key).with_context(name)?;
        let run = contend::contend(self.session, &pair, &self.setting, key).with_context(name)?;
        pair.down().with_context(name)?;
        Ok(run)
    }

    /// What is made stays, whatever becomes of the rest.
    fn keep(&mut self, run: Run) -> Result<()> {
        out::write(&match self.args.json {
            true => format!("{}\n", json::run(&self.setting, &run)),
            false => table::run(&run),
        })?;
        self.runs.push(run);
        let lines: String =
            self.runs.iter().map(|run| format!("{}\n", json::run(&self.setting, run))).collect();
        super::write(&self.folder.join("runs.jsonl"), &lines)?;
        super::write(&self.folder.join("periods.csv"), &csv::periods(&self.runs))?;
        super::write(&self.page, &html(&self.id, &self.setting, &self.runs))
    }

    fn show(&mut self, key: Key, number: usize, of: usize, left_s: f64) {
        let left = format::seconds(left_s.round());
        let text = format!(
            "run {number} of {of}: {}, most window {}, round {}; about {left} left",
            key.way.name(),
            key.most,
            key.round
        );
        self.view.show(&ProgressEvent::Step { text });
    }

    /// Tells what came of it; a study without a run leaves nothing.
    fn finish(&self) -> Result<()> {
        if self.runs.is_empty() {
            // One that was never made needs no removal.
            let _ = fs::remove_dir_all(&self.folder);
            return Ok(());
        }
        if self.args.json {
            return Ok(out::line(json::summary(&self.id, &self.setting, &self.runs).to_string())?);
        }
        out::write(&table::summary(&self.setting, &self.runs))?;
        if !self.session.quiet {
            let periods = self.folder.join("periods.csv");
            out::line(format!("\nreport: {}\nevery period: {}", self.page.display(), periods.display()))?;
        }
        Ok(())
    }
}

/// A folder for images and mounts, removed when dropped.
struct Scratch(PathBuf);

impl Scratch {
    fn new(path: PathBuf) -> Result<Self> {
        fs::create_dir_all(&path).with_context(|| format!("making {}", path.display()))?;
        // Servers and mounts are told of it by its whole name.
        Ok(Self(path.canonicalize().with_context(|| format!("looking at {}", path.display()))?))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // Where something is still mounted in it, the error of who could not unmount it has been told.
        let _ = fs::remove_dir_all(&self.0);
    }
}
