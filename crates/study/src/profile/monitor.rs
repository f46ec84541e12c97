//! What a study asks of a server and its machine beside a load, for whoever wants to know what that costs.

use super::StudyError;
use super::judge::Observer;
use super::states::States;
use evenkeel_core::Nanos;
use evenkeel_os::Stop;
use evenkeel_sense::sampler::SensePlan;
use evenkeel_site::server::Target;

/// It ends with the load, and at the latest after so long.
const LONGEST: Nanos = Nanos::from_secs(3_600);

pub(crate) struct Monitor {
    observer: Observer,
    states: Option<States>,
}

impl Monitor {
    /// Begins to watch a server on this machine.
    pub fn start(target: &Target, server_pid: u32, stop: &Stop) -> Result<Self, StudyError> {
        let plan = SensePlan {
            domain: None,
            server_pid: Some(server_pid),
            generator_cpus: None,
            data_dir: None,
            delay: Nanos::ZERO,
            duration: LONGEST,
            counters: false,
        };
        Ok(Self { observer: Observer::start(plan, target, stop)?, states: States::look(target, stop) })
    }

    pub fn end(self, stop: &Stop) {
        self.observer.finish(stop);
        self.states.and_then(States::finish);
    }
}
