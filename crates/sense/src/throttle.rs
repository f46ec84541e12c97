//! A server can be held back by a quota of its control group, by heat, or by a slow clock.
//!
//! A quota hides well: the CPUs look idle while the server waits for its next period, and neither stolen time nor other
//! processes show it.

use crate::cpu::{Cgroup, CpuSet};
use crate::text;
use evenkeel_core::Nanos;
use std::path::PathBuf;

/// What is read at one instant.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ThrottleReading {
    /// Time for which quotas of the process's group and those above it held back its threads, all CPUs together; `None`
    /// where groups do not tell.
    pub held: Option<Nanos>,
    /// CPUs' worth of time that the smallest of these quotas grants; `None` without a quota.
    pub quota_cpus: Option<f64>,
    /// Times that heat slowed one of the CPUs down; `None` where they do not tell.
    pub heat: Option<u64>,
    /// Clock of the CPUs beside their fastest, their mean, 0 to 1; `None` where they do not tell.
    pub clock: Option<f64>,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Throttling {
    /// Share of the CPUs' time for which a quota held the server back, 0 to 1.
    pub held: Option<f64>,
    /// The quota, in CPUs.
    pub quota_cpus: Option<f64>,
    /// Times that heat slowed a CPU down.
    pub heat: Option<u64>,
    /// Mean clock of both readings beside the fastest, 0 to 1.
    pub clock: Option<f64>,
}

impl ThrottleReading {
    /// Of a process and the CPUs that it may use.
    pub fn of(pid: u32, cpus: &CpuSet) -> Self {
        let group = Cgroup::of_process(pid);
        Self {
            held: group.as_ref().and_then(Cgroup::held_back),
            quota_cpus: group.as_ref().and_then(Cgroup::quota),
            heat: cpus.iter().filter_map(heat).reduce(|sum, count| sum + count),
            clock: mean(cpus.iter().filter_map(clock)),
        }
    }
}

impl Throttling {
    /// Between two readings of a process on so many CPUs, so long apart.
    pub fn between(before: &ThrottleReading, after: &ThrottleReading, elapsed: Nanos, cpus: f64) -> Self {
        let time = elapsed.as_secs_f64() * cpus;
        let held = before.held.zip(after.held).filter(|(before, after)| after >= before && time > 0.0);
        Self {
            held: held.map(|(before, after)| ((after - before).as_secs_f64() / time).min(1.0)),
            quota_cpus: after.quota_cpus,
            heat: before.heat.zip(after.heat).and_then(|(before, after)| after.checked_sub(before)),
            clock: mean([before.clock, after.clock].into_iter().flatten()),
        }
    }
}

fn folder(cpu: u32) -> PathBuf {
    PathBuf::from(format!("/sys/devices/system/cpu/cpu{cpu}"))
}

fn heat(cpu: u32) -> Option<u64> {
    text::read_line(folder(cpu).join("thermal_throttle/core_throttle_count"))?.parse().ok()
}

fn clock(cpu: u32) -> Option<f64> {
    let kilohertz = |name: &str| text::read_line(folder(cpu).join("cpufreq").join(name))?.parse::<f64>().ok();
    let share = kilohertz("scaling_cur_freq")? / kilohertz("cpuinfo_max_freq")?;
    share.is_finite().then(|| share.clamp(0.0, 1.0))
}

fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let (sum, count) = values.fold((0.0, 0), |(sum, count), value| (sum + value, count + 1));
    (count > 0).then(|| sum / f64::from(count))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reading(held_ms: u64, clock: f64) -> ThrottleReading {
        let held = Some(Nanos::from_millis(held_ms));
        ThrottleReading { held, quota_cpus: Some(0.5), heat: Some(3), clock: Some(clock) }
    }

    #[test]
    fn the_share_held_back_is_of_the_time_of_all_cpus() {
        let seen = Throttling::between(&reading(100, 0.4), &reading(600, 0.8), Nanos::from_secs(1), 2.0);
        assert_eq!((seen.held, seen.quota_cpus, seen.heat), (Some(0.25), Some(0.5), Some(0)));
        assert!((seen.clock.unwrap_or_default() - 0.6).abs() < 1e-12);
    }

    #[test]
    fn a_counter_that_fell_and_one_that_is_not_there_say_nothing() {
        let fell = Throttling::between(&reading(600, 1.0), &reading(100, 1.0), Nanos::from_secs(1), 1.0);
        assert_eq!(fell.held, None);
        let none = ThrottleReading::default();
        assert_eq!(Throttling::between(&none, &none, Nanos::ZERO, 0.0), Throttling::default());
    }
}
