//! The telecom study: call records exported, converted, loaded, dispatched and audited, each beside the published figure.
//!
//! This file has what the harness asks. `bench` is the private server with the records and what all runs do, `runs` are the runs. All else is
//! pure: `record` is the setting in its plan and which runs there are, `judge` what they say of the published claims, with the published
//! figures.

mod bench;
mod judge;
pub mod record;
mod replay;
mod runs;

use crate::harness::{Event, Figure, Judgement, Notify, Order, Part, Plan, Run};
use crate::published::{At, AtWork, Bed, PrivateServer, PublishedError, Result};
use bench::{Bench, Files};
use evenkeel_haul::load::Indexes;
use evenkeel_site::sandbox::SandboxSpec;
pub use judge::judge;
use record::{CHANNELS, CRASH, DAYS, DISPATCH, EXPORT, LOAD, MIXED, REPLAY, Setting, WATCHED, WAYS, Way};

/// The study's name in plans and on the command line.
pub const NAME: &str = "telecom";

pub const QUESTION: &str =
    "how long do call records take from files to day tables, and is one lost when the server is killed?";

/// All that are shown, in the order of columns.
pub const FIGURES: [Figure; 23] = [
    Figure::plain("seconds", ["time", "s"]),
    Figure::plain("rows_per_s", ["rows", "1/s"]),
    Figure::plain("load_s", ["load", "s"]),
    Figure::plain("index_s", ["indexes", "s"]),
    Figure::plain("convert_s", ["convert", "s"]),
    Figure::plain("dispatch_s", ["dispatch", "s"]),
    Figure::plain("audit_s", ["audit", "s"]),
    Figure::plain("first_day_s", ["first day", "s"]),
    Figure::plain("last_day_s", ["last day", "s"]),
    Figure::plain("seconds_lost", ["lost by the kill", "s"]),
    Figure::plain("recovery_s", ["server's start", "s"]),
    Figure::plain("killed_at_percent", ["killed at", "%"]),
    Figure::plain("sent_twice_percent", ["sent twice", "%"]),
    Figure::plain("mb_per_s", ["files", "MB/s"]),
    Figure::plain("cpu_us_per_row", ["server CPU", "us/row"]),
    Figure::plain("bytes_per_row", ["table", "bytes/row"]),
    Figure::plain("statements_per_s", ["statements", "1/s"]),
    Figure::plain("cpu_us_per_statement", ["server CPU", "us/statement"]),
    Figure::plain("large_s", ["longest, large", "s"]),
    Figure::plain("small_s", ["longest, small", "s"]),
    Figure::plain("records", ["records", "audited"]),
    Figure::plain("steal_percent", ["steal", "%"]),
    Figure::plain("other_load_percent", ["other CPU", "%"]),
];

/// As many as the published study went up to with ease.
const CLIENTS_WATCHED: u32 = 8;

pub type Telecom<'a> = AtWork<'a, Bench>;

impl Bed for Bench {
    type Setting = Setting;
    const FIGURES: &'static [Figure] = &FIGURES;

    fn put_up(at: &At<'_, Setting>, tell: Notify<'_>) -> Result<Self> {
        at.setting.place.check_server()?;
        let files = Files::make(at, tell)?;
        tell(Event::Step("starting a private server".to_owned()));
        let mut spec = SandboxSpec::new(at.workplace.home, at.plan.private_name());
        spec.settings = at.setting.server(true).into_iter().collect();
        let server = PrivateServer::up(&at.workplace, &spec)?;
        let (target, setting) = (server.sandbox.target(), at.setting.clone());
        Ok(Self { files, server, target, setting, is_tuned: true, stop: at.workplace.stop.clone() })
    }

    /// By what was measured on two cores; where data outgrow memory it can be more.
    fn takes_s(setting: &Setting, part: &Part, levels: &[String]) -> f64 {
        let (day, all) = (setting.records as f64 / 1e6, setting.all() as f64 / 1e6);
        let level = |place: usize| levels.get(place).map_or("", String::as_str);
        let records_s = match (part.name.as_str(), level(0), level(1)) {
            // Once indexes outgrow its pool each record is dearer.
            (LOAD, "untuned", "before") => day * (66.0 + 60.0 * (day / 0.05).max(1.0).log2()),
            (LOAD, _, "before") => 31.0 * day,
            (LOAD, ..) => 21.0 * day,
            (CRASH, ..) => 66.0 * day + 3.0,
            (DISPATCH, ..) => 56.0 * all,
            (DAYS, ..) => 66.0 * all,
            (REPLAY, clients, _) => 21.0 * day + clients.parse().unwrap_or(1.0) * (1.0 + 30.0 * day),
            (CHANNELS, ..) => 20.0 + 21.0 * day + 28.0 * (0.3 + 50.0 * day),
            (WATCHED, ..) => 8.0 + 261.0 * day,
            (MIXED, clients, _) => 21.0 * day + clients.parse().unwrap_or(1.0) * (0.3 + 25.0 * day),
            _ => 36.0 * day,
        };
        // A server that starts with other settings, and a database that is made anew.
        3.0 + records_s
    }

    fn run(&mut self, at: &At<'_, Setting>, order: &Order<'_>, _: Notify<'_>) -> Result<Option<Run>> {
        let name = order.level("way");
        let way = || -> Result<Way> {
            WAYS.into_iter().find(|way| way.name == name).ok_or_else(|| PublishedError::unreadable("way"))
        };
        let run = match order.part.name.as_str() {
            LOAD if order.level("indexes") == "after" => self.load_run(way()?, Indexes::After),
            LOAD => self.load_run(way()?, Indexes::Before),
            CRASH => self.crash_run(way()?),
            DISPATCH => self.dispatch_run(name),
            DAYS => self.days_run(order.level("source")),
            part @ (REPLAY | MIXED) => {
                let clients =
                    order.level("clients").parse().map_err(|_| PublishedError::unreadable("clients"))?;
                self.replay_run(part, clients, order.level("order"))
            }
            WATCHED => self.replay_run(WATCHED, CLIENTS_WATCHED, order.level("watch")),
            CHANNELS => self.channels_run(at, order.level("tmpdir")),
            EXPORT => self.export_run(),
            _ => Err(PublishedError::unreadable("part")),
        };
        run.map(Some)
    }

    fn judge(plan: &Plan, setting: &Setting, runs: &[Run]) -> Judgement {
        judge(plan, setting, runs)
    }
}
