//! The loop: what is whole goes through the chain, one file after the other.

use super::counts::{self, Counts};
use super::flags::Args;
use super::line::{self, Passage};
use crate::clock::{Clock, unix_time};
use crate::command::Session;
use crate::failure::{self, FINDING, Hint, Stopped};
use crate::view::http::{Page, Server};
use crate::view::prometheus;
use crate::{format, out};
use anyhow::{Context, Result};
use evenkeel_core::Nanos;
use evenkeel_haul::HaulError;
use evenkeel_haul::dispatch::DispatchError;
use evenkeel_haul::watch::{Chain, Folder, Trouble, WatchError, move_to};
use evenkeel_os::latest::Latest;
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
    chain: Chain<'a>,
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
            chain,
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
        let first = self.patiently(Path::new(""), |watch| watch.chain.turn());
        drop(first.map_err(|error| self.ended(error))?);
        super::super::server::check(self.session, self.chain.target)?;
        loop {
            self.check_stop()?;
            let whole = self.folder.look(self.clock.now())?;
            self.publish();
            for path in whole {
                self.check_stop()?;
                if !self.catch_up()? {
                    break;
                }
                if self.folder.is_unchanged(&path) {
                    self.file(&path)?;
                    self.publish();
                }
            }
            let is_even = self.catch_up()?;
            if self.args.once && is_even && self.folder.waiting().0 == 0 {
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
        match self.patiently(path, |watch| watch.steps(path, &mut passage)) {
            Ok(()) if passage.is_known() => {
                self.is_owed = true;
                self.folder.over(path);
            }
            Ok(()) => {
                self.folder.over(path);
                self.count(&passage);
                line::done(self.args.json, path, &passage)?;
            }
            Err(error) => return self.failed(path, error),
        }
        self.named.remove(path);
        Ok(())
    }

    /// One attempt at all steps that are not done yet.
    fn steps(&mut self, path: &Path, passage: &mut Passage) -> Result<(), WatchError> {
        let _turn = self.chain.turn()?;
        if passage.loaded.is_none() {
            let begin = self.clock.now();
            let loaded = self.load(path);
            passage.load += self.clock.now() - begin;
            passage.is_retried |= loaded.is_err();
            let loaded = loaded?;
            loaded.notes.iter().for_each(|note| out::tell(&format!("{note}\n")));
            passage.loaded = Some(loaded);
        }
        if !passage.is_known() {
            self.dispatch(passage)?;
            self.retire(passage)?;
        }
        self.put_away(path);
        Ok(())
    }

    fn load(&self, path: &Path) -> Result<evenkeel_haul::load::Loaded, WatchError> {
        match self.chain.load(path, &mut |_| {}) {
            Err(error) if error.trouble(path) == Trouble::HalfMoved => {
                self.chain.dispatch(&mut |_| {})?;
                self.chain.load(path, &mut |_| {})
            }
            outcome => outcome,
        }
    }

    fn dispatch(&self, passage: &mut Passage) -> Result<(), WatchError> {
        if passage.dispatched.is_some() || passage.not_dispatched.is_some() {
            return Ok(());
        }
        let begin = self.clock.now();
        let outcome = self.chain.dispatch(&mut |_| {});
        passage.dispatch += self.clock.now() - begin;
        match outcome {
            Err(error) if error.trouble(Path::new("")) == Trouble::Bad => {
                passage.not_dispatched = Some(failure::line(&error.into()));
            }
            outcome => passage.dispatched = Some(outcome?),
        }
        Ok(())
    }

    fn retire(&self, passage: &mut Passage) -> Result<(), WatchError> {
        if passage.retired.is_some() || passage.not_dispatched.is_some() {
            return Ok(());
        }
        let begin = self.clock.now();
        let outcome = self.chain.retire(&mut |_| {});
        passage.retire += self.clock.now() - begin;
        match outcome {
            Err(error) if error.trouble(Path::new("")) == Trouble::Bad => {
                passage.not_retired = Some(failure::line(&error.into()));
            }
            outcome => passage.retired = outcome?,
        }
        Ok(())
    }

    /// Moves a file that is done, if that was asked for. One that cannot be moved is known to be done all the same.
    fn put_away(&mut self, path: &Path) {
        let Some(folder) = &self.args.done else { return };
        if let Err(error) = move_to(path, folder) {
            self.say_once(path, &format!("{} stays where it is: {error}", path.display()));
        }
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
        self.counts.load += passage.load;
        self.counts.dispatch += passage.dispatch;
        self.counts.retire += passage.retire;
        self.counts.last_success = Some(unix_time().as_secs_f64());
    }

    /// A file whose load did not come to its end: whether others go on, and what is said of it.
    fn failed(&mut self, path: &Path, error: WatchError) -> Result<()> {
        // What it brought is in the source, or has to be taken out again.
        self.is_owed = true;
        match error.trouble(path) {
            _ if self.session.stop.is_set() => Err(self.stopped()),
            Trouble::Gone => Ok(()),
            Trouble::Changed => {
                self.folder.settle_again(path, self.clock.now());
                self.say_once(path, &format!("{error}; it is taken again once it has settled"));
                Ok(())
            }
            trouble @ (Trouble::Bad | Trouble::Statement) => self.refuse(path, error, trouble),
            _ => Err(self.ended(error)).with_context(|| format!("at {}", path.display())),
        }
    }

    fn refuse(&mut self, path: &Path, error: WatchError, trouble: Trouble) -> Result<()> {
        self.folder.over(path);
        self.counts.failed += 1;
        self.is_finding = true;
        // Where the server refuses a statement, the file may be as good as any.
        let aside = self.args.set_aside.as_deref().filter(|_| trouble == Trouble::Bad);
        if aside.is_some() {
            // What it brought is taken out again while it is still there to be read.
            self.catch_up()?;
        }
        let (hint, why) = (error.hint(), failure::line(&error.into()));
        let moved = aside.map(|folder| move_to(path, folder)).transpose();
        if let Err(error) = &moved {
            self.say_once(path, &format!("{} cannot be set aside: {error}", path.display()));
        }
        line::refused(self.args.json, path, (&why, hint), moved.ok().flatten().as_ref())
    }

    /// Dispatches what was loaded before and is still in the source, and takes out what a cut load has left there; whether all of
    /// that could be done.
    fn catch_up(&mut self) -> Result<bool> {
        while self.is_owed {
            let outcome = self.patiently(Path::new(""), |watch| {
                let _turn = watch.chain.turn()?;
                watch.chain.dispatch(&mut |_| {})
            });
            match outcome {
                Ok(done) => {
                    self.is_finding |= done.days.iter().any(|day| day.refused.is_some());
                    self.counts.moved += done.records;
                    if done.records > 0 {
                        line::left_over(self.args.json, &done)?;
                    }
                    self.is_owed = false;
                }
                Err(WatchError::Dispatch(DispatchError::NoTable(_))) => self.is_owed = false,
                Err(WatchError::Dispatch(DispatchError::CutLoad { file, .. })) => {
                    if !self.take_back(Path::new(&file))? {
                        return Ok(false);
                    }
                }
                Err(error) if error.trouble(Path::new("")) == Trouble::Bad && !self.session.stop.is_set() => {
                    self.is_owed = false;
                    self.is_finding = true;
                    self.say(&format!("what was loaded before is not dispatched: {error}"));
                }
                Err(error) => return Err(self.ended(error)),
            }
        }
        Ok(true)
    }

    /// Says something unless it is what was said last.
    fn say(&mut self, text: &str) {
        if self.said != text {
            text.clone_into(&mut self.said);
            out::tell(&format!("{text}\n"));
        }
    }

    /// Takes the rows of a cut load out of a table without transactions; whether its file stood still for that.
    fn take_back(&mut self, file: &Path) -> Result<bool> {
        let outcome = self.patiently(file, |watch| {
            let _turn = watch.chain.turn()?;
            watch.chain.give_up(file)
        });
        match outcome {
            Ok(notes) => {
                notes.iter().for_each(|note| out::tell(&format!("{note}\n")));
                Ok(true)
            }
            Err(WatchError::Load(HaulError::Changed { .. })) => Ok(false),
            Err(error) => Err(self.ended(error)).with_context(|| format!("taking back {}", file.display())),
        }
    }
}

fn serve(address: &str, latest: &Latest<Counts>, clock: &Clock) -> Result<Server> {
    let (latest, clock) = (latest.clone(), *clock);
    let server = Server::start(address, move |path| match (path, latest.get()) {
        ("/metrics", Some(counts)) => Page {
            code: 200,
            content_type: prometheus::CONTENT_TYPE,
            body: counts::text(&counts, clock.now()),
        },
        _ => Page::text(404, "there is /metrics\n"),
    })?;
    out::tell(&format!("metrics at http://{}/metrics\n", server.address()));
    Ok(server)
}
