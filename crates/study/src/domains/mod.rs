//! What isolation costs: the published study of database servers in virtual machines, made again with domains.
//!
//! A host and two guests share a CPU, as they did there; a guest is a domain with memory, a file disk and a network of its own. `setting`
//! has the parts, `places` the servers, `database` what these do, `judge` what the runs come to.

mod database;
mod judge;
mod places;
mod setting;

use crate::harness::{Figure, Judgement, Notify, Order, Part, Plan, Run};
use crate::published::{At, AtWork, Bed, PublishedError, Result};
use database::{Work, at_once, filled, starve};
use places::Places;
use setting::{BESIDE, CPUS, LOAD, SELECT, STARVE, at_work};
pub use setting::{Setting, parts};

pub const NAME: &str = "domains";

pub const QUESTION: &str = "what does a domain of its own cost a database server, and what do its neighbours?";

pub type Domains<'a> = AtWork<'a, Places>;

impl Bed for Places {
    type Setting = Setting;
    const FIGURES: &'static [Figure] = &[
        Figure::plain("seconds", ["each", "s"]),
        Figure::plain("b_over_a", ["b / a", ""]),
        Figure::plain("read_s", ["read", "s"]),
        Figure::plain("write_s", ["write", "s"]),
        Figure::plain("queries_per_s", ["queries", "1/s"]),
        Figure::plain("spin_percent", ["host spins", "%"]),
        Figure::plain("theta_host", ["theta", "host %"]),
        Figure::plain("theta_a", ["theta", "a %"]),
        Figure::plain("theta_b", ["theta", "b %"]),
        Figure::plain("theta_client", ["client", "%"]),
        Figure::plain("steal_percent", ["steal", "%"]),
        Figure::plain("other_load_percent", ["other CPU", "%"]),
    ];

    fn put_up(at: &At<'_, Setting>, tell: Notify<'_>) -> Result<Self> {
        Self::up(at, tell)
    }

    fn ready(&mut self, at: &At<'_, Setting>, part: &Part, _: Notify<'_>) -> Result<()> {
        match part.name.as_str() {
            SELECT | BESIDE | STARVE | CPUS => filled(at, self),
            _ => Ok(()),
        }
    }

    fn takes_s(setting: &Setting, part: &Part, levels: &[String]) -> f64 {
        let rows = setting.rows() as f64;
        let at_once = levels.first().map_or(1, |level| at_work(level).len()) as f64;
        match part.name.as_str() {
            LOAD => rows / LOADED_PER_S * at_once,
            SELECT | CPUS | BESIDE => rows / READ_PER_S * at_once,
            _ => setting.seconds + 1.0,
        }
    }

    fn run(&mut self, at: &At<'_, Setting>, order: &Order<'_>, _: Notify<'_>) -> Result<Option<Run>> {
        let (mut run, level) = (Run::default(), order.levels.first().map_or("", String::as_str));
        let all = |work: Work| at_work(level).iter().map(|place| (*place, work)).collect::<Vec<_>>();
        match order.part.name.as_str() {
            LOAD => {
                let seconds = at_once(at, self, &all(Work::whole_load(&at.setting)), &mut run)?;
                note(&mut run, &seconds);
            }
            SELECT => {
                let seconds = at_once(at, self, &all(Work::Select), &mut run)?;
                note(&mut run, &seconds);
            }
            CPUS => {
                self.set_cpus(if level == "1" { "0" } else { "0-1" })?;
                let seconds = at_once(at, self, &[(1, Work::Select), (2, Work::Select)], &mut run);
                self.set_cpus("0")?;
                note(&mut run, &seconds?);
            }
            BESIDE => {
                let both = [("read_s", (1, Work::Select)), ("write_s", (2, Work::second_load(&at.setting)))];
                let wanted = both.iter().filter(|(name, _)| level == "both" || name.starts_with(level));
                let (names, works): (Vec<&str>, Vec<_>) = wanted.copied().unzip();
                let seconds = at_once(at, self, &works, &mut run)?;
                names.into_iter().zip(seconds).for_each(|(name, seconds)| run.set(name, seconds));
            }
            STARVE => starve(at, self, level, &mut run)?,
            _ => return Err(PublishedError::unreadable("part")),
        }
        Ok(Some(run).filter(|_| !at.workplace.stop.is_set()))
    }

    fn judge(plan: &Plan, setting: &Setting, runs: &[Run]) -> Judgement {
        judge::judge(plan, setting, runs)
    }
}

/// What a load or a read takes in one server, in rows per second: for the time that is told.
const LOADED_PER_S: f64 = 25_000.0;
const READ_PER_S: f64 = 100_000.0;

/// The mean of those that worked, and how evenly.
fn note(run: &mut Run, seconds: &[f64]) {
    run.set("seconds", seconds.iter().sum::<f64>() / seconds.len() as f64);
    if let [a, b] = seconds {
        run.set("b_over_a", b / a);
    }
}
