//! What a study says first: what the server carries, up to which rate p95 stays below a time, what a request costs in CPU; and in one
//! line what of that can be relied on.

use super::answer;
use super::objective::{Unanswered, meets_by_runs};
use crate::format::listed;
use crate::store::format::{BoundsRecord, CellSummary, PlanFile, RunFile, Verdict, WorkRecord};
use evenkeel_core::caveat::threshold::{ARRIVALS_MIN, CPU_VARIES_MAX, NEIGHBOURS_MIN, RUNS_MIN, SECONDS_MIN};
use evenkeel_core::digits::{between, ceiling, floor, nearest};
use evenkeel_core::statistics::Sample;
use evenkeel_core::trust::TrustLimit;
use std::collections::BTreeMap;

/// More runs than these are not named one by one in a sentence.
const NAMES_MAX: usize = 4;

/// Bounds farther apart than this, upper over lower, leave more to say.
const WIDE: f64 = 1.4;
/// ... and farther than this, are of little use for a plan.
const VERY_WIDE: f64 = 2.0;
/// ... and so does a rate beyond an objective, over the one that meets it.
const FAR: f64 = 1.3;
/// From which share of the CPUs on, percent, other load changes the answer.
const NOTABLE: f64 = 5.0;

pub(super) struct Findings<'a> {
    pub plan: &'a PlanFile,
    pub cells: &'a [CellSummary],
    pub runs: &'a [RunFile],
    /// Series that differ in the target alone.
    pub group: &'a [usize],
    pub bounds: &'a BoundsRecord,
    pub limit: &'a TrustLimit,
}

impl<'a> Findings<'a> {
    fn own_cells(&self) -> impl Iterator<Item = &'a CellSummary> {
        let group = self.group;
        self.cells.iter().filter(move |cell| group.contains(&cell.series))
    }

    fn is_measured(&self) -> bool {
        self.own_cells().next().is_some()
    }

    /// The highest rate whose runs all settled and meet the objective in the mean, and how many they are.
    fn provisional(&self, wanted_ms: f64) -> Option<(f64, u32)> {
        let meets = self
            .own_cells()
            .filter(|cell| cell.stability == Verdict::Settled && meets_by_runs(cell, wanted_ms));
        meets.map(|cell| (cell.rate_per_s, cell.runs)).max_by(|one, other| one.0.total_cmp(&other.0))
    }

    /// The statement of a mix with the longest 95th percentile, in ms, at the lowest rate, on average over its runs.
    fn slowest(&self) -> Option<(&'a str, f64)> {
        let lowest = self.own_cells().min_by(|one, other| one.rate_per_s.total_cmp(&other.rate_per_s))?;
        let runs = self.runs.iter().filter(|run| run.cell == lowest.cell);
        let mut of: BTreeMap<&str, Sample> = BTreeMap::new();
        for kind in runs.flat_map(|run| &run.statements) {
            if let Some(times) = kind.times.measured() {
                of.entry(&kind.name).or_default().push(times.p95_ms);
            }
        }
        let timed = of.into_iter().filter_map(|(name, times)| Some((name, times.mean()?)));
        timed.max_by(|one, other| one.1.total_cmp(&other.1))
    }

    /// Whether no rate has as many valid runs as a bound takes.
    fn has_few_runs(&self) -> bool {
        u64::from(answer::runs_of_rate(self.plan, self.runs, self.group)) < RUNS_MIN
    }

    pub(super) fn carries(&self) -> String {
        if !self.is_measured() {
            return "Nothing is measured yet".to_owned();
        }
        let what = &self.plan.series[self.group[0]].workload;
        let Some(carried) = self.carried(what) else { return self.no_bounds(what) };
        let who = match self.group.len() {
            1 => format!("This server{}", self.cpus()),
            servers => format!("Each of these {servers} servers"),
        };
        format!("{who} {carried}{}{}", self.neighbours(), self.connections())
    }

    /// ` (2 CPUs)`; nothing where nobody sees them.
    fn cpus(&self) -> String {
        let cpus = self.runs.iter().filter_map(|run| Some(run.theta.as_ref()?.cpus)).reduce(f64::max);
        let unit = if cpus == Some(1.0) { "CPU" } else { "CPUs" };
        cpus.map_or_else(String::new, |cpus| format!(" ({} {unit})", (100.0 * cpus).round() / 100.0))
    }

    /// Up to which rate the 95th percentile stays below a time: the objective, or what it is at the best trade of throughput for response time.
    pub(super) fn p95(&self) -> String {
        let objective = self.plan.settings.objective_p95_ms;
        let provisional = objective.and_then(|wanted| self.provisional(wanted));
        match (self.bounds.p95_below_ms.zip(self.bounds.p95_at_per_s), objective) {
            _ if !self.is_measured() => String::new(),
            (Some((_, rate)), Some(objective)) => {
                let next = self.bounds.p95_missed_at_per_s.map_or_else(String::new, |missed| {
                    let more = if missed > FAR * rate { ": a longer --within narrows the gap" } else { "" };
                    format!("; at {}, the next measured rate, that is not certain{more}", nearest(missed))
                });
                format!("p95 stays below {objective} ms up to {} requests per second{next}", floor(rate))
            }
            (Some((below, rate)), None) => {
                // A rate that was carried in all runs may lie above what is certain.
                let is_certain = self.bounds.at_least_per_s.is_none_or(|least| rate <= least);
                let place = if is_certain { "stays below {} ms up to" } else { "stayed below {} ms at" };
                let place = place.replace("{}", &ceiling(below));
                format!("p95 {place} {} requests per second", floor(rate))
            }
            (None, Some(objective)) if provisional.is_some() => {
                let (rate, runs) = provisional.unwrap_or_default();
                let runs = if runs == 1 { "1 run".to_owned() } else { format!("the mean of {runs} runs") };
                format!(
                    "p95 was below {objective} ms at {} requests per second in {runs}, but not with 95 % confidence yet",
                    floor(rate)
                )
            }
            (None, Some(_)) if self.has_few_runs() => {
                "No upper bound of p95 yet: it takes three runs of a rate (--repeats 3)".to_owned()
            }
            (None, Some(objective)) => {
                let slowest = self.slowest().filter(|(_, p95)| *p95 > objective);
                let slowest = slowest.map_or_else(String::new, |(name, p95)| {
                    format!(": at the lowest rate {name} alone takes {} ms (p95)", nearest(p95))
                });
                format!("No measured rate keeps p95 below {objective} ms with 95 % confidence{slowest}")
            }
            (None, None) => {
                "No reliable p95 yet: it takes a quieter time, more time or longer runs".to_owned()
            }
        }
    }

    /// With the rates, since a server with little to do makes requests dearer.
    pub(super) fn cpu(&self) -> String {
        let at = match &self.bounds.cpu {
            Some(cpu) => {
                format!(
                    ", at {} requests completed per second",
                    between(cpu.seen_at_per_s.low, cpu.seen_at_per_s.high)
                )
            }
            None => String::new(),
        };
        match self.bounds.cpu.as_ref().and_then(|cpu| cpu.range) {
            _ if !self.is_measured() => String::new(),
            Some(range) => {
                format!("A request costs {} ms of CPU on average{at}", between(range.low, range.high))
            }
            None if self.bounds.cpu.is_some() => {
                "CPU cost per request: unknown. It takes three valid runs".to_owned()
            }
            None => {
                "CPU cost per request: unknown. The server's CPU use is not seen (--sense-with)".to_owned()
            }
        }
    }

    pub(super) fn trusts(&self) -> String {
        if !self.is_measured() {
            return String::new();
        }
        let is_steady = |cpu: &WorkRecord| {
            cpu.range.is_some() && cpu.varies_percent.is_none_or(|percent| percent <= CPU_VARIES_MAX)
        };
        let has_both = self.bounds.at_least_per_s.is_some() && self.bounds.at_most_per_s.is_some();
        let (far, bounds) = (self.far_apart(), if has_both { "the bounds" } else { "the bound" });
        let known = [
            (self.bounds.is_something() && far.is_none(), bounds),
            (self.bounds.cpu.as_ref().is_some_and(is_steady), "the CPU cost"),
        ];
        let known = known.into_iter().filter(|(is_known, _)| *is_known);
        let mut reliable: Vec<String> = known.map(|(_, what)| what.to_owned()).collect();
        reliable.extend(self.limit.rate.map(|rate| self.times_up_to(rate) + &self.overlooked()));
        let reliable = match reliable.as_slice() {
            [] => "Nothing is reliable yet".to_owned(),
            some => format!("Reliable: {}", listed(some)),
        };
        let not = match &self.limit.end {
            Some(end) if self.limit.rate.is_none() => {
                format!(". Less certain: response times, because {} {}", end.place(), end.reason)
            }
            Some(end) => format!(". Less certain: response times {end}"),
            None => String::new(),
        };
        let not = if not.is_empty() { not } else { not + self.disturbed() };
        reliable + &far.unwrap_or_default() + &not + &self.left_out()
    }

    /// What most likely made runs differ.
    fn disturbed(&self) -> &'static str {
        let is_disturbed = self.bounds.taken_percent.is_some_and(|taken| taken >= NOTABLE);
        if is_disturbed { ", most likely because of the other load" } else { "" }
    }

    /// What to do about bounds that leave much open.
    fn far_apart(&self) -> Option<String> {
        let ends = self.bounds.at_most_per_s.zip(self.bounds.at_least_per_s);
        let times = ends.map(|(most, least)| most / least).filter(|times| *times >= VERY_WIDE)?;
        Some(format!(
            ". The bounds are {times:.1} times apart: profile at a quieter time, or longer by --within"
        ))
    }

    fn times_up_to(&self, rate: f64) -> String {
        let highest = if self.limit.end.is_none() { ", the highest measured" } else { "" };
        let theta =
            self.limit.utilisation.map_or_else(String::new, |theta| format!(" (CPU use {theta:.0} %)"));
        format!("response times up to {} per second{highest}{theta}", nearest(rate))
    }

    /// Lower rates that are less certain than a higher one.
    fn overlooked(&self) -> String {
        let places: Vec<String> = self.limit.overlooked.iter().map(|one| one.place()).collect();
        if places.is_empty() { String::new() } else { format!(", but not {}", listed(&places)) }
    }

    /// Which runs are not in the bounds, where some are.
    fn left_out(&self) -> String {
        let BoundsRecord { runs, left_out, .. } = *self.bounds;
        match left_out {
            0 => String::new(),
            _ if !self.bounds.is_something() => String::new(),
            left_out => format!(
                ". {left_out} of {} runs are left out of the bounds ({}), since the generator fell behind or requests failed in them",
                runs + left_out,
                self.names_left_out()
            ),
        }
    }

    /// Names of the runs that are left out, of many the first.
    fn names_left_out(&self) -> String {
        let names = answer::left_out(self.plan, self.runs, self.group);
        let (first, more) = names.split_at(names.len().min(NAMES_MAX));
        let more = if more.is_empty() { String::new() } else { format!(" and {} more", more.len()) };
        first.join(", ") + &more
    }

    fn carried(&self, what: &str) -> Option<String> {
        let unit = format!("requests per second of {what} (95 %)");
        let (least, most) = (self.bounds.at_least_per_s.map(floor), self.bounds.at_most_per_s.map(ceiling));
        match (least, most) {
            (Some(least), Some(most)) => {
                Some(format!("carries at least {least} and at most {most} {unit}{}", self.overloaded()))
            }
            (Some(least), None) => Some(format!(
                "carries at least {least} {unit}; no upper bound: no measured rate overloaded it for certain"
            )),
            (None, Some(most)) => Some(format!(
                "carries at most {most} {unit}{}; a lower bound is not certain yet",
                self.overloaded()
            )),
            (None, None) => None,
        }
    }

    /// Where the bounds are wide: what lies between them, as it was completed at a rate that is too high.
    fn overloaded(&self) -> String {
        let BoundsRecord { at_least_per_s, at_most_per_s, in_overload_per_s, .. } = *self.bounds;
        let is_wide = at_most_per_s.is_some_and(|most| most > WIDE * at_least_per_s.unwrap_or(0.0));
        let done = in_overload_per_s.filter(|_| is_wide).map(nearest);
        done.map_or_else(String::new, |done| {
            format!(", most likely about {done}, which it completed when overloaded")
        })
    }

    fn no_bounds(&self, what: &str) -> String {
        let BoundsRecord { runs, left_out, .. } = *self.bounds;
        let why = match (runs, left_out) {
            _ if Unanswered::of(self.own_cells()).is_some_and(|found| found.is_unused()) => format!(
                "no request was answered within the timeout of {} s at any rate, and the server had nothing to do",
                self.plan.settings.timeout_s
            ),
            (0, left_out) => {
                format!("in all {left_out} runs the generator fell behind or most requests failed")
            }
            (runs, left_out) => self.why_runs_are_too_few(runs, left_out),
        };
        format!("No bound can be given for {what}: {why}")
    }

    fn why_runs_are_too_few(&self, runs: u32, left_out: u32) -> String {
        let seconds = self.plan.settings.duration_s;
        let too_short = answer::too_short(self.plan, self.runs, self.group);
        let why = match () {
            () if 2 * too_short > runs => format!(
                "{too_short} of {} too short to tell whether the response settles, which takes {SECONDS_MIN} s and {ARRIVALS_MIN} \
                 arrivals; they last {seconds} s (--duration)",
                counted(runs)
            ),
            () if self.has_few_runs() => {
                format!("{} too few: a bound needs three at one rate that agree", counted(runs))
            }
            () => format!("{} made, and no rate has three that agree", counted(runs)),
        };
        if left_out == 0 {
            return why;
        }
        let cause = "in which the generator fell behind or most requests failed";
        let is = if left_out == 1 { "is" } else { "are" };
        format!("{why}, and {left_out} more, {cause}, {is} left out")
    }

    /// Where the connections and not the server may have been the end.
    fn connections(&self) -> String {
        self.bounds.connections.map_or_else(String::new, |busy| {
            format!(
                ". All {busy} connections were busy and the CPUs were not: more connections may carry more (--max-sessions {})",
                2.0 * busy
            )
        })
    }

    /// Other load takes CPU time, and makes requests dearer by what it does to caches: without it a server carries more than the
    /// time alone says, so that the upper end is not known.
    fn neighbours(&self) -> String {
        let took = match self.bounds.taken_percent {
            Some(taken) if taken < NEIGHBOURS_MIN => "less than 1 %".to_owned(),
            Some(taken) => format!("{taken:.0} %"),
            None => return String::new(),
        };
        // What overload alone says of it would contradict the missing lower bound.
        let is_notable = self.bounds.taken_percent.is_some_and(|taken| taken >= NOTABLE);
        let known = self.bounds.at_least_per_s.zip(self.bounds.by_itself_per_s).filter(|_| is_notable);
        let alone =
            known.map(|(least, alone)| format!("; without it, at least {}", floor(alone.low.max(least))));
        let alone = alone.unwrap_or_default();
        format!("; other load took {took} of its CPUs on average{alone}")
    }
}

/// `1 run is`, `2 runs are`.
fn counted(runs: u32) -> String {
    if runs == 1 { "1 run is".to_owned() } else { format!("{runs} runs are") }
}

/// Why trust ends where it does, and what was overlooked on the way there.
pub(super) fn trust_reason(limit: &TrustLimit) -> String {
    let overlooked = limit.overlooked.iter().map(|untrusted| format!("overlooked: {untrusted}"));
    let parts: Vec<String> = limit.end.iter().map(ToString::to_string).chain(overlooked).collect();
    parts.join("; ")
}
