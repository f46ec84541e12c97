use super::Severity::{Doubt, Note};
use super::{CLOCK_MIN, Caveat, HELD_BACK_MAX, OTHER_LOAD_MAX, STEAL_MAX, plural};

impl Caveat {
    pub fn steal(percent: f64) -> Option<Self> {
        let text = format!(
            "The hypervisor took {percent:.1} % of the CPU time away; the figures depend on the neighbours of \
             this machine. Measure on a quieter host or repeat at another time."
        );
        (percent > STEAL_MAX).then(|| {
            Self::new("steal", Doubt, text)
                .with("steal_percent", percent)
                .with("tolerated_percent", STEAL_MAX)
        })
    }

    pub fn other_load(percent: f64) -> Option<Self> {
        let text = format!(
            "Programs other than the server and the generator used {percent:.1} % of the machine's CPU. \
             Stop them and repeat."
        );
        (percent > OTHER_LOAD_MAX).then(|| {
            Self::new("other-load", Doubt, text)
                .with("other_load_percent", percent)
                .with("tolerated_percent", OTHER_LOAD_MAX)
        })
    }

    /// The server was held back by what its machine or its control group allows it: from the share of its CPUs' time in percent
    /// for which a quota held it back, that quota in CPUs, how often heat slowed a CPU down, and the clock in percent of the
    /// fastest.
    pub fn throttled(
        held: Option<f64>,
        quota: Option<f64>,
        heat: Option<u64>,
        clock: Option<f64>,
    ) -> Option<Self> {
        let quota = held.zip(quota).filter(|(held, _)| *held > HELD_BACK_MAX);
        let clock = clock.filter(|clock| *clock < CLOCK_MIN);
        let heat = heat.filter(|heat| *heat > 0);
        let all: Vec<String> = [
            quota.map(|(held, cpus)| {
                format!(
                    "its control group has a quota of {cpus:.2} CPUs, which limited it for {held:.0} % of the time"
                )
            }),
            heat.map(|heat| format!("heat slowed its CPUs down {}", plural(heat, "time", "times"))),
            clock.map(|clock| format!("its CPUs ran at {clock:.0} % of their fastest clock")),
        ]
        .into_iter()
        .flatten()
        .collect();
        let text = format!(
            "The server was throttled: {}. The figures are those of a server with these limits.",
            all.join(", and ")
        );
        (!all.is_empty()).then(|| {
            Self::new("throttled", Doubt, text)
                .with("held_by_quota_percent", quota.map(|(held, _)| held))
                .with("quota_cpus", quota.map(|(_, cpus)| cpus))
                .with("slowed_by_heat", heat.map(|heat| heat as f64))
                .with("clock_percent", clock)
        })
    }

    /// The server reads its files through the page cache, which may hide the disk; `flush_method` is how it opens its files, as
    /// it says itself.
    pub fn page_cache(flush_method: &str) -> Self {
        let text = format!(
            "The server reads its files through the page cache (innodb_flush_method is {flush_method}), which \
             may hide the disk. Set innodb_flush_method to O_DIRECT."
        );
        Self::new("page-cache", Note, text)
    }
}
