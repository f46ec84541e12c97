use crate::arrivals::RATE_MAX;
use crate::caveat::threshold::LOST_MAX;

/// Share of what was offered that must be completed in the same time for a rate to count as carried; what is
/// under way at the end of a short probe is missing.
const CARRIED_MIN: f64 = 0.93;

/// The search ends where the highest rate carried and the lowest not carried are this close.
const BRACKET: f64 = 1.05;

/// It ends as well where this share of the throughput in overload is carried ...
const BELOW: f64 = 0.95;

/// ... and this multiple of it is not: the throughput in overload is then the capacity.
const ABOVE: f64 = 1.1;

/// A rough search begins with this multiple of the throughput of a closed load, which the server hardly carries.
const ROUGHLY_ABOVE: f64 = 1.5;
/// Where overload completes less than this part of a closed load, the server collapses in it.
const COLLAPSED: f64 = 0.5;

/// A gentle search begins with this rate per second.
pub const GENTLE_START: f64 = 10.0;

/// A gentle search grows twofold at most, and by this much where response times have begun to grow.
const GENTLE_GROWTH: f64 = 1.25;

/// Response times hold while the mean is below this multiple of the least so far.
const HOLD_MAX: f64 = 2.0;

/// A search that has not ended after so many probes ends with what it knows.
pub const PROBES_MAX: u32 = 20;

const RATE_MIN: f64 = 0.01;

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ProbeOutcome {
    pub rate: f64,
    /// Arrivals per second that chance made of it.
    pub offered: f64,
    pub throughput: f64,
    pub utilisation: Option<f64>,
    /// Whether the queue settled; of a probe too short to tell, whether nothing speaks against it.
    pub settled: bool,
    pub response: f64,
    pub lost: f64,
}

impl ProbeOutcome {
    pub fn carried(&self) -> bool {
        self.settled && 100.0 * self.lost <= LOST_MAX && self.throughput >= CARRIED_MIN * self.offered
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum SearchStep {
    /// Measure this rate per second for a short while and report it by [`RateSearch::observe`].
    Probe(f64),
    Found(Saturation),
    Failed(SearchFailure),
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Saturation {
    pub rate: f64,
    pub carried: f64,
    pub probes: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum SearchFailure {
    #[error("the server does not even carry {0} requests per second")]
    NothingCarried(f64),
    /// The server still carried this rate, the highest there is.
    #[error("the server carries more than {0} requests per second")]
    NoLimit(f64),
}

/// The search itself: a bracket of a rate that is carried and one that is not, closed step by step.
///
/// Without a bracket the rate grows, by as much as the utilisation leaves room for. Once a probe is not
/// carried, its throughput is a guess of the capacity: a rate a little below and one a little above are
/// tried, and where the guess is wrong (a server that breaks down in overload completes less than it could)
/// the bracket is halved on the logarithmic scale. A limit that looks like a mishap is probed a second time.
///
/// How good the result is depends on the requests in a probe: of M/M/1 servers probed for 10 s, more than 97 % are
/// found to within 5 % at a capacity of 1,000 per second and 90 % to within 10 % at 100 per second, from a thirtieth
/// of the capacity in eight and ten probes at most.
#[derive(Clone, Debug)]
pub struct RateSearch {
    start: f64,
    low: f64,
    high: f64,
    /// Whether a second probe did not carry it either.
    confirmed: bool,
    estimate: Option<f64>,
    /// Most completions per second in any probe that was not carried.
    overload: Option<f64>,
    growth: f64,
    /// Whether the throughput of one probe in overload is good enough.
    rough: bool,
    /// Least mean response time of a carried probe, of a search that must not strain the server; `None` of any other.
    gentle: Option<f64>,
    /// Throughput of a closed load; `None` where there was none.
    closed: Option<f64>,
    probes: u32,
}

impl RateSearch {
    /// Grows from this rate per second, taken into the range of possible rates.
    pub fn from_rate(start: f64) -> Self {
        let start = if start.is_nan() { 1.0 } else { start.clamp(RATE_MIN, RATE_MAX) };
        Self {
            start,
            low: 0.0,
            high: f64::INFINITY,
            confirmed: false,
            estimate: None,
            overload: None,
            growth: 2.0,
            rough: false,
            gentle: None,
            closed: None,
            probes: 0,
        }
    }

    /// Starts around the throughput of a closed load with enough clients, which needs two or three probes.
    pub fn from_closed_estimate(throughput: f64) -> Self {
        let mut search = Self::from_rate(BELOW * throughput);
        search.estimate = (throughput.is_finite() && throughput > RATE_MIN).then_some(throughput);
        search
    }

    /// For somebody who goes on from there by himself: one probe of overload, above the throughput of a closed load, and what
    /// is completed in it is taken for the saturation, or the closed throughput where the server collapses in overload. Rates are
    /// raised until there is such a probe.
    pub fn roughly_from(throughput: f64) -> Self {
        Self { rough: true, closed: Some(throughput), ..Self::from_rate(ROUGHLY_ABOVE * throughput) }
    }

    /// For a server that others use: it begins low, and rises twofold at most while response times hold. Of a `rough` one a rate
    /// that two probes in turn do not carry is enough.
    pub fn gently(rough: bool) -> Self {
        Self { rough, gentle: Some(f64::INFINITY), ..Self::from_rate(GENTLE_START) }
    }

    pub fn next(&self) -> SearchStep {
        if self.rough && self.overload.is_some_and(|overload| overload > RATE_MIN) {
            return match self.gentle.is_none() || self.confirmed {
                true => SearchStep::Found(self.saturation()),
                false => SearchStep::Probe(self.high),
            };
        }
        if self.high <= RATE_MIN {
            return SearchStep::Failed(SearchFailure::NothingCarried(self.high));
        }
        if self.low >= RATE_MAX {
            return SearchStep::Failed(SearchFailure::NoLimit(self.low));
        }
        if self.is_closed() {
            return if self.is_doubtful() {
                SearchStep::Probe(self.high)
            } else {
                SearchStep::Found(self.saturation())
            };
        }
        if self.probes < PROBES_MAX {
            return SearchStep::Probe(self.next_rate().clamp(RATE_MIN, RATE_MAX));
        }
        // Out of probes with one side open.
        SearchStep::Failed(match self.low {
            0.0 => SearchFailure::NothingCarried(self.high),
            low => SearchFailure::NoLimit(low),
        })
    }

    pub fn observe(&mut self, outcome: &ProbeOutcome) {
        self.probes += 1;
        if !outcome.rate.is_finite() || outcome.rate <= 0.0 {
            return;
        }
        if outcome.carried() {
            self.low = self.low.max(outcome.rate);
            self.growth = growth(outcome.utilisation);
            if let Some(least) = &mut self.gentle {
                *least = least.min(outcome.response);
                let holds = outcome.response <= HOLD_MAX * *least;
                self.growth = self.growth.min(if holds { 2.0 } else { GENTLE_GROWTH });
            }
            // What is carried now outweighs what was not carried before.
            if self.high <= self.low {
                self.high = f64::INFINITY;
                self.overload = None;
                self.estimate = None;
            }
        } else if outcome.rate > self.low {
            self.confirmed = outcome.rate >= 0.99 * self.high;
            self.high = self.high.min(outcome.rate);
            self.overload = Some(self.overload.unwrap_or(0.0).max(outcome.throughput));
        }
    }

    fn is_closed(&self) -> bool {
        let bracketed = self.low > 0.0 && self.high.is_finite();
        let agreed = self.overload.is_some_and(|overload| {
            // A hundredth for rounding.
            self.low >= 0.99 * BELOW * overload && self.high <= 1.01 * ABOVE * overload
        });
        bracketed && (self.high <= BRACKET * self.low || agreed || self.probes >= PROBES_MAX)
    }

    /// A rate that was not carried although less was completed there than is carried below: either the server
    /// breaks down in overload, or it was still cold, or stalled just then. A second probe tells.
    fn is_doubtful(&self) -> bool {
        let less = self.overload.is_none_or(|overload| overload < BELOW * self.low);
        less && !self.confirmed && self.probes < PROBES_MAX
    }

    /// What was completed in overload is capacity, even where chance had a queue below it look unstable; only a
    /// server that breaks down in overload completes less than it carries.
    fn saturation(&self) -> Saturation {
        let middle =
            if self.low > 0.0 { (self.low * self.high).sqrt() } else { self.overload.unwrap_or(self.high) };
        let rate = self.overload.filter(|&overload| overload >= self.low).unwrap_or(middle);
        let rate = self.closed.filter(|closed| rate < COLLAPSED * closed).unwrap_or(rate);
        Saturation { rate, carried: self.low, probes: self.probes }
    }

    fn next_rate(&self) -> f64 {
        let inside = |rate: f64| rate > self.low * 1.01 && rate < self.high / 1.01;
        let guesses =
            self.overload.or(self.estimate).into_iter().flat_map(|guess| [BELOW * guess, ABOVE * guess]);
        if let Some(guess) = guesses.filter(|&guess| guess > RATE_MIN).find(|&guess| inside(guess)) {
            return guess;
        }
        match (self.low > 0.0, self.high.is_finite()) {
            (false, false) => self.start,
            (true, false) => self.low * self.growth,
            (false, true) => self.high / 4.0,
            (true, true) => (self.low * self.high).sqrt(),
        }
    }
}

/// By how much the rate can grow at this utilisation: to 90 %, twofold where it is not known.
fn growth(utilisation: Option<f64>) -> f64 {
    match utilisation {
        Some(percent) if percent > 0.0 => (90.0 / percent).clamp(1.3, 10.0),
        _ => 2.0,
    }
}

#[cfg(test)]
mod tests;
