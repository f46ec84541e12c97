//! What isolation costs: the published study of database servers in virtual machines, made again with domains.
//!
//! A host and two guests share a CPU, as they did there; a guest is a domain with memory, a file disk and a network of its own. `setting`
//! has the parts, `places` the servers, `database` what these do, `probes` what network and disks give, `judge` what the runs come to.

mod database;
mod judge;
mod places;
mod probes;
mod setting;

use crate::harness::{Figure, Judgement, Notify, Order, Part, Plan, Run};
use crate::interfere::check_program;
use crate::interfere::tables::{LOADED, TAG};
use crate::published::{At, AtWork, Bed, PrivateServer, PublishedError, Result, not_running};
use database::{Work, at_once, filled, starve};
use places::Places;
use probes::{client_machine, disk, flushes, machine, network};
use setting::{BESIDE, DISK, FLUSH, LOAD, MACHINE, NET, SECOND_PART, SELECT, STARVE, at_work};
pub use setting::{Setting, parts};

pub const NAME: &str = "domains";

pub const QUESTION: &str =
    "what does a domain of its own cost a database server, and what do its neighbours?";

pub type Domains<'a> = AtWork<'a, Setup>;

pub struct Setup {
    places: Places,
    /// Once it is needed.
    client: Option<PrivateServer>,
}

impl Bed for Setup {
    type Setting = Setting;
    const FIGURES: &'static [Figure] = &[
        Figure::plain("operations", ["operations", "M/s"]),
        Figure::plain("copied_mb_per_s", ["copies", "MB/s"]),
        Figure::plain("cache_ns", ["cache", "ns"]),
        Figure::plain("memory_ns", ["memory", "ns"]),
        Figure::plain("server_mb", ["server has", "MB"]),
        Figure::plain("kernel_mb", ["kernel has", "MB"]),
        Figure::plain("mbit", ["received", "Mbit/s"]),
        Figure::plain("sent_mbit", ["sent", "Mbit/s"]),
        Figure::plain("host_over_a", ["host / a", ""]),
        Figure::plain("a_over_b", ["a / b", ""]),
        Figure::drawn("read_mb_per_s", ["reads", "MB/s"], "Random reads", "random reads, MB/s").heat(),
        Figure::drawn("write_mb_per_s", ["writes", "MB/s"], "Random writes", "random writes, MB/s").heat(),
        Figure::plain("flush_ms", ["a flush", "ms"]),
        Figure::plain("seconds", ["each", "s"]),
        Figure::plain("read_s", ["read", "s"]),
        Figure::plain("write_s", ["write", "s"]),
        Figure::plain("queries_per_s", ["queries", "1/s"]),
        Figure::plain("spin_percent", ["host's work", "CPU, %"]),
        Figure::plain("theta_machine", ["CPU", "all, %"]),
        Figure::plain("theta_host", ["CPU", "host, %"]),
        Figure::plain("theta_a", ["CPU", "a, %"]),
        Figure::plain("theta_b", ["CPU", "b, %"]),
        Figure::plain("theta_client", ["CPU", "client, %"]),
        Figure::plain("steal_percent", ["steal", "%"]),
        Figure::plain("other_load_percent", ["other CPU", "%"]),
    ];

    fn put_up(at: &At<'_, Setting>, tell: Notify<'_>) -> Result<Self> {
        at.setting.place.check_server()?;
        for (part, program) in [(NET, "iperf3"), (DISK, "fio"), (FLUSH, "fio")] {
            at.plan.part(part).map_or(Ok(()), |_| check_program(program, "part", part))?;
        }
        Ok(Self { places: Places::up(at, tell)?, client: None })
    }

    fn ready(&mut self, at: &At<'_, Setting>, part: &Part, _: &[Run], tell: Notify<'_>) -> Result<()> {
        match part.name.as_str() {
            SELECT | BESIDE | STARVE => filled(at, &self.places, tell)?,
            NET if self.client.is_none() => self.client = Some(client_machine(at)?),
            _ => {}
        }
        Ok(())
    }

    fn takes_s(setting: &Setting, part: &Part, levels: &[String]) -> f64 {
        setting.takes_s(part, levels)
    }

    fn run(&mut self, at: &At<'_, Setting>, order: &Order<'_>, _: Notify<'_>) -> Result<Option<Run>> {
        let (mut run, level) = (Run::default(), order.levels.first().map_or("", String::as_str));
        let places = &self.places;
        match order.part.name.as_str() {
            LOAD => each(at, places, level, Work::Load(TAG, at.setting.rows(1)), &mut run)?,
            SELECT => each(at, places, level, Work::Select, &mut run)?,
            BESIDE => {
                let both = [
                    ("read_s", (1, Work::Select)),
                    ("write_s", (2, Work::Load(LOADED, at.setting.rows(SECOND_PART)))),
                ];
                let wanted = both.iter().filter(|(name, _)| level == "both" || name.starts_with(level));
                let (names, works): (Vec<&str>, Vec<_>) = wanted.copied().unzip();
                let seconds = at_once(at, places, &works, &mut run)?;
                names.into_iter().zip(seconds).for_each(|(name, seconds)| run.set(name, seconds));
            }
            STARVE => starve(at, places, level, &mut run)?,
            NET => network(at, places, self.client.as_ref().ok_or_else(not_running)?, level, &mut run)?,
            DISK => disk(at, places, order, &mut run)?,
            FLUSH => flushes(at, places, level, &mut run)?,
            MACHINE => machine(at, places, level, &mut run)?,
            _ => return Err(PublishedError::unreadable("part")),
        }
        Ok(Some(run).filter(|_| !at.workplace.stop.is_set()))
    }

    fn judge(plan: &Plan, setting: &Setting, runs: &[Run]) -> Judgement {
        judge::judge(plan, setting, runs)
    }
}

/// The same in the servers of a level; the mean of those, and how evenly they worked.
fn each(at: &At<'_, Setting>, places: &Places, level: &str, work: Work, run: &mut Run) -> Result<()> {
    let works: Vec<(usize, Work)> = at_work(level).iter().map(|place| (*place, work)).collect();
    let seconds = at_once(at, places, &works, run)?;
    run.set("seconds", seconds.iter().sum::<f64>() / seconds.len() as f64);
    run.set("a_over_b", seconds.get(1).map(|b| seconds[0] / b));
    Ok(())
}
