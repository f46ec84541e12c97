//! CPU time during a run: what a study used of the machine, and what others took.

use super::Result;
use crate::harness::Run;
use evenkeel_core::Nanos;
use evenkeel_os::clock::monotonic;
use evenkeel_sense::Domain;
use evenkeel_sense::cpu::{CpuReading, CpuUse};

/// What a piece of work gives, and the seconds that it takes.
pub(crate) fn timed<T>(work: impl FnOnce() -> Result<T>) -> Result<(T, f64)> {
    let began = monotonic();
    let done = work()?;
    Ok((done, (monotonic() - began).as_secs_f64()))
}

/// What was read when it began.
pub(crate) struct Watch {
    at: Nanos,
    host: Option<CpuReading>,
    /// Of the processes of the study, this one last.
    own: Vec<(u32, Option<CpuReading>)>,
}

/// What is not known is `None`, as of a process that has ended.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Used {
    pub steal_percent: Option<f64>,
    /// Of all but the study, percent of the machine.
    pub other_load_percent: Option<f64>,
    /// Of the first process of the study.
    pub first_s: Option<f64>,
}

impl Used {
    /// Adds to a run what disturbed it.
    pub fn note(&self, run: &mut Run) {
        run.set("steal_percent", self.steal_percent);
        run.set("other_load_percent", self.other_load_percent);
    }
}

impl Watch {
    /// Of these processes beside our own.
    pub fn begin(processes: impl IntoIterator<Item = u32>) -> Self {
        let (at, host) = (monotonic(), Domain::Host.read());
        let own = processes.into_iter().chain([std::process::id()]);
        Self { at, host, own: own.map(|process| (process, Domain::Process(process).read())).collect() }
    }

    pub fn end(&self) -> Used {
        let over = monotonic() - self.at;
        let used = |domain: Domain, before: &Option<CpuReading>| {
            CpuUse::between(before.as_ref()?, &domain.read()?, over)
        };
        let busy_s: Vec<Option<f64>> = (self.own.iter())
            .map(|(process, before)| Some(used(Domain::Process(*process), before)?.busy.as_secs_f64()))
            .collect();
        let host = used(Domain::Host, &self.host);
        let other_load_percent =
            host.as_ref().zip(busy_s.iter().copied().sum()).map(|(host, own_s): (_, f64)| {
                // They are read one after the other, so that the difference may be a little below nothing.
                (100.0 * (host.busy.as_secs_f64() - own_s) / (host.capacity * over.as_secs_f64())).max(0.0)
            });
        let steal_percent = host.and_then(|host| host.steal);
        Used { steal_percent, other_load_percent, first_s: busy_s.first().copied().flatten() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_study_uses_disturbs_nobody_and_of_a_process_that_has_ended_nothing_is_known() {
        let watch = Watch::begin([]);
        let other = watch.end().other_load_percent;
        assert!(other.is_none_or(|percent| (0.0..=100.5).contains(&percent)), "{other:?}");
        let used = Watch::begin([u32::MAX]).end();
        assert!(used.first_s.is_none() && used.other_load_percent.is_none(), "{used:?}");
    }
}
