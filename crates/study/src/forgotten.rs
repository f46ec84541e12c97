//! A study of our own, and the example of `docs/guide/study.md`: what a transaction that somebody forgot costs all who scan an index.
//!
//! InnoDB keeps deleted index entries as long as an open transaction may read them. A queue, whose rows move within its index, has
//! more of them after each update.

use crate::harness::{Claim, Factor, Figure, Judgement, Notify, Order, Part, Plan, Run, Scale, Unit};
use crate::harness::{cells, doubts, findings};
use crate::published::{At, AtWork, Bed, MachineRecord, PrivateServer, PublishedError, Result, Watch, timed};
use evenkeel_site::sandbox::SandboxSpec;
use evenkeel_site::server::Control;
use serde::{Deserialize, Serialize};
use std::thread::sleep;
use std::time::Duration;

pub const NAME: &str = "forgotten";

pub const QUESTION: &str = "how much longer do index scans take while somebody has forgotten a transaction?";

const PART: &str = "scan";
/// The rows move so often in their index.
const UPDATES: [u32; 3] = [1, 10, 100];
/// Time for the server to remove what nobody can read any more.
const PURGE: Duration = Duration::from_secs(2);
/// Scans of a run; their median counts.
const SCANS: usize = 21;

const TABLE: &str = "CREATE TABLE jobs (id INT PRIMARY KEY, due INT NOT NULL, KEY (due)) ENGINE=InnoDB";
/// A server makes 1,000 rows at most in this way.
const ROWS: &str = "INSERT INTO jobs WITH RECURSIVE n AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM n WHERE i < 1000) \
                    SELECT i, i FROM n";
const SCAN: &str = "SELECT COUNT(*) FROM jobs FORCE INDEX (due) WHERE due > 0";
const HISTORY: &str =
    "SELECT COUNT FROM information_schema.INNODB_METRICS WHERE NAME = 'trx_rseg_history_len'";

const CLAIMS: [Claim; 1] =
    [Claim::above("slows-scans", Some(PART), "scan_ms", &["open", "100"], Some(&["none", "100"]))
        .published("an open transaction keeps versions of rows, so that queries slow down")
        .here("open_over_none", "scans take {} times as long after 100 updates of each row")];

/// Where it runs; a study with numbers of its own has them here too, and says between what each makes sense.
#[derive(Debug, Serialize, Deserialize)]
pub struct Setting {
    pub place: MachineRecord,
}

pub fn parts(repeats: u32) -> Vec<Part> {
    let transaction = Factor::named("transaction", [("none", "no transaction"), ("open", "a forgotten one")]);
    let about = "A table of 1,000 rows whose indexed column is updated, then counted by its index.";
    vec![Part::new(
        PART,
        "scans of an index",
        about,
        vec![transaction, Factor::numeric("updates", UPDATES)],
        repeats,
    )]
}

pub type Forgotten<'a> = AtWork<'a, Server>;

pub struct Server(PrivateServer);

impl Bed for Server {
    type Setting = Setting;
    const FIGURES: &'static [Figure] = &[
        Figure::drawn("scan_ms", ["scan", "ms"], "Time of a scan", "scan of 1,000 rows")
            .on(Unit::Milliseconds, Scale::Logarithmic),
        Figure::plain("history", ["history", "list"]),
        Figure::plain("steal_percent", ["steal", "%"]),
        Figure::plain("other_load_percent", ["other CPU", "%"]),
    ];

    fn put_up(at: &At<'_, Setting>, _: Notify<'_>) -> Result<Self> {
        let spec = SandboxSpec::new(at.workplace.home, at.plan.private_name());
        Ok(Self(PrivateServer::up(&at.workplace, &spec)?))
    }

    fn takes_s(_: &Setting, _: &Part, _: &[String]) -> f64 {
        6.0
    }

    fn run(&mut self, at: &At<'_, Setting>, order: &Order<'_>, _: Notify<'_>) -> Result<Option<Run>> {
        let stop = at.workplace.stop;
        let target = self.0.emptied("queue", stop)?;
        let mut writer = Control::connect_until(&target, stop)?;
        writer.exec(TABLE)?;
        writer.exec(ROWS)?;
        let mut forgotten = Control::connect_until(&target, stop)?;
        if order.level("transaction") == "open" {
            forgotten.exec("START TRANSACTION WITH CONSISTENT SNAPSHOT")?;
        }
        let updates: u32 =
            order.level("updates").parse().map_err(|_| PublishedError::unreadable("updates"))?;
        for _ in 0..updates {
            writer.exec("UPDATE jobs SET due = due + 1")?;
        }
        sleep(PURGE);
        let mut run = Run::default();
        let watch = Watch::begin([self.0.pid()?]);
        let scans = (0..SCANS).map(|_| Ok(timed(|| Ok(writer.query_value(SCAN)?))?.1));
        let mut scans = scans.collect::<Result<Vec<f64>>>()?;
        watch.end().note(&mut run);
        scans.sort_by(f64::total_cmp);
        run.set("scan_ms", 1e3 * scans[SCANS / 2]);
        run.set("history", writer.query_value(HISTORY)?.and_then(|length| length.parse::<f64>().ok()));
        Ok(Some(run))
    }

    fn judge(plan: &Plan, setting: &Setting, runs: &[Run]) -> Judgement {
        let findings = findings(&CLAIMS, plan, &cells(plan, runs));
        Judgement {
            headline: findings[0].here.clone(),
            published: "Transactions that stay open slow down everybody else.",
            source: "the manuals of MySQL and MariaDB, on purge",
            rule: "Scans take longer where the whole 95 % interval of the ratio of their times is above 1."
                .to_owned(),
            setting: format!("a private server, seed {}", plan.seed),
            place: setting.place.known(),
            caveats: doubts(plan.parts.iter(), runs).collect(),
            findings,
            ..Judgement::default()
        }
    }
}
