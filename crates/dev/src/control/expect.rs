//! What is expected of a controller in a stretch of time, and what of it a run did not meet.

use super::simulation::Trace;
use evenkeel_core::Nanos;

/// Stretch over which throughput is averaged before it is judged.
const SMOOTH: Nanos = Nanos::from_millis(500);

#[derive(Clone, Copy, Debug)]
pub struct Expect {
    pub from: Nanos,
    pub until: Nanos,
    /// Throughput averaged over half a second reaches this share of the best within this time.
    pub settled: Option<(Nanos, f64)>,
    /// Once it should have settled, it is never below this share for longer than this.
    pub never_below: Option<(f64, Nanos)>,
    /// At most this share of the transactions that were possible is lost.
    pub regret_below: f64,
    pub limits: (u32, u32),
}

impl Expect {
    /// Nothing yet of the time from one second to another.
    pub const fn between(from_s: u64, until_s: u64) -> Self {
        Self {
            from: Nanos::from_secs(from_s),
            until: Nanos::from_secs(until_s),
            settled: None,
            never_below: None,
            regret_below: 1.0,
            limits: (1, u32::MAX),
        }
    }

    /// The same, settled within so many seconds near this share of the best.
    pub const fn settled(self, within_s: u64, near: f64) -> Self {
        Self { settled: Some((Nanos::from_secs(within_s), near)), ..self }
    }

    /// The same, and from then on never below a share of the best for longer than so many seconds.
    pub const fn never_below(self, share: f64, longer_s: u64) -> Self {
        Self { never_below: Some((share, Nanos::from_secs(longer_s))), ..self }
    }

    pub fn broken_by(&self, trace: &Trace) -> Vec<String> {
        let within = self.part(trace);
        let mut broken = Vec::new();
        broken.extend(self.late(&within));
        broken.extend(self.low(&within));
        let regret = trace.regret(self.from, self.until);
        if regret > self.regret_below {
            broken.push(format!("{regret:.3} lost"));
        }
        let (low, high) = self.limits;
        if let Some(step) = within.steps.iter().find(|step| !(low..=high).contains(&step.limit)) {
            broken.push(format!("limit {} at {:?}", step.limit, step.start));
        }
        broken
    }

    fn part(&self, trace: &Trace) -> Trace {
        let within = |start: Nanos, end: Nanos| start >= self.from && end <= self.until;
        Trace { steps: trace.steps.iter().filter(|step| within(step.start, step.end)).copied().collect() }
    }

    fn late(&self, within: &Trace) -> Option<String> {
        let (time, near) = self.settled?;
        let in_time = within.steps.iter().filter(|step| step.end <= self.from + time).copied().collect();
        let best = Trace { steps: in_time }.shares_from(self.from, SMOOTH).into_iter().fold(0.0, f64::max);
        (best < near).then(|| format!("at most {best:.3} of the best within {time:?}"))
    }

    fn low(&self, within: &Trace) -> Option<String> {
        let (floor, longest) = self.never_below?;
        let settled = self.settled.map_or(self.from, |(time, _)| self.from + time);
        let mut since: Option<Nanos> = None;
        for step in within.steps.iter().filter(|step| step.start >= settled) {
            if step.share() >= floor {
                since = None;
                continue;
            }
            let began = *since.get_or_insert(step.start);
            if step.end - began > longest {
                return Some(format!("below {floor} from {began:?} on"));
            }
        }
        None
    }
}
