//! What the points say of the published finding.
//!
//! The fall of a curve is `100 (1 - t / b)` percent, with `b` the mean throughput at the number of clients where it is
//! highest and `t` that at the highest number; the interval is that of the ratio of the two (log scale, Student's t,
//! pairs of one repeat). Picking the best point makes `b` a little too high, and the fall with it.

use super::figures::SETTLED;
use super::record::{Load, Second, Treatment};
use crate::harness::Cell;
use evenkeel_core::statistics::{Ratio, paired_ratio, unpaired_ratio};

/// A curve that falls less does not show the published finding.
pub const FALL_PERCENT: f64 = 10.0;
/// A cost per commit that grows by this factor or more grows clearly.
pub const GROWTH: f64 = 2.0;
/// Waits for row locks below this share of the time in flight are none.
pub const LOCK_WAIT_PERCENT: f64 = 1.0;

/// How far a curve without control falls.
#[derive(Clone, Debug, PartialEq)]
pub struct Fall {
    /// Clients where throughput is highest, and that throughput per second.
    pub best: (u32, f64),
    /// The highest number of clients, and the throughput there.
    pub highest: (u32, f64),
    /// From one to the other, percent.
    pub percent: f64,
    /// 95 % interval of it.
    pub interval: Option<(f64, f64)>,
    pub runs: u64,
}

impl Fall {
    /// Whether it is as deep as the published one must be to be seen, and can be told from noise.
    pub fn is_shown(&self) -> bool {
        self.percent >= FALL_PERCENT && self.is_certain()
    }

    /// Whether runs agree that it falls at all.
    pub fn is_certain(&self) -> bool {
        self.interval.is_some_and(|(low, _)| low > 0.0)
    }
}

/// Throughput of a way at the highest number of clients, over the best without control.
#[derive(Clone, Debug, PartialEq)]
pub struct Held {
    pub way: Treatment,
    /// Throughput there over the best without control.
    pub ratio: Ratio,
    /// Mean limit while measured there.
    pub limit: Option<f64>,
    /// Runs there whose limit had not settled, where it was waited for.
    pub unsettled: Option<usize>,
}

/// How a cost per commit grows from the fewest clients to the most, without control.
#[derive(Clone, Debug, PartialEq)]
pub struct Growth {
    pub key: &'static str,
    /// The same as the page writes it.
    pub words: &'static str,
    pub from: f64,
    /// At the most.
    pub to: f64,
}

impl Growth {
    pub fn is_overhead(&self) -> bool {
        OVERHEAD.contains(&self.key)
    }

    pub fn factor(&self) -> f64 {
        self.to / self.from
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct Verdict {
    pub load: Load,
    /// How far the curve without control falls; `None` with fewer than two points.
    pub fall: Option<Fall>,
    pub held: Vec<Held>,
    /// Costs per commit that were available.
    pub growth: Vec<Growth>,
    /// Largest share of lock waits without control, percent.
    pub lock_wait_percent: Option<f64>,
}

impl Verdict {
    /// Of one workload; `None` without a point of it.
    pub fn of(cells: &[Cell<'_>], load: Load) -> Option<Self> {
        let direct = curve(cells, load, Treatment::Direct);
        if !cells.iter().any(|cell| cell.part.name == load.name()) {
            return None;
        }
        let waits = direct.iter().filter_map(|cell| cell.mean("lock_wait_percent"));
        Some(Self {
            load,
            fall: fall(&direct),
            held: Treatment::ALL
                .iter()
                .filter_map(|way| held(*way, &direct, &curve(cells, load, *way)))
                .collect(),
            growth: COSTS.iter().filter_map(|(key, words)| growth(&direct, key, words)).collect(),
            lock_wait_percent: waits.reduce(f64::max),
        })
    }

    /// The cost that is looked at: misses of the hardware where they can be counted, which the study calls overhead;
    /// else pages that the buffer pool missed, else CPU time, which it does not.
    pub fn cost(&self) -> Option<&Growth> {
        COSTS.iter().find_map(|(key, _)| self.growth.iter().find(|growth| growth.key == *key))
    }

    /// Whether it doubles, and nobody waits for row locks meanwhile; `None` where one of both is not known.
    pub fn doubles_without_locks(&self) -> Option<bool> {
        let waits = self.lock_wait_percent?;
        Some(self.cost()?.factor() >= GROWTH && waits < LOCK_WAIT_PERCENT)
    }
}

/// What the study calls overhead: misses of the data translation buffer and of the data cache.
const OVERHEAD: [&str; 2] = ["dtlb_misses_per_commit", "cache_misses_per_commit"];

/// Costs per commit in the order in which they are looked at.
const COSTS: [(&str, &str); 5] = [
    ("dtlb_misses_per_commit", "DTLB misses"),
    ("cache_misses_per_commit", "cache misses"),
    ("pages_read_per_commit", "pages missed by the buffer pool"),
    ("cpu_ms_per_commit", "milliseconds of CPU"),
    ("cycles_per_commit", "cycles"),
];

/// Both verdicts, of those that were measured.
pub fn verdicts(cells: &[Cell<'_>]) -> Vec<Verdict> {
    [Load::Shopping, Load::Reread].into_iter().filter_map(|load| Verdict::of(cells, load)).collect()
}

/// Whether the second workload is to be measured.
pub fn wants_second(second: Second, cells: &[Cell<'_>]) -> bool {
    match second {
        Second::Always => true,
        Second::Never => false,
        Second::Auto => {
            let verdict = Verdict::of(cells, Load::Shopping);
            !verdict.and_then(|verdict| verdict.fall).is_some_and(|fall| fall.is_shown())
        }
    }
}

pub fn curve<'a, 'b>(cells: &'b [Cell<'a>], load: Load, way: Treatment) -> Vec<&'b Cell<'a>> {
    let is_it = |cell: &&Cell<'_>| cell.part.name == load.name() && cell.level("way") == way.name();
    cells.iter().filter(is_it).collect()
}

pub fn clients(cell: &Cell<'_>) -> u32 {
    cell.level("clients").parse().unwrap_or(0)
}

/// Of how many runs of a cell the limit had settled; `None` where it was not waited for.
pub fn settled(cell: &Cell<'_>) -> Option<usize> {
    let waited = cell.values(SETTLED);
    (!waited.is_empty()).then(|| waited.into_iter().filter(|settled| *settled > 0.0).count())
}

const THROUGHPUT: &str = "throughput_per_s";

fn best<'a, 'b>(curve: &[&'b Cell<'a>]) -> Option<&'b Cell<'a>> {
    let height = |cell: &Cell<'_>| cell.mean(THROUGHPUT).unwrap_or(0.0);
    curve.iter().copied().max_by(|a, b| height(a).total_cmp(&height(b)))
}

fn fall(direct: &[&Cell<'_>]) -> Option<Fall> {
    let (best, highest) = (best(direct)?, direct.last().copied()?);
    if direct.len() < 2 {
        return None;
    }
    let pairs: Vec<(f64, f64)> = highest
        .runs
        .iter()
        .filter_map(|run| {
            let other = best.runs.iter().find(|other| other.repeat == run.repeat)?;
            Some((run.figure(THROUGHPUT)?, other.figure(THROUGHPUT)?))
        })
        .collect();
    let ratio = paired_ratio(&pairs);
    let (top, last) = (best.mean(THROUGHPUT)?, highest.mean(THROUGHPUT)?);
    let is_same = clients(best) == clients(highest);
    let interval = ratio.as_ref().and_then(|ratio| ratio.interval).filter(|_| !is_same);
    Some(Fall {
        best: (clients(best), top),
        highest: (clients(highest), last),
        percent: 100.0 * (1.0 - ratio.map_or(last / top, |ratio| ratio.ratio)),
        interval: interval.map(|(low, high)| (100.0 * (1.0 - high), 100.0 * (1.0 - low))),
        runs: best.runs.len().min(highest.runs.len()) as u64,
    })
}

fn held(way: Treatment, direct: &[&Cell<'_>], of: &[&Cell<'_>]) -> Option<Held> {
    let (best, last) = (best(direct)?, of.last()?);
    let ratio = unpaired_ratio(&last.values(THROUGHPUT), &best.values(THROUGHPUT))?;
    let unsettled = settled(last).map(|settled| last.runs.len() - settled);
    Some(Held { way, ratio, limit: last.mean("limit_mean"), unsettled })
}

fn growth(direct: &[&Cell<'_>], key: &'static str, words: &'static str) -> Option<Growth> {
    let (from, to) = (direct.first()?.mean(key)?, direct.last()?.mean(key)?);
    (from > 0.0 && to.is_finite()).then_some(Growth { key, words, from, to })
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{falling, flat, is, plan, reread};
    use super::*;
    use crate::harness::{Run, cells};

    fn of(runs: &[Run], load: Load) -> Option<Verdict> {
        let plan = plan();
        Verdict::of(&cells(&plan, runs), load)
    }

    #[test]
    fn a_curve_that_falls_by_half_is_shown_with_its_interval() {
        let verdict = of(&falling(), Load::Shopping).unwrap();
        let fall = verdict.fall.unwrap();
        assert_eq!((fall.best.0, fall.highest.0, fall.runs), (8, 64, 3));
        assert!((fall.percent - 50.0).abs() < 1.0 && fall.is_shown(), "{fall:?}");
        let (low, high) = fall.interval.unwrap();
        assert!(low < fall.percent && fall.percent < high, "{fall:?}");
    }

    #[test]
    fn a_fall_that_runs_do_not_agree_on_is_not_shown() {
        let mut runs = falling();
        let last = runs.iter_mut().filter(|run| is(run, Treatment::Direct, 64));
        last.zip([1_200.0, 100.0, 400.0]).for_each(|(run, rate)| run.set("throughput_per_s", rate));
        let fall = of(&runs, Load::Shopping).unwrap().fall.unwrap();
        assert!(fall.percent > FALL_PERCENT && !fall.is_shown(), "{fall:?}");
        runs.retain(|run| run.repeat == 1);
        let fall = of(&runs, Load::Shopping).unwrap().fall.unwrap();
        assert!(fall.interval.is_none() && !fall.is_shown(), "one run has no spread: {fall:?}");
    }

    #[test]
    fn a_curve_that_stays_asks_for_the_second_workload() {
        assert!(!of(&flat(), Load::Shopping).unwrap().fall.unwrap().is_shown());
        let plan = plan();
        let (falling, flat) = (falling(), flat());
        for (second, of_falling, of_flat) in
            [(Second::Auto, false, true), (Second::Always, true, true), (Second::Never, false, false)]
        {
            let wants = |runs: &[Run]| wants_second(second, &cells(&plan, runs));
            assert_eq!((wants(&falling), wants(&flat)), (of_falling, of_flat));
        }
    }

    #[test]
    fn each_way_is_compared_with_the_best_without_control() {
        let verdict = of(&falling(), Load::Shopping).unwrap();
        let of = |way| verdict.held.iter().find(|held| held.way == way).unwrap();
        assert!((of(Treatment::Direct).ratio.ratio - 0.5).abs() < 0.02);
        assert!((of(Treatment::Evenkeel).ratio.ratio - 0.9).abs() < 0.02);
        assert_eq!(of(Treatment::Evenkeel).limit, Some(4.0));
        assert_eq!((of(Treatment::Evenkeel).unsettled, of(Treatment::Reflection).unsettled), (None, Some(3)));
    }

    #[test]
    fn the_cost_is_misses_where_they_could_be_counted_and_only_these_are_overhead() {
        let verdict = of(&reread(), Load::Reread).unwrap();
        let cost = verdict.cost().unwrap();
        assert_eq!((cost.key, cost.is_overhead()), ("pages_read_per_commit", false));
        assert!((cost.factor() - 4.0).abs() < 1e-9);
        assert_eq!(verdict.doubles_without_locks(), Some(true));
        let mut runs = reread();
        runs.iter_mut().for_each(|run| run.set("dtlb_misses_per_commit", 1e5));
        let verdict = of(&runs, Load::Reread).unwrap();
        let cost = verdict.cost().unwrap();
        assert_eq!((cost.key, cost.is_overhead()), ("dtlb_misses_per_commit", true));
        assert_eq!(verdict.doubles_without_locks(), Some(false));
    }

    #[test]
    fn one_point_or_none_says_nothing() {
        assert_eq!(of(&[], Load::Shopping), None);
        let one: Vec<Run> = falling().into_iter().take(1).collect();
        assert_eq!(of(&one, Load::Shopping).unwrap().fall, None);
    }
}
