//! The loop: what is whole goes through the chain, one file after the other.

use super::super::server;
use super::flags::Args;
use super::line::{Left, Passage};
use super::steps::{Counts, Steps, serve};
use super::{line, steps};
use crate::command::Session;
use crate::failure::{FINDING, Hint, Stopped};
use crate::view::http::Server;
use crate::{failure, format, out};
use anyhow::{Context, Result};
use evenkeel_core::Nanos;
use evenkeel_haul::dispatch::DispatchError;
use evenkeel_haul::watch::{Chain, Folder, Trouble, WatchError};
use evenkeel_os::Latest;
use evenkeel_os::clock::{Clock, unix_time};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

/// From one look at the folder to the next.
const POLL: Nanos = Nanos::from_millis(500);
/// The first pause before a server that is away is tried again, and the longest.
const PAUSE: (Nanos, Nanos) = (Nanos::from_millis(500), Nanos::from_secs(30));
/// So often a statement that the server refuses is tried.
const ATTEMPTS: u32 = 3;
/// A stop is noticed within this time.
const SLICE: Duration = Duration::from_millis(50);

/// A folder that is watched.
pub struct Watch<'a> {
    session: &'a Session,
    args: &'a Args,
    steps: Steps<'a>,
    folder: Folder,
    wait: Option<Nanos>,
    clock: Clock,
    counts: Counts,
    latest: Latest<Counts>,
    _server: Option<Server>,
    /// Whether something may be in the source that was loaded before.
    is_owed: bool,
    is_finding: bool,
    /// Files of which something was said that is not said again.
    named: BTreeSet<PathBuf>,
    said: String,
}

impl<'a> Watch<'a> {
    pub fn new(
        session: &'a Session,
        args: &'a Args,
        (chain, folder): (Chain<'a>, Folder),
        wait: Option<Nanos>,
    ) -> Result<Self> {
        let (clock, latest) = (Clock::start(), Latest::new());
        latest.put(Counts::default());
        let server = args.metrics.as_deref().map(|address| serve(address, &latest, &clock)).transpose()?;
        Ok(Self {
            session,
            args,
            steps: Steps { chain, clock, done: args.done.as_deref() },
            folder,
            wait,
            clock,
            counts: Counts::default(),
            latest,
            _server: server,
            is_owed: true,
            is_finding: false,
            named: BTreeSet::new(),
            said: String::new(),
        })
    }

    /// Watches until somebody asks to stop; with `--once` until nothing waits.
    pub fn run(mut self) -> Result<ExitCode> {
        let first = self.patiently(Path::new(""), |watch| watch.steps.chain.turn());
        drop(first.map_err(|error| self.ended(error))?);
        let Chain { target, table, audit, .. } = &self.steps.chain;
        server::check_load(self.session, target, std::slice::from_ref(table), *audit)?;
        if self.args.done.is_some() {
            server::check_keeps(self.session, target)?;
        }
        loop {
            self.check_stop()?;
            let whole = self.folder.look(self.clock.now())?;
            self.publish();
            for path in whole {
                self.check_stop()?;
                self.catch_up()?;
                if self.folder.is_unchanged(&path) {
                    self.file(&path)?;
                    self.publish();
                }
            }
            self.catch_up()?;
            if self.args.once && self.folder.waiting().0 == 0 {
                return Ok(if self.is_finding { ExitCode::from(FINDING) } else { ExitCode::SUCCESS });
            }
            self.pause(POLL);
        }
    }

    fn check_stop(&self) -> Result<()> {
        match self.session.stop.is_set() {
            true => Err(self.stopped()),
            false => Ok(()),
        }
    }

    fn stopped(&self) -> anyhow::Error {
        let done = usize::try_from(self.counts.done).unwrap_or(usize::MAX);
        Stopped(format!("after {}", format::counted(done, "file"))).into()
    }

    fn pause(&self, time: Nanos) {
        let until = self.clock.now() + time;
        while self.clock.now() < until && !self.session.stop.is_set() {
            std::thread::sleep(SLICE);
        }
    }

    fn publish(&mut self) {
        (self.counts.waiting, self.counts.oldest) = self.folder.waiting();
        self.latest.put(self.counts.clone());
    }

    /// What ends a watch, with what to do about it.
    fn ended(&self, error: WatchError) -> anyhow::Error {
        if self.session.stop.is_set() {
            return self.stopped();
        }
        match error.hint() {
            Some(hint) => anyhow::Error::from(error).context(Hint(hint.to_owned())),
            None => error.into(),
        }
    }

    /// Tries until it is done, as long as the server is away, somebody else is at work, or a statement may do better next time.
    fn patiently<T>(
        &mut self,
        path: &Path,
        mut attempt: impl FnMut(&mut Self) -> Result<T, WatchError>,
    ) -> Result<T, WatchError> {
        let (begin, mut statements, mut pause) = (self.clock.now(), 0, PAUSE.0);
        loop {
            let outcome = attempt(self);
            let Err(error) = outcome else {
                self.is_back();
                return outcome;
            };
            let trouble = error.trouble(path);
            let is_over = self.wait.is_some_and(|wait| self.clock.now() - begin > wait);
            match trouble {
                _ if is_over || self.session.stop.is_set() => return Err(error),
                Trouble::Away => self.is_away(&error),
                Trouble::Busy => pause = PAUSE.0,
                Trouble::Statement if statements < ATTEMPTS => statements += 1,
                _ => return Err(error),
            }
            self.pause(pause);
            pause = Nanos(pause.0.saturating_mul(2).min(PAUSE.1.0));
        }
    }

    fn is_away(&mut self, error: &WatchError) {
        if !self.counts.is_away {
            out::tell(&format!("{error}; waiting until it is there again\n"));
        }
        self.counts.is_away = true;
        self.publish();
    }

    fn is_back(&mut self) {
        if std::mem::take(&mut self.counts.is_away) {
            out::tell("the server is there again\n");
            self.publish();
        }
    }

    /// Takes a file through the chain.
    fn file(&mut self, path: &Path) -> Result<()> {
        let mut passage = Passage::default();
        if let Err(error) = self.patiently(path, |watch| watch.steps.attempt(path, &mut passage)) {
            return self.failed(path, error);
        }
        self.leave(path, &passage.left);
        if passage.is_known() {
            self.is_owed = true;
        } else {
            // What is held back is dispatched once it may be.
            self.is_owed |= passage.not_dispatched.is_some();
            self.count(&passage);
            line::done(self.args.json, path, &passage)?;
        }
        Ok(())
    }

    /// A file is over, unless it is no longer the one that was loaded.
    fn leave(&mut self, path: &Path, left: &Left) {
        match left {
            Left::AsItWas => self.folder.over(path),
            Left::Changed => {
                self.folder.settle_again(path, self.clock.now());
                out::tell(&format!(
                    "{} was changed or replaced after it was loaded; it stays, and is taken again once it has settled\n",
                    path.display()
                ));
            }
            Left::Unmoved(error) => {
                self.folder.over(path);
                self.is_finding = true;
                self.say_once(path, &format!("{} is loaded, and was not moved: {error}", path.display()));
                return;
            }
        }
        self.named.remove(path);
    }

    fn say_once(&mut self, path: &Path, text: &str) {
        if self.named.insert(path.to_owned()) {
            out::tell(&format!("{text}\n"));
        }
    }

    fn count(&mut self, passage: &Passage) {
        let (records, rows, rejects, before) = passage.sums();
        self.is_finding |= passage.is_finding();
        self.counts.done += 1;
        self.counts.records += records - before;
        self.counts.rows += rows.saturating_sub(passage.before().0);
        self.counts.rejects += rejects.saturating_sub(passage.before().1);
        self.counts.moved += passage.moved();
        let (tables, records) = passage.dropped();
        self.counts.dropped_tables += tables as u64;
        self.counts.dropped_records += records;
        if let Some(audit) = &passage.audit {
            self.counts.audited += 1;
            self.counts.audit_findings += audit.total();
        }
        self.counts.load += passage.load;
        self.counts.audit += passage.audit_time;
        self.counts.dispatch += passage.dispatch;
        self.counts.retire += passage.retire;
        self.counts.last_success = Some(unix_time().as_secs_f64());
    }

    /// A file whose load did not come to its end: whether others go on, and what is said of it.
    fn failed(&mut self, path: &Path, error: WatchError) -> Result<()> {
        // What it brought is in the source.
        self.is_owed = true;
        match error.trouble(path) {
            _ if self.session.stop.is_set() => Err(self.stopped()),
            Trouble::Gone => Ok(()),
            Trouble::Changed => {
                self.folder.settle_again(path, self.clock.now());
                self.say_once(path, &format!("{error}; it is taken again once it has settled"));
                Ok(())
            }
            Trouble::Bad | Trouble::Statement => self.refuse(path, error),
            _ => Err(self.ended(error)).with_context(|| format!("at {}", path.display())),
        }
    }

    fn refuse(&mut self, path: &Path, error: WatchError) -> Result<()> {
        self.folder.over(path);
        self.counts.failed += 1;
        self.is_finding = true;
        let (hint, why) = (error.hint(), failure::line(&error.into()));
        line::refused(self.args.json, path, (&why, hint))
    }

    /// Dispatches what was loaded before and is still in the source.
    fn catch_up(&mut self) -> Result<()> {
        if !self.is_owed || self.is_held()? {
            return Ok(());
        }
        let outcome = self.patiently(Path::new(""), |watch| {
            let _turn = watch.steps.chain.turn()?;
            watch.steps.chain.dispatch(&mut |_| {})
        });
        match outcome {
            Ok(done) => {
                let stays = done.days.iter().find_map(|day| day.refused.as_ref());
                self.is_finding |= stays.is_some();
                self.counts.moved += done.records;
                match stays {
                    Some(why) if done.records == 0 => {
                        self.say(&format!("{} keeps {why}", self.steps.chain.table.name));
                    }
                    _ if done.records > 0 => line::left_over(self.args.json, &done)?,
                    _ => {}
                }
            }
            Err(WatchError::Dispatch(DispatchError::NoTable(_))) => {}
            Err(error) if error.trouble(Path::new("")) == Trouble::Bad && !self.session.stop.is_set() => {
                self.is_finding = true;
                self.say(&format!("what was loaded before is not dispatched: {error}"));
            }
            Err(error) => return Err(self.ended(error)),
        }
        self.is_owed = false;
        Ok(())
    }

    /// Whether what an audit found keeps all records where they are, which is said once.
    fn is_held(&mut self) -> Result<bool> {
        let note = self.steps.held().map_err(|error| self.ended(error))?;
        self.counts.is_held = note.is_some();
        if let Some(note) = note {
            self.is_finding = true;
            self.say(&format!("nothing is dispatched: {}", steps::why(&note)));
        }
        Ok(self.counts.is_held)
    }

    /// Says something unless it is what was said last.
    fn say(&mut self, text: &str) {
        if self.said != text {
            text.clone_into(&mut self.said);
            out::tell(&format!("{text}\n"));
        }
    }
}
