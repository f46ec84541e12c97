//! What a study says first: the bounds in one sentence, and in a second how far its response times can be trusted.

use crate::store::format::{BoundsRecord, PlanFile};
use evenkeel_core::caveat::threshold::NEIGHBOURS_MIN;
use evenkeel_core::digits::{between, ceiling, floor, nearest};
use evenkeel_core::statistics::Estimate;
use evenkeel_core::trust::{Capacity, TrustLimit};

/// More runs than these are not named one by one in a sentence.
const NAMES_MAX: usize = 4;

/// All that the sentences are made of.
pub(super) struct Findings<'a> {
    pub plan: &'a PlanFile,
    /// Series that differ in the target alone.
    pub group: &'a [usize],
    pub bounds: &'a BoundsRecord,
    /// What is carried within trust and objective.
    pub capacity: Option<&'a Capacity>,
    pub limit: &'a TrustLimit,
    /// Names of the runs that are left out of the bounds.
    pub left_out: &'a [String],
    /// Where nothing was answered at any rate, with the server unused: nothing says what is carried.
    pub unanswered: bool,
    /// Whether anything is measured.
    pub is_measured: bool,
}

impl Findings<'_> {
    /// What is carried.
    pub(super) fn carries(&self) -> String {
        if self.is_measured { self.bounds_sentence() } else { "Nothing is measured yet".to_owned() }
    }

    /// How far response times can be trusted.
    pub(super) fn trusts(&self) -> String {
        if self.is_measured { self.trust_sentence() + &self.left_out() } else { String::new() }
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
        let (first, more) = self.left_out.split_at(self.left_out.len().min(NAMES_MAX));
        let more = if more.is_empty() { String::new() } else { format!(" and {} more", more.len()) };
        first.join(", ") + &more
    }

    fn bounds_sentence(&self) -> String {
        let what = &self.plan.series[self.group[0]].workload;
        let Some(carried) = self.carried(what) else { return self.no_bounds(what) };
        let who = match self.group.len() {
            1 => "This server".to_owned(),
            servers => format!("Each of these {servers} servers"),
        };
        let parts = [Some(format!("{who} {carried}")), self.p95(), self.cpu(), self.neighbours()];
        parts.into_iter().flatten().collect::<Vec<_>>().join("; ")
    }

    fn carried(&self, what: &str) -> Option<String> {
        let unit = format!("requests per second of {what} (95 %)");
        let (least, most) = (self.bounds.at_least_per_s.map(floor), self.bounds.at_most_per_s.map(ceiling));
        match (least, most) {
            (Some(least), Some(most)) => Some(format!("carries at least {least} and at most {most} {unit}")),
            (Some(least), None) => {
                Some(format!("carries at least {least} {unit}, and no rate is known yet to be too much"))
            }
            (None, Some(most)) => {
                Some(format!("carries at most {most} {unit}, and no rate is known yet to be carried"))
            }
            (None, None) => None,
        }
    }

    fn no_bounds(&self, what: &str) -> String {
        let BoundsRecord { runs, left_out, .. } = *self.bounds;
        let why = match (runs, left_out) {
            _ if self.unanswered => format!(
                "no request was answered within the timeout of {} s at any rate, and the server had nothing to do",
                self.plan.settings.timeout_s
            ),
            (0, left_out) => {
                format!("in all {left_out} runs the generator fell behind or most requests failed")
            }
            (runs, 0) => format!("{} too few, since a rate needs three that agree", counted(runs)),
            (runs, left_out) => format!(
                "{} too few, since a rate needs three that agree, and {left_out} more, in which the generator fell behind or most requests failed, {} left out",
                counted(runs),
                if left_out == 1 { "is" } else { "are" }
            ),
        };
        format!("No bound can be given for {what}: {why}")
    }

    fn p95(&self) -> Option<String> {
        let (below, rate) = (self.bounds.p95_below_ms?, self.bounds.p95_at_per_s?);
        Some(format!("p95 below {} ms at {}", ceiling(below), nearest(rate)))
    }

    fn cpu(&self) -> Option<String> {
        let range = self.bounds.work_of("cpu_ms")?.range?;
        Some(format!("one request takes {} ms of CPU", between(range.low, range.high)))
    }

    fn neighbours(&self) -> Option<String> {
        let took = match self.bounds.taken_percent {
            Some(taken) if taken < NEIGHBOURS_MIN => "neighbours took less than 1 % of its CPUs".to_owned(),
            Some(taken) => format!("neighbours took {taken:.0} % of its CPUs"),
            None => return None,
        };
        let by_itself = self
            .bounds
            .by_itself_per_s
            .map(|range| format!(", by itself expect {}", between(range.low, range.high)));
        Some(took + &by_itself.unwrap_or_default())
    }

    fn trust_sentence(&self) -> String {
        let objective = self.plan.settings.objective_p95_ms;
        match (self.capacity, objective) {
            (Some(capacity), Some(objective)) => format!(
                "At p95 below {objective} ms it carries {}, and response times can be trusted up to {}",
                interval(&capacity.throughput),
                self.trusted(capacity)
            ),
            (Some(capacity), None) => {
                format!("Response times can be trusted up to {}", self.trusted(capacity))
            }
            (None, Some(objective)) if self.limit.rate.is_some() => {
                format!("The objective of {objective} ms is met at no measured rate that can be trusted")
            }
            (None, _) => {
                format!("Response times can be trusted at no measured rate: {}", trust_reason(self.limit))
            }
        }
    }

    fn trusted(&self, capacity: &Capacity) -> String {
        let rate = nearest(self.limit.rate.unwrap_or(capacity.rate));
        let at_least = if self.limit.end.is_none() { ", the highest measured" } else { "" };
        let theta = match self.limit.utilisation {
            Some(theta) => format!(", a CPU utilisation of {theta:.0} %"),
            None => "; the CPU utilisation cannot be seen from here".to_owned(),
        };
        format!("{rate} per second{at_least}{theta}{}", overlooked(self.limit))
    }
}

/// `1 run is`, `2 runs are`.
fn counted(runs: u32) -> String {
    if runs == 1 { "1 run is".to_owned() } else { format!("{runs} runs are") }
}

/// What is not trusted below the limit, so that nobody reads the limit as a promise for every rate below it.
fn overlooked(limit: &TrustLimit) -> String {
    let each: Vec<String> = limit.overlooked.iter().map(ToString::to_string).collect();
    if each.is_empty() { String::new() } else { format!("; of lower rates not trusted: {}", each.join("; ")) }
}

/// `41.2 (40.8 to 41.6)`.
fn interval(estimate: &Estimate) -> String {
    let mean = nearest(estimate.mean);
    match (estimate.low(), estimate.high()) {
        (Some(low), Some(high)) => format!("{mean} ({} to {})", nearest(low), nearest(high)),
        _ => format!("{mean} (one run, no interval)"),
    }
}

/// Why trust ends where it does, and what was overlooked on the way there.
pub(super) fn trust_reason(limit: &TrustLimit) -> String {
    let overlooked = limit.overlooked.iter().map(|untrusted| format!("overlooked: {untrusted}"));
    let parts: Vec<String> = limit.end.iter().map(ToString::to_string).chain(overlooked).collect();
    parts.join("; ")
}
