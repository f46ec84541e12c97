//! Which runs the study has, and how long they take, roughly.

use super::record::{Setting, TargetRecord};
use crate::harness::{Factor, Part};

pub const RATES: &str = "rates";
/// The factor of sizes of the buffer pool, percent of the tables.
pub const POOL_PERCENT: &str = "pool-percent";
/// The same at several sizes of the buffer pool.
pub const POOL: &str = "pool";
/// The same with rows that came in by a script, and reloaded from a dump; the factor has that name too.
pub const LAYOUT: &str = "layout";
pub const SIMPLE: &str = "simple";
pub const WRITE: &str = "write";
/// Both at the rates of the published study, whatever a server of today carries.
pub const SIMPLE_PUBLISHED: &str = "simple-published";
pub const WRITE_PUBLISHED: &str = "write-published";
/// Several statements of each class of reads.
pub const CLASS: &str = "class";

pub const COMPLEX_STATEMENT: &str = "tpcw.complex";
pub const SIMPLE_STATEMENT: &str = "tpcw.simple";
pub const WRITE_STATEMENT: &str = "tpcw.order_line_insert";

/// The factor of servers; absent where all of them get each run at once.
pub const TARGET: &str = "target";
pub const STATEMENT: &str = "statement";
/// Classes of reads by EXPLAIN, with statements of each: those that sort or build temporary tables, and those that use indexes alone.
pub const CLASSES: [(&str, [&str; 3]); 2] = [
    ("complex", [COMPLEX_STATEMENT, "tpcw.best_sellers", "tpcw.search_subject"]),
    ("simple", [SIMPLE_STATEMENT, "tpcw.product_detail", "tpcw.order_lines"]),
];

/// Arrival rate in percent of what a first look says that a server carries.
pub const LOAD: &str = "load-percent";
/// Arrival rate per second.
pub const RATE: &str = "rate";

#[derive(Clone, Debug, PartialEq)]
pub struct Extent {
    /// Levels of rate or load of the part `rates`.
    pub levels: Vec<u32>,
    /// Whether these are rates per second, and not percent of what a server carries.
    pub are_rates: bool,
    /// Levels of load of the simple read; beyond 100 % requests are lost.
    pub simple: Vec<u32>,
    pub write: Vec<u32>,
    /// Rates per second of the simple read and the write as they were published.
    pub published: [Vec<u32>; 2],
    /// Levels of load of the statements of a class.
    pub class: Vec<u32>,
    /// Levels of load of layouts and sizes of the buffer pool.
    pub storage: Vec<u32>,
    /// Sizes of the buffer pool, percent.
    pub pools: Vec<u32>,
    /// Starts of each server in the part `rates`.
    pub starts: u32,
    pub other_starts: u32,
    /// In that of classes, which has most statements, and others that need few.
    pub class_starts: u32,
}

pub fn parts(setting: &Setting, extent: &Extent) -> Vec<Part> {
    let making = Making { setting, extent };
    let mut all = vec![making.rates()];
    if setting.is_private()
        && !setting.duet
        && setting.workload == COMPLEX_STATEMENT
        && setting.workload_file.is_none()
        && !extent.are_rates
    {
        all.extend(making.storage());
        all.extend(making.statements());
    }
    all
}

struct Making<'a> {
    setting: &'a Setting,
    extent: &'a Extent,
}

impl Making<'_> {
    fn part(&self, name: &str, title: &str, about: &str, factors: Vec<Factor>) -> Part {
        let starts = match name {
            RATES => self.extent.starts,
            // The simple read is judged by server and by rate, the write at published rates: few are enough.
            CLASS | SIMPLE_PUBLISHED | WRITE => self.extent.class_starts,
            _ => self.extent.other_starts,
        };
        let targets = (!self.setting.duet).then(|| targets(&self.setting.targets));
        let factors = targets.into_iter().chain(factors).collect();
        Part::new(name, title, about, factors, starts * self.setting.runs_of_start)
    }

    fn rates(&self) -> Part {
        let levels = if self.extent.are_rates { RATE } else { LOAD };
        self.part(
            RATES,
            &format!("rates of {}", self.setting.workload),
            "Servers that should be alike, each started several times, with several runs of each start.",
            vec![Factor::numeric(levels, self.extent.levels.iter().copied())],
        )
    }

    /// Buffer pool and layout.
    fn storage(&self) -> [Part; 2] {
        let storage = load(&self.extent.storage);
        let pools = Factor::numeric(POOL_PERCENT, self.extent.pools.iter().copied());
        let layouts =
            Factor::named(LAYOUT, [("script", "filled by a script"), ("dump", "reloaded from a dump")]);
        [
            self.part(
                LAYOUT,
                "script against dump",
                "The same rows as a script inserts them, and reloaded from a dump.",
                vec![layouts, storage.clone()],
            ),
            self.part(
                POOL,
                "by size of the buffer pool",
                "Percent of the tables and indexes that the statement uses.",
                vec![storage, pools],
            ),
        ]
    }

    /// Those that ask other statements, each at shares of what a server carries of it.
    fn statements(&self) -> [Part; 5] {
        let [simple, writes] = &self.extent.published;
        let rates = |of: &[u32]| Factor::numeric(RATE, of.iter().copied());
        let of_classes = CLASSES.iter().flat_map(|(class, of)| of.iter().map(move |name| (*name, *class)));
        let titled: Vec<(&str, String)> =
            of_classes.map(|(name, class)| (name, format!("{name} ({class})"))).collect();
        let of_classes = Factor::named(STATEMENT, titled.iter().map(|(name, title)| (*name, title.as_str())));
        [
            self.part(
                SIMPLE,
                "the simple read by rate",
                "Beyond 100 % of what a server carries each request has a session of its own, until requests are lost.",
                vec![load(&self.extent.simple)],
            ),
            self.part(SIMPLE_PUBLISHED, "the simple read at published rates", "", vec![rates(simple)]),
            self.part(
                CLASS,
                "statements of a class",
                "Reads that sort or build temporary tables, and reads that use indexes alone, each at a share of what a server carries of it.",
                vec![of_classes, load(&self.extent.class)],
            ),
            self.part(WRITE, "the write by rate", "", vec![load(&self.extent.write)]),
            self.part(WRITE_PUBLISHED, "the write at published rates", "", vec![rates(writes)]),
        ]
    }
}

fn load(levels: &[u32]) -> Factor {
    Factor::numeric(LOAD, levels.iter().copied())
}

fn targets(of: &[TargetRecord]) -> Factor {
    let titled: Vec<(String, String)> =
        of.iter().map(|target| (target.name.clone(), target.words())).collect();
    Factor::named(TARGET, titled.iter().map(|(name, title)| (name.as_str(), title.as_str())))
}

/// The statement or mix that a part asks; `statement` is the level of that factor, or empty.
pub fn workload<'a>(setting: &'a Setting, part: &str, statement: &'a str) -> &'a str {
    match (part, statement) {
        (SIMPLE | SIMPLE_PUBLISHED, _) => SIMPLE_STATEMENT,
        (WRITE | WRITE_PUBLISHED, _) => WRITE_STATEMENT,
        (_, "") => &setting.workload,
        _ => statement,
    }
}

/// What a server was started for: all statements of classes are asked of one start.
pub fn group<'a>(setting: &'a Setting, part: &'a str) -> &'a str {
    if part == CLASS { CLASS } else { workload(setting, part, "") }
}

/// A server ends, starts and gets warm within so many seconds, besides the warm-up.
const START_S: f64 = 4.0;
/// Between two runs: figures are read, sessions opened.
const BETWEEN_S: f64 = 0.8;
/// Rows of a data set that come in within a second, one by one.
const ROWS_PER_S: f64 = 15_000.0;

/// Seconds that a run takes with its part of what comes before it.
pub fn takes_s(setting: &Setting, part: &Part) -> f64 {
    let servers = if setting.duet { setting.targets.len() as f64 } else { 1.0 };
    let combinations: usize =
        part.factors.iter().filter(|factor| factor.is_numeric()).map(|factor| factor.levels.len()).product();
    // Another pool takes another start; all else of a block is asked of one.
    let runs_of_start = match part.name.as_str() {
        POOL => 1.0,
        WRITE | WRITE_PUBLISHED => f64::from(setting.runs_of_start.max(1)),
        CLASS => {
            f64::from(setting.runs_of_start.max(1))
                * CLASSES.iter().map(|(_, of)| of.len() as f64).sum::<f64>()
        }
        _ => f64::from(setting.runs_of_start.max(1)) * combinations.max(1) as f64,
    };
    setting.warm_up_s
        + setting.duration_s
        + BETWEEN_S
        + servers * (START_S + setting.warm_up_s) / runs_of_start
}

/// Seconds until the data of all private servers are in.
pub fn data_s(setting: &Setting, parts: &[Part]) -> f64 {
    let servers = setting.targets.iter().filter(|target| target.is_private()).count() as f64;
    // The layout fills each server a second time.
    let fills = if parts.len() > 1 { 2.0 } else { 1.0 };
    let rows = f64::from(setting.data.items) * 1.3 + f64::from(setting.data.ebs) * 30_000.0;
    servers * fills * (rows / ROWS_PER_S + 5.0)
}

#[cfg(test)]
mod tests {
    use super::super::tests::{extent, setting};
    use super::*;

    #[test]
    fn private_servers_have_all_parts_and_others_that_of_their_rates() {
        let all = |setting: &Setting, extent: &Extent| -> Vec<String> {
            parts(setting, extent).into_iter().map(|part| part.name).collect()
        };
        assert_eq!(
            all(&setting(), &extent()),
            [RATES, LAYOUT, POOL, SIMPLE, SIMPLE_PUBLISHED, CLASS, WRITE, WRITE_PUBLISHED]
        );
        assert_eq!(all(&Setting { duet: true, ..setting() }, &extent()), [RATES]);
        assert_eq!(all(&setting(), &Extent { are_rates: true, ..extent() }), [RATES]);
        let mut others = setting();
        others.targets[0].url = "mysql://db1/tpcw".to_owned();
        assert_eq!(all(&others, &extent()), [RATES]);
    }
}
