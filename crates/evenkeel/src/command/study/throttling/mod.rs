//! `evenkeel study throttling`: points and steps on a private server, each kept as soon as it is finished.

mod flags;
mod observe;
mod point;
mod server;
mod settle;
mod step;

use crate::command::{Session, look, profile};
use crate::format;
use crate::out;
use crate::progress::{Mode, ProgressEvent, View};
use crate::report::throttling::html;
use crate::signals;
use crate::throttling::folder::Folder;
use crate::throttling::record::{Key, PlanFile, Second, Sweep, Way};
use crate::throttling::{json, plan, table, verdict, words};
use anyhow::{Context, Result};
use point::Bench;
use server::Server;
use std::path::Path;
use std::process::ExitCode;

pub use flags::Args;

/// Makes the study, or goes on with one, and prints what came out.
pub fn run(session: &Session, args: &Args) -> Result<ExitCode> {
    let root = session.home.join("studies");
    let folder = match &args.resume {
        Some(name) => Folder::open(&root, name)?,
        None => Folder::create(&root, &flags::plan(session, args)?)?,
    };
    let plan = folder.plan()?;
    let mode = if args.json { Mode::Quiet } else { profile::mode(session, false) };
    let mut work = Work { session, folder: &folder, plan: &plan, view: View::new(mode), left_s: 0.0 };
    let outcome = work.all();
    drop(work);
    if folder.points()?.is_empty() && args.resume.is_none() {
        // Nothing to keep or to resume.
        let _ = std::fs::remove_dir_all(folder.path());
        outcome?;
        return Ok(signals::exit_code());
    }
    let finished = outcome.with_context(|| format!("measuring {}", folder.path().display()))?;
    finish(session, args, &folder, &plan)?;
    Ok(if finished { ExitCode::SUCCESS } else { signals::exit_code() })
}

fn finish(session: &Session, args: &Args, folder: &Folder, plan: &PlanFile) -> Result<()> {
    let (points, steps) = (folder.points()?, folder.steps()?);
    let results = json::results(plan, &points, &steps);
    folder.write("results.json", &results)?;
    let page = html(plan, &points, &steps);
    folder.write_text("report.html", &page)?;
    let report = args.out.clone().unwrap_or_else(|| folder.path().join("report.html"));
    if args.out.is_some() {
        out::file(&report, &page).with_context(|| format!("writing {}", report.display()))?;
    }
    if args.json {
        out::line(serde_json::to_string_pretty(&results)?)?;
        return Ok(());
    }
    out::write(&table::study(plan, &points, &steps, look()))?;
    if !session.quiet {
        out::line(format!("\nreport: {}", report.display()))?;
    }
    Ok(())
}

/// A study at work.
struct Work<'a> {
    session: &'a Session,
    folder: &'a Folder,
    plan: &'a PlanFile,
    view: View,
    /// Load that is still to come, seconds.
    left_s: f64,
}

impl Work<'_> {
    /// All that is not finished yet; whether it came to its end.
    fn all(&mut self) -> Result<bool> {
        self.left_s = self.to_do_s();
        let has_points = |sweep: &Sweep| self.missing(sweep).is_empty();
        let second_only = has_points(&self.plan.shopping) && self.steps_missing().is_empty();
        if second_only && (!self.wants_second()? || has_points(&self.plan.reread)) {
            return Ok(true);
        }
        let mut server = Server::start(self.session, self.plan, &mut self.view)?;
        let scratch = Scratch::new(self.folder.path())?;
        if !(self.sweep(&server, &self.plan.shopping, &scratch.0)? && self.steps(&server, &scratch.0)?) {
            return Ok(false);
        }
        if !self.wants_second()? {
            return Ok(true);
        }
        server.turn_to_second(self.session, &mut self.view)?;
        self.sweep(&server, &self.plan.reread, &scratch.0)
    }

    fn wants_second(&self) -> Result<bool> {
        Ok(verdict::wants_second(self.plan, &self.folder.points()?))
    }

    fn missing(&self, sweep: &Sweep) -> Vec<Key> {
        let all = plan::points(sweep, self.plan.seed).into_iter();
        all.filter(|key| !self.folder.has_point(*key)).collect()
    }

    fn steps_missing(&self) -> Vec<(Way, u32)> {
        let all = plan::steps(&self.plan.step, self.plan.seed).into_iter();
        all.filter(|(way, repeat)| !self.folder.has_step(*way, *repeat)).collect()
    }

    /// Seconds of load to come; of the second workload nobody knows yet whether it is needed.
    fn to_do_s(&self) -> f64 {
        let point_s = |sweep: &Sweep, key: &Key| plan::point_s(self.plan, sweep, key.way);
        let sweep = |sweep: &Sweep| self.missing(sweep).iter().map(|key| point_s(sweep, key)).sum::<f64>();
        let steps = self.steps_missing().len() as f64 * plan::step_s(&self.plan.step);
        let second = match self.plan.second {
            Second::Never => 0.0,
            _ => sweep(&self.plan.reread),
        };
        sweep(&self.plan.shopping) + steps + second
    }

    fn bench<'b>(&'b self, server: &'b Server, scratch: &Path) -> Result<Bench<'b>> {
        let place = &self.plan.place;
        Ok(Bench {
            plan: self.plan,
            server,
            server_cpus: place.server_cpus.parse().context("reading the CPUs of the plan")?,
            generator_cpus: place.generator_cpus.parse().context("reading the CPUs of the plan")?,
            scratch: scratch.to_owned(),
            stop: self.session.stop.clone(),
        })
    }

    fn sweep(&mut self, server: &Server, sweep: &Sweep, scratch: &Path) -> Result<bool> {
        let missing = self.missing(sweep);
        if !missing.is_empty() {
            self.show("warming up");
            self.bench(server, scratch)?.warm_up(sweep)?;
        }
        for (at, key) in missing.iter().enumerate() {
            if self.session.stop.is_set() {
                return Ok(false);
            }
            let name = format!(
                "{} {}, {}, run {}",
                key.load.name(),
                key.way,
                format::counted(key.clients as usize, "client"),
                key.repeat
            );
            self.show(&format!("{name}: point {} of {}", at + 1, missing.len()));
            let Some(point) = self.bench(server, scratch)?.point(*key, sweep)? else { return Ok(false) };
            self.folder.add_point(&point)?;
            self.left_s -= plan::point_s(self.plan, sweep, key.way);
            if let Some(settling) = point.settling {
                self.show(&format!("{name}: {}", words::rest(settling)));
            }
        }
        Ok(!self.session.stop.is_set())
    }

    fn steps(&mut self, server: &Server, scratch: &Path) -> Result<bool> {
        for (way, repeat) in self.steps_missing() {
            if self.session.stop.is_set() {
                return Ok(false);
            }
            self.show(&format!("step to {} clients, {way}, run {repeat}", self.plan.step.clients.1));
            let bench = self.bench(server, scratch)?;
            let Some(step) = bench.step(way, repeat, &self.plan.step)? else { return Ok(false) };
            self.folder.add_step(&step)?;
            self.left_s -= plan::step_s(&self.plan.step);
        }
        Ok(true)
    }

    fn show(&mut self, what: &str) {
        let left = format::seconds(self.left_s.max(0.0).round());
        self.view.show(&ProgressEvent::Step { text: format!("{what}, at most {left} left") });
    }
}

/// A folder for journals, removed when this is dropped.
struct Scratch(std::path::PathBuf);

impl Scratch {
    fn new(beside: &Path) -> Result<Self> {
        let path = beside.join("scratch");
        std::fs::create_dir_all(&path).with_context(|| format!("making {}", path.display()))?;
        Ok(Self(path))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // A journal that stays is no harm: the next run begins a new one.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
