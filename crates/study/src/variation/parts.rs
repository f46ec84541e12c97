//! Which runs the study has.

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
    /// Levels of load of the statements of a class.
    pub class: Vec<u32>,
    /// Levels of load of layouts and sizes of the buffer pool.
    pub storage: Vec<u32>,
    /// Sizes of the buffer pool, percent.
    pub pools: Vec<u32>,
    /// Starts of each server in the part `rates`.
    pub starts: u32,
    pub other_starts: u32,
    /// In that of classes, which has most statements.
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
            CLASS => self.extent.class_starts,
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
    fn statements(&self) -> [Part; 3] {
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
            self.part(
                CLASS,
                "statements of a class",
                "Reads that sort or build temporary tables, and reads that use indexes alone, each at a share of what a server carries of it.",
                vec![of_classes, load(&self.extent.class)],
            ),
            self.part(WRITE, "the write by rate", "", vec![load(&self.extent.write)]),
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
        (SIMPLE, _) => SIMPLE_STATEMENT,
        (WRITE, _) => WRITE_STATEMENT,
        (_, "") => &setting.workload,
        _ => statement,
    }
}

/// What a server was started for: all statements of classes are asked of one start.
pub fn group<'a>(setting: &'a Setting, part: &'a str) -> &'a str {
    if part == CLASS { CLASS } else { workload(setting, part, "") }
}

#[cfg(test)]
mod tests {
    use super::super::tests::setting;
    use super::*;

    fn extent() -> Extent {
        Extent {
            levels: vec![30, 60],
            are_rates: false,
            simple: vec![50, 120],
            write: vec![50],
            class: vec![50],
            storage: vec![50],
            pools: vec![20, 100],
            starts: 3,
            other_starts: 2,
            class_starts: 1,
        }
    }

    #[test]
    fn private_servers_have_all_parts_and_others_that_of_their_rates() {
        let all = |setting: &Setting, extent: &Extent| -> Vec<String> {
            parts(setting, extent).into_iter().map(|part| part.name).collect()
        };
        assert_eq!(all(&setting(), &extent()), [RATES, LAYOUT, POOL, SIMPLE, CLASS, WRITE]);
        assert_eq!(all(&Setting { duet: true, ..setting() }, &extent()), [RATES]);
        assert_eq!(all(&setting(), &Extent { are_rates: true, ..extent() }), [RATES]);
        let mut others = setting();
        others.targets[0].url = "mysql://db1/tpcw".to_owned();
        assert_eq!(all(&others, &extent()), [RATES]);
    }
}
