//! Quota and weight, by processes that spin. What the hypervisor takes from them is no CPU time of theirs.

use super::{BITES, Inside, judge, refused, untried};
use crate::sandbox::cgroup::Groups;
use crate::sandbox::{CpuSet, Domain, SandboxError};
use evenkeel_os::clock::monotonic;
use evenkeel_os::process::Owned;
use evenkeel_sense::cpu::{Cgroup, CpuOf};
use std::io;
use std::time::Duration;

const SPIN: [&str; 3] = ["/bin/sh", "-c", "while :; do :; done"];
/// Until processes spin, and have had a quota's first period.
const WARM_UP: Duration = Duration::from_millis(150);
/// Whole periods of a quota: whatever the part of a period in which it begins, as much comes through.
const WATCHED: Duration = Duration::from_millis(500);
const TRIES: usize = 3;
const PART: f64 = 4.0;
/// How far the part of two processes on one CPU may be from what their weights say; without weights it is further.
const NEAR_WEIGHT: f64 = 0.15;

/// CPU time of processes, in CPUs, and what the hypervisor took of the machine meanwhile.
struct Spun {
    each: Vec<f64>,
    stolen: f64,
}

impl Spun {
    fn watch(probes: &[Owned]) -> io::Result<Self> {
        std::thread::sleep(WARM_UP);
        let look = || -> io::Result<(Vec<f64>, f64)> {
            let gone = || io::Error::other("a process that spins has ended");
            let used = |probe: &Owned| Some(CpuOf::Process(probe.0.id()).read()?.busy.as_secs_f64());
            let each = probes.iter().map(used).collect::<Option<_>>().ok_or_else(gone)?;
            let steal = CpuOf::Host.read().and_then(|host| host.steal);
            Ok((each, steal.map_or(0.0, |steal| steal.as_secs_f64())))
        };
        let (begun, before) = (monotonic(), look()?);
        std::thread::sleep(WATCHED);
        let (after, took) = (look()?, (monotonic() - begun).as_secs_f64());
        let each = before.0.iter().zip(&after.0).map(|(before, after)| (after - before) / took).collect();
        Ok(Self { each, stolen: (after.1 - before.1) / took })
    }

    fn all(&self) -> f64 {
        self.each.iter().sum()
    }
}

impl Inside<'_> {
    pub(super) fn prove_quota(&self, quota: f64) -> Result<String, SandboxError> {
        let what = Domain { quota: Some(quota), ..Domain::default() }.to_string();
        let mut last = String::new();
        for attempt in 0..TRIES {
            // Where others leave too little of the CPUs for it to bite, it is tried at a part of it.
            let tried = if attempt == 0 { quota } else { quota / PART };
            self.groups.set_quota(Some(tried)).map_err(untried(&what))?;
            let count = tried.ceil() as usize;
            let probes: Vec<_> = (0..count)
                .map(|_| self.start(&SPIN, None))
                .collect::<Result<_, _>>()
                .map_err(untried(&what))?;
            let above = probes.first().and_then(|probe| Cgroup::of_process(probe.0.id())?.quota());
            if let Some(above) = above.filter(|above| *above < BITES.0 * tried) {
                let reason = format!("a group above it gives {:.0} % of a CPU at most", 100.0 * above);
                return Err(refused(&what, reason));
            }
            let before = self.groups.throttled();
            let spun = Spun::watch(&probes).map_err(untried(&what))?;
            let is_held = self.groups.throttled() > before;
            self.groups.set_quota(Some(quota)).map_err(untried(&what))?;
            match judge_quota(tried, spun.all(), is_held) {
                Ok(found) if tried < quota => {
                    return Ok(format!("{found}, tried at {}% beside other load", 100.0 * tried));
                }
                Ok(found) => return Ok(found),
                Err(reason) => last = reason,
            }
            if spun.stolen > 0.0 {
                last += &format!("; {:.0} % of a CPU were stolen meanwhile", 100.0 * spun.stolen);
            }
        }
        Err(refused(&what, last))
    }

    /// Against a process of half or twice the weight, on one CPU, with the quota away.
    pub(super) fn prove_weight(&self, weight: u32, quota: Option<f64>) -> Result<String, SandboxError> {
        let what = format!("weight={weight}");
        let untried = untried(&what);
        if quota.is_some() {
            self.groups.set_quota(None).map_err(&untried)?;
        }
        let rival_weight = if weight >= 100 { weight / 2 } else { weight * 2 };
        let rival = self.groups.beside(rival_weight).map_err(&untried)?;
        let outcome = self.judge_weight(weight, rival_weight, &rival);
        if let Some(quota) = quota {
            self.groups.set_quota(Some(quota)).map_err(&untried)?;
        }
        outcome.map_err(&untried)?.map_err(|found| refused(&what, format!("it has no effect: {found}")))
    }

    /// What was found, as an error where it is far from what the weights say, each time.
    fn judge_weight(&self, weight: u32, other: u32, rival: &Groups) -> io::Result<Result<String, String>> {
        let expected = f64::from(weight) / f64::from(weight + other);
        let mut found = String::new();
        for _ in 0..TRIES {
            let share = self.share_beside(rival)?;
            found = format!("{:.0} % of one CPU beside a process of weight {other}", 100.0 * share);
            if (share / expected - 1.0).abs() <= NEAR_WEIGHT {
                return Ok(Ok(found));
            }
        }
        Ok(Err(found))
    }

    fn share_beside(&self, rival: &Groups) -> io::Result<f64> {
        let own = CpuOf::Process(self.start(&["sleep", "60"], None)?.0.id()).cpus();
        let one: CpuSet = own.iter().flat_map(CpuSet::iter).take(1).collect();
        let beside = Inside { groups: rival, cpus: None };
        let spun = Spun::watch(&[self.start(&SPIN, Some(&one))?, beside.start(&SPIN, Some(&one))?])?;
        Ok(spun.each[0] / spun.all().max(f64::MIN_POSITIVE))
    }
}

/// Whether a quota holds: what came through is near it, or less on a machine that has other work while the kernel did hold back.
fn judge_quota(quota: f64, used: f64, is_held: bool) -> Result<String, String> {
    let least = if is_held { 0.0 } else { BITES.0 };
    judge(quota, used, (least, BITES.1), format!("processes inside got {:.1} % of a CPU", 100.0 * used))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quota_holds_where_no_more_comes_through_and_the_kernel_or_the_figure_says_why() {
        assert!(judge_quota(0.5, 0.52, false).is_ok() && judge_quota(0.5, 0.3, true).is_ok());
        assert!(judge_quota(0.5, 0.6, true).unwrap_err().contains("no effect: processes inside got 60.0 %"));
        assert!(judge_quota(0.5, 0.3, false).unwrap_err().starts_with("something else limits it"));
    }
}
