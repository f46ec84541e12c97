//! What the study needs to know beside parts and repeats, as it stands in its plan.

pub use crate::published::MachineRecord;
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Setting {
    /// Servers, in their order; those that stand are private.
    pub targets: Vec<TargetRecord>,
    /// What the part `rates` asks.
    pub workload: String,
    /// Text of the file that the workload is named by, where it is one of the user's.
    pub workload_file: Option<String>,
    pub runs_of_start: u32,
    /// Of which share of the requests, in percent, the server itself tells the execution time; `None`: probes stand for the network.
    pub mu_percent: Option<f64>,
    /// Load before measuring begins, seconds.
    pub warm_up_s: f64,
    /// Measured time of a run, seconds.
    pub duration_s: f64,
    /// Age at which a request is given up, seconds.
    pub timeout_s: f64,
    /// Whether all targets get the same arrivals at the same instants.
    pub duet: bool,
    pub data: DataRecord,
    /// Buffer pool of private servers, percent of the tables that the statement asks.
    pub pool_percent: f64,
    /// CPUs of private servers, as a list; empty for all.
    pub server_cpus: String,
    /// CPUs of the load threads; empty where they run on any.
    pub generator_cpus: Vec<usize>,
    /// Whether targets may differ in settings and data.
    pub may_differ: bool,
    /// Where all this ran.
    pub machine: MachineRecord,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TargetRecord {
    /// Its name in levels and figures: t1, t2.
    pub name: String,
    /// How it is reached, without password: a URL, `sandbox:NAME`, or `private`.
    pub url: String,
    /// The shell command that starts it anew, where it is not ours.
    pub reset: Option<String>,
}

/// What data a private server holds.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct DataRecord {
    /// NUM_EBS of TPC-W.
    pub ebs: u32,
    /// NUM_ITEMS of TPC-W.
    pub items: u32,
    pub seed: u64,
}

/// What a target of a study of its own servers is called where others have a URL.
pub const PRIVATE: &str = "private";

impl TargetRecord {
    /// Whether it lives as long as the study.
    pub fn is_private(&self) -> bool {
        self.url == PRIVATE
    }

    /// Whether it runs on this machine and is ours to start.
    pub fn is_here(&self) -> bool {
        self.is_private() || self.url.starts_with("sandbox:")
    }

    /// Whether it can be started anew.
    pub fn restarts(&self) -> bool {
        self.is_here() || self.reset.is_some()
    }

    pub fn words(&self) -> String {
        if self.is_private() { self.name.clone() } else { format!("{} ({})", self.name, self.url) }
    }
}

impl Setting {
    /// Which start of its server a repeat belongs to, and which run of that it is, both from 1.
    pub fn start_and_run(&self, repeat: u32) -> (u32, u32) {
        let runs = self.runs_of_start.max(1);
        ((repeat.saturating_sub(1)) / runs + 1, (repeat.saturating_sub(1)) % runs + 1)
    }

    /// Whether servers can be filled and restarted at will.
    pub fn is_private(&self) -> bool {
        self.targets.iter().all(TargetRecord::is_private)
    }

    /// Whether all servers are started anew; where one is not, repeats of all are runs of one start.
    pub fn restarts(&self) -> bool {
        self.targets.iter().all(TargetRecord::restarts)
    }

    /// What the name of a figure ends with that is of one target of several at once.
    pub fn of_target(&self, target: usize) -> String {
        match self.targets.get(target) {
            Some(record) if self.duet => format!("@{}", record.name),
            _ => String::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repeats_are_runs_of_one_start_after_another() {
        let setting = Setting { runs_of_start: 3, ..Setting::default() };
        let all: Vec<(u32, u32)> = (1..=7).map(|repeat| setting.start_and_run(repeat)).collect();
        assert_eq!(all, [(1, 1), (1, 2), (1, 3), (2, 1), (2, 2), (2, 3), (3, 1)]);
        assert_eq!(Setting::default().start_and_run(2), (2, 1));
    }
}
