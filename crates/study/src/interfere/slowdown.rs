//! A job beside others against the same alone: how much slower, whether that is named, and why it is.

use super::jobs::{ALONE, CLONE, Job};
use super::setting::PART;
use crate::format::{counted, significant};
use crate::harness::{Cell, Part};
use evenkeel_core::statistics::{Compared, Ratio, first_over_others, holm};

/// A slowdown below this is nobody's trouble, however sure.
pub const NAMED_FROM: f64 = 1.1;
/// Of all slowdowns of a study together, how probable a false one is.
const ALPHA: f64 = 0.01;
/// A domain waits for CPU where its threads together wait so long in a second, and so much longer than alone.
const WAITS_FROM: f64 = 0.1;
const WAITS_MORE: f64 = 0.05;
/// A domain uses the disk from so many MB/s on, and waits for it where an I/O takes so many times as long as alone.
const DISK_MB_FROM: f64 = 0.1;
const DISK_SLOWER: f64 = 1.2;

/// A domain uses the network from so many Mbit/s on.
const NET_MBIT_FROM: f64 = 10.0;

/// A victim beside its neighbours, over itself alone.
pub struct Slowdown<'a> {
    /// Place of the victim's domain.
    pub domain: usize,
    pub alone: &'a Cell<'a>,
    pub beside: &'a Cell<'a>,
    pub compared: Compared,
    pub is_named: bool,
}

/// The jobs of a domain that do something.
pub fn victims(part: &Part, domain: usize) -> impl Iterator<Item = &str> {
    let levels = part.factors[domain].levels.iter().map(|level| level.name.as_str());
    levels.filter(|name| Job::named(name).is_some_and(Job::is_busy))
}

/// Places and jobs of the domains beside one that have a job.
pub fn others<'a>(
    part: &Part,
    levels: &'a [String],
    domain: usize,
) -> impl Iterator<Item = (usize, &'a str)> {
    let all = (0..part.factors.len()).zip(levels.iter().map(String::as_str));
    all.filter(move |(place, job)| *place != domain && *job != ALONE)
}

/// Those in words.
pub fn neighbours(part: &Part, levels: &[String], domain: usize) -> String {
    let words =
        others(part, levels, domain).map(|(place, job)| format!("{}'s {job}", part.factors[place].name));
    words.collect::<Vec<_>>().join(" + ")
}

pub fn key(figure: &str, part: &Part, domain: usize) -> String {
    format!("{figure}@{}", part.factors[domain].name)
}

pub fn mean(cell: &Cell<'_>, figure: &str, domain: usize) -> Option<f64> {
    cell.mean(&key(figure, cell.part, domain))
}

pub fn rate(cell: &Cell<'_>, domain: usize, repeat: u32) -> Option<f64> {
    cell.runs.iter().find(|run| run.repeat == repeat)?.figure(&key("rate", cell.part, domain))
}

pub fn slowdowns<'a>(part: &Part, cells: &'a [Cell<'a>]) -> Vec<Slowdown<'a>> {
    let mut found = Vec::new();
    for domain in 0..part.factors.len() {
        for job in victims(part, domain) {
            // Neighbours beside whom it had no rate, or stalled, say nothing of the others.
            let is_its = |cell: &&Cell<'_>| {
                let rates = cell.values(&key("rate", part, domain));
                cell.part.name == PART
                    && cell.levels[domain] == job
                    && !rates.is_empty()
                    && rates.iter().all(|rate| *rate > 0.0)
            };
            let own: Vec<&Cell<'_>> = cells.iter().filter(is_its).collect();
            let Some((alone, rest)) = own.split_first() else { continue };
            let block = |repeat| own.iter().map(|cell| rate(cell, domain, repeat)).collect();
            let blocks: Vec<Vec<f64>> = (1..=part.repeats).filter_map(block).collect();
            let all =
                first_over_others(&blocks).filter(|_| others(part, alone.levels, domain).next().is_none());
            let all = rest.iter().zip(all.into_iter().flatten());
            found.extend(all.map(|(beside, compared)| Slowdown {
                domain,
                alone,
                beside,
                compared,
                is_named: false,
            }));
        }
    }
    let p: Vec<f64> = found.iter().map(|one| one.compared.p).collect();
    for (one, stands) in found.iter_mut().zip(holm(&p, ALPHA)) {
        let Ratio { ratio, interval, .. } = one.compared.ratio;
        one.is_named = stands && ratio >= NAMED_FROM && interval.is_some_and(|(low, _)| low > 1.0);
    }
    found
}

/// Jobs that did not finish two pieces in some run, in words.
pub fn stalls(part: &Part, cells: &[Cell<'_>]) -> Vec<String> {
    let words = |(cell, domain): (&Cell<'_>, usize)| {
        let rates = cell.values(&key("rate", part, domain));
        let count = rates.iter().filter(|rate| **rate <= 0.0).count();
        let beside = format!("beside {}", neighbours(part, cell.levels, domain));
        let beside = if beside.ends_with(' ') { ALONE } else { &beside };
        let (name, job, of) = (&part.factors[domain].name, &cell.levels[domain], counted(rates.len(), "run"));
        let errors = cell.values(&key("errors", part, domain));
        let what = if errors.iter().any(|count| *count > 0.0) {
            "failed or did not finish"
        } else {
            "did not finish"
        };
        (count > 0).then(|| format!("{name}'s {job} {what} {beside} in {count} of {of}"))
    };
    let own = cells.iter().filter(|cell| cell.part.name == PART);
    own.flat_map(|cell| (0..cell.levels.len()).map(move |domain| (cell, domain))).filter_map(words).collect()
}

impl Slowdown<'_> {
    pub fn words(&self) -> String {
        if self.beside.levels[self.domain] == CLONE {
            // It is no process of the domain, so that nothing is known of what it waits for.
            return format!("{}.", self.in_short());
        }
        let why = match (self.reasons().as_slice(), self.unseen()) {
            ([], Some(name)) => format!("cause not known, since CPU and disk of {name} were not seen"),
            ([], None) => "cause not found (caches and memory bandwidth are not watched)".to_owned(),
            (some, _) => some.join(", "),
        };
        let got = mean(self.beside, "cpus", self.domain).zip(mean(self.alone, "cpus", self.domain));
        let got = got.map_or_else(String::new, |(beside, alone)| {
            format!(" ({} CPUs instead of {})", significant(beside, 2), significant(alone, 2))
        });
        format!("{}: {why}{got}.", self.in_short())
    }

    pub fn in_short(&self) -> String {
        let (part, levels) = (self.beside.part, self.beside.levels);
        let (victim, job) = (&part.factors[self.domain].name, &levels[self.domain]);
        let (ratio, neighbours) = (within(&self.compared.ratio), neighbours(part, levels, self.domain));
        format!("{victim}'s {job} is {ratio} times slower beside {neighbours}")
    }

    /// Whether each neighbour has so much of a figure.
    fn all(&self, figure: &str, least: f64) -> bool {
        let mut others = others(self.beside.part, self.beside.levels, self.domain);
        others.all(|(place, _)| mean(self.beside, figure, place).is_some_and(|value| value >= least))
    }

    /// What was seen that makes the victim slow.
    fn reasons(&self) -> Vec<String> {
        let own = |figure: &str| mean(self.beside, figure, self.domain).unwrap_or(0.0);
        let count = others(self.beside.part, self.beside.levels, self.domain).count();
        let who = if count > 1 { "all" } else { "both" };
        let mut found = Vec::new();
        if self.waits_for_cpu() {
            let all = self.all("waiting", WAITS_FROM);
            found.push(if all { format!("{who} wait for CPU") } else { "it waits for CPU".to_owned() });
        }
        if self.waits_for_disk() {
            found.push(format!("{who} wait for the disk"));
        }
        if own("net_mbit") >= NET_MBIT_FROM && self.all("net_mbit", NET_MBIT_FROM) {
            found.push(format!("{who} send over the same network"));
        }
        found
    }

    pub fn waits_for_cpu(&self) -> bool {
        let own = |cell| mean(cell, "waiting", self.domain).unwrap_or(0.0);
        own(self.beside) >= WAITS_FROM.max(WAITS_MORE + own(self.alone))
    }

    /// A domain of which nobody saw whether it waits.
    fn unseen(&self) -> Option<&str> {
        let beside = others(self.beside.part, self.beside.levels, self.domain).map(|(place, _)| place);
        let mut all = std::iter::once(self.domain).chain(beside);
        let unseen = all.find(|place| mean(self.beside, "waiting", *place).is_none())?;
        Some(&self.beside.part.factors[unseen].name)
    }

    pub fn waits_for_disk(&self) -> bool {
        let own = |cell, figure: &str| mean(cell, figure, self.domain);
        let io_ms = own(self.beside, "disk_ms").zip(own(self.alone, "disk_ms"));
        let used = own(self.beside, "disk_mb_per_s").unwrap_or(0.0);
        io_ms.is_some_and(|(beside, alone)| beside >= DISK_SLOWER * alone)
            && used >= DISK_MB_FROM
            && self.all("disk_mb_per_s", DISK_MB_FROM)
    }
}

/// `1.9 (1.7 to 2.1)`.
pub fn within(ratio: &Ratio) -> String {
    let within = ratio.interval.map_or_else(String::new, |(low, high)| {
        format!(" ({} to {})", significant(low, 2), significant(high, 2))
    });
    format!("{}{within}", significant(ratio.ratio, 2))
}
