#[derive(Clone, Debug, PartialEq)]
pub struct Observation {
    pub target: usize,
    /// Block that it belongs to: the start of its server with that number.
    pub start: u32,
    /// Number of the run of its start. Runs of two targets with the same numbers were made side by side, or one soon after the other.
    pub run: u32,
    pub tau_ms: f64,
    pub seen: Seen,
}

/// What was seen around a run; what was not available is `None`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Seen {
    /// What a request spends on its way between client and server, without waiting for a CPU.
    pub network_ms: Option<f64>,
    pub reads: Option<f64>,
    /// Pages that it reads from disk by the pages that its plan touches and the room for them, which nobody measured: where requests
    /// overlap, and one by one.
    pub foretold: Option<(f64, f64)>,
    pub under_way: Option<f64>,
    pub read_ms: Option<f64>,
    pub rows: Option<f64>,
    /// What the threads of the server that could run waited for a CPU, for each request.
    pub cpu_wait_ms: Option<f64>,
    pub theta_percent: Option<f64>,
    /// CPU time that the hypervisor took of the server's CPUs, percent.
    pub stolen_percent: Option<f64>,
    /// CPU time that others took of them, percent.
    pub neighbours_percent: Option<f64>,
    /// The shape of all plans as one number, the same wherever they are the same.
    pub plan: Option<u64>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Compared {
    Alike(String),
    Different(String),
    Unknown(String),
}

impl Compared {
    pub fn words(&self) -> &str {
        match self {
            Self::Alike(words) | Self::Different(words) | Self::Unknown(words) => words,
        }
    }
}

/// What is known of the slowest and the fastest target besides their runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Facts {
    pub plans: Compared,
    pub pages: Compared,
    pub pools_differ: bool,
    /// Whether one of them is on another machine, as far as can be seen, and the delay of its network known by small packets alone.
    pub by_probes: bool,
}
