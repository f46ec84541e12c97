//! An experiment in real time: a process for each host, in front of one simulated array, with fio as its clients.

use super::fio;
use crate::probe::Started;
use crate::published::{DiskFile, Host, HostFile, HostStatus, Periods, Result, While, WindowFile, Workplace};
use evenkeel_core::share::experiment::{Experiment, Treatment};
use evenkeel_core::share::simulation::{DiskPlan, HostPlan, Row, Stretch, Trace};
use evenkeel_os::clock::Clock;
use evenkeel_share::backing::simulated;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Bytes of each disk, of which nothing is written unless a client writes.
const DISK: &str = "256M";
/// Window of who has no law: nothing is held back.
const FREE: f64 = 4_096.0;
/// How often hosts are asked in a period.
const LOOKS: f64 = 5.0;
/// Time that clients have to end after the experiment.
const PATIENCE_S: f64 = 10.0;

/// A run under one way. Its files go to `folder`, which must be empty.
pub struct Live<'a> {
    pub experiment: &'a Experiment,
    pub way: Treatment,
    pub period_s: f64,
    pub seed: u64,
    pub folder: &'a Path,
}

struct Visit {
    host: usize,
    disk: usize,
    stretch: Stretch,
    /// I/Os it keeps outstanding.
    depth: u32,
}

impl Live<'_> {
    /// Runs it; `None` where somebody asked to stop.
    pub fn run(&self, workplace: &Workplace<'_>) -> Result<Option<Trace>> {
        simulated::create(&self.array(), &self.experiment.array).doing(|| "making the array")?;
        let hosts = self.start(workplace)?;
        let trace = self.play(workplace, &hosts)?;
        hosts.into_iter().try_for_each(|host| host.stop())?;
        Ok(trace)
    }

    fn array(&self) -> PathBuf {
        self.folder.join("array.sim")
    }

    fn start(&self, workplace: &Workplace<'_>) -> Result<Vec<Box<dyn Host>>> {
        let started = self.experiment.hosts.iter().enumerate().map(|(place, plan)| {
            let path = self.folder.join(format!("host{place}.toml"));
            self.config(place, plan).write(&path)?;
            workplace.program.host(&path)
        });
        started.collect()
    }

    fn config(&self, place: usize, plan: &HostPlan) -> HostFile {
        let held = plan.reports && self.way != Treatment::Uncontrolled;
        let (law, initial, most) = if held {
            (self.way.name(), self.experiment.law(self.way).initial(), self.experiment.most)
        } else {
            ("fixed", FREE, FREE)
        };
        let (threshold_s, period_s) = (self.experiment.threshold_s, self.period_s);
        let disk = |(number, disk): (usize, &DiskPlan)| DiskFile {
            name: format!("disk{number}"),
            backing: self.folder.join(format!("host{place}-{number}.img")),
            size: Some(DISK),
            // The published law has its constant K in the shares.
            share: self.experiment.k * disk.shares,
            array: self.array(),
        };
        HostFile {
            name: format!("host{place}"),
            nbd: Some("127.0.0.1:0"),
            window: WindowFile { law, threshold_s, period_s, initial, most },
            slots: held.then(|| self.folder.join("slots")),
            disks: plan.disks.iter().enumerate().map(disk).collect(),
        }
    }

    /// When which client is there, the first first.
    fn visits(&self) -> Vec<Visit> {
        let mut visits = Vec::new();
        for (host, plan) in self.experiment.hosts.iter().enumerate() {
            for (disk, of) in plan.disks.iter().enumerate() {
                let spells = of.spells(self.experiment.duration_s);
                visits.extend(spells.into_iter().map(|(stretch, depth)| Visit {
                    host,
                    disk,
                    stretch,
                    depth,
                }));
            }
        }
        visits.sort_by(|a, b| b.stretch.0.total_cmp(&a.stretch.0));
        visits
    }

    fn play(&self, workplace: &Workplace<'_>, hosts: &[Box<dyn Host>]) -> Result<Option<Trace>> {
        let mut watch = Watch::new(hosts.len(), self.period_s, self.experiment.k);
        let (mut visits, mut clients, mut made) = (self.visits(), Vec::new(), 0);
        let nap = Duration::from_secs_f64(self.period_s / LOOKS);
        let clock = Clock::start();
        loop {
            let now_s = clock.now().as_secs_f64();
            if workplace.stop.is_set() {
                return Ok(None);
            }
            while let Some(visit) = visits.pop_if(|visit| visit.stretch.0 <= now_s) {
                clients.push(self.visit(&visit, hosts, now_s, made)?);
                made += 1;
            }
            for (place, host) in hosts.iter().enumerate() {
                watch.look(place, host.status()?, clock.now().as_secs_f64());
            }
            for over in clients.extract_if(.., |client| !client.runs()) {
                over.ended(fio::PATIENCE, workplace.stop)?;
            }
            let over_s = now_s - self.experiment.duration_s;
            if over_s > 0.0 && (clients.is_empty() || over_s > PATIENCE_S) {
                return Ok(Some(watch.trace));
            }
            std::thread::sleep(nap);
        }
    }

    fn visit(&self, visit: &Visit, hosts: &[Box<dyn Host>], now_s: f64, number: u64) -> Result<Started> {
        let until_s = visit.stretch.1.min(self.experiment.duration_s);
        let uri = format!("nbd://{}/disk{}", hosts[visit.host].nbd(), visit.disk);
        let disk = &self.experiment.hosts[visit.host].disks[visit.disk];
        let plan = DiskPlan { depth: visit.depth, ..disk.clone() };
        let time = Duration::from_secs_f64((until_s - now_s).max(0.1));
        fio::start(self.folder, &uri, &plan, time, self.seed + number)
    }
}

/// What hosts have said of their periods.
struct Watch {
    trace: Trace,
    period_s: f64,
    /// What hosts have in their shares beside these.
    k: f64,
    seen: Periods,
}

impl Watch {
    fn new(hosts: usize, period_s: f64, k: f64) -> Self {
        Self { trace: Trace::new(hosts, period_s), period_s, k, seen: Periods::new(hosts) }
    }

    /// Adds a period that is new. It ended at most one look ago.
    fn look(&mut self, host: usize, status: Option<HostStatus>, now_s: f64) {
        let Some(status) = status else { return };
        let Some((window, seconds)) = self.seen.look(host, &status) else { return };
        // A period that was not seen is left out.
        let seconds = seconds.filter(|seconds| *seconds < 1.5 * self.period_s).unwrap_or(self.period_s);
        self.trace.add(Row {
            unfair: None,
            at_s: now_s,
            host,
            window: status.window,
            outstanding: status.outstanding,
            wanted: status.wanted(),
            used: status.used_shares(window) / self.k,
            completions: (status.ios_per_s * seconds).round() as u64,
            latency_s: status.latency_s,
            // Every client here has I/Os of cost 1.
            cost_per_s: status.ios_per_s,
            device_s: 0.0,
            seconds,
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::published::DiskStatus;
    use evenkeel_core::share::experiment::experiments;

    fn live(experiment: &Experiment, way: Treatment) -> Live<'_> {
        Live { experiment, way, period_s: 0.5, seed: 1, folder: Path::new("/a \"b\"") }
    }

    #[test]
    fn a_host_is_told_its_law_its_disks_and_the_common_array() {
        let experiment = experiments().swap_remove(4);
        let file = live(&experiment, Treatment::Parda).config(0, &experiment.hosts[0]);
        assert_eq!((file.window.law, file.window.most, file.disks.len()), ("parda", 64.0, 2));
        assert!((file.disks[0].share - 4.0).abs() < 1e-9, "K = 0.2 of 20 shares");
        assert_eq!(file.disks[0].array, Path::new("/a \"b\"/array.sim"));
        assert_eq!(file.slots.as_deref(), Some(Path::new("/a \"b\"/slots")));
    }

    #[test]
    fn who_keeps_to_no_law_is_not_held_back_and_tells_nobody() {
        let experiment = experiments().swap_remove(3);
        let file = live(&experiment, Treatment::Evenkeel).config(5, &experiment.hosts[5]);
        assert_eq!((file.window.law, file.slots), ("fixed", None));
        assert!(file.window.initial >= f64::from(experiment.hosts[5].disks[0].depth));
    }

    #[test]
    fn a_client_that_asks_for_less_is_another_client() {
        let experiment = experiments().pop().unwrap();
        let visits = live(&experiment, Treatment::Evenkeel).visits();
        let of_two: Vec<_> = visits
            .iter()
            .rev()
            .filter(|visit| visit.host == 1)
            .map(|visit| (visit.stretch, visit.depth))
            .collect();
        assert_eq!(of_two, [((0.0, 300.0), 12), ((300.0, 380.0), 2), ((380.0, 500.0), 12)]);
    }

    #[test]
    fn a_period_is_counted_once_and_its_shares_are_used_as_far_as_the_window_that_it_had_was_filled() {
        let mut watch = Watch::new(1, 0.5, 0.2);
        let status = |at_s, window| {
            let disk = DiskStatus { shares: 0.8, wanted: 8.0, ..DiskStatus::default() };
            Some(HostStatus { at_s, window, ios_per_s: 100.0, disks: vec![disk], ..HostStatus::default() })
        };
        for (at_s, window, now_s) in [(1.0, 16.0, 0.1), (1.0, 16.0, 0.2), (1.5, 16.0, 0.6), (9.0, 8.0, 8.1)] {
            watch.look(0, status(at_s, window), now_s);
        }
        let rows = &watch.trace.rows;
        assert_eq!(rows.iter().map(|row| row.completions).collect::<Vec<_>>(), [50, 50, 50]);
        let used: Vec<f64> = rows.iter().map(|row| row.used).collect();
        assert!(used.iter().all(|used| (used - 2.0).abs() < 1e-9), "half of 0.8 / K: {used:?}");
    }
}
