//! `evenkeel study shares --databases`: table 7 of the published evaluation with two real databases.
//!
//! `images` fills a store once; for each run `pair` puts two hosts up on copies of it, `contend` orders from both while
//! `watch` asks the hosts, and all comes down again. What runs come to is pure (`evenkeel_study::databases`).

mod contend;
mod flags;
mod images;
mod needs;
mod pair;
mod watch;

use super::Args;
use crate::clock::unix_time;
use crate::command::Session;
use crate::command::study::published::{self, Show};
use anyhow::{Context, Result};
use evenkeel_core::random::Seed;
use evenkeel_study::databases::record::{Key, Setting};
use evenkeel_study::databases::{self, FIGURES, kept, most};
use evenkeel_study::harness::{Figure, Judgement, Order, Part, Plan, Run, Study, Tell};
use evenkeel_study::shares::way;
pub use flags::Flags;
use images::Images;
use pair::Pair;
use std::fs;
use std::path::PathBuf;
use std::process::ExitCode;

/// What a run takes beside its load: copies, servers, mounts.
const AROUND_S: f64 = 15.0;

/// Makes the study, or goes on with one, and says where the page is.
pub fn run(session: &Session, args: &Args) -> Result<ExitCode> {
    let show = Show { json: args.json, out: args.out.as_ref() };
    needs::check()?;
    if let Some(name) = &args.resume {
        return published::resume(session, databases::NAME, name, &show);
    }
    let (setting, parts) = args.databases.setting(args.period.as_deref())?;
    published::start(session, &published::plan(databases::NAME, args.seed, parts, &setting)?, &show)
}

/// The study; its store is filled when the first run needs it.
pub struct Databases<'a> {
    session: &'a Session,
    plan: Plan,
    setting: Setting,
    made: Option<(Images, Scratch)>,
}

impl<'a> Databases<'a> {
    /// By its plan.
    ///
    /// # Errors
    /// Its setting is not that of this study.
    pub fn of(session: &'a Session, plan: &Plan) -> Result<Self> {
        let setting =
            serde_json::from_value(plan.setting.clone()).context("reading the setting in plan.json")?;
        Ok(Self { session, plan: plan.clone(), setting, made: None })
    }
}

impl Study for Databases<'_> {
    type Error = anyhow::Error;

    fn figures(&self) -> &'static [Figure] {
        &FIGURES
    }

    fn takes_s(&self, _: &Part, _: &[String]) -> f64 {
        self.setting.whole_s() + AROUND_S
    }

    fn prepare(&mut self, _: &Part, tell: Tell<'_>) -> Result<()> {
        if self.made.is_none() {
            let scratch = Scratch::new(self.session.home.join("scratch").join(&self.plan.id))?;
            let images = Images::make(self.session, &scratch.0, &self.setting, tell)?;
            self.made = Some((images, scratch));
        }
        Ok(())
    }

    fn run(&mut self, order: &Order<'_>, _: Tell<'_>) -> Result<Option<Run>> {
        let (images, scratch) = self.made.as_ref().context("no store was filled")?;
        let way = way(order.level("way")).context("reading the way of a run in plan.json")?;
        let most = most(order.part).context("reading the most window of a run in plan.json")?;
        let key = Key { way, most, round: order.repeat };
        let started_unix_s = unix_time().as_secs();
        let pair = Pair::up(self.session, scratch.0.join("run"), images, &self.setting, key)?;
        let run = contend::contend(self.session, &pair, &self.setting, Seed(self.plan.seed), key)?;
        pair.down()?;
        Ok(run.map(|run| Run { started_unix_s, ..kept(&self.setting, &run) }))
    }

    fn judge(&self, plan: &Plan, runs: &[Run]) -> Judgement {
        databases::judge(plan, &self.setting, runs)
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
        // That of all studies goes where it is empty.
        let _ = self.0.parent().map(fs::remove_dir);
    }
}
