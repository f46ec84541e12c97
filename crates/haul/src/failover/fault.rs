//! What happens to a primary.

use super::group::Node;
use crate::HaulError;
use evenkeel_os::process::signal;

const SIGKILL: i32 = 9;
const SIGCONT: i32 = 18;
const SIGSTOP: i32 = 19;

evenkeel_site::words! {
    /// What happens to a primary.
    #[derive(Default)]
    Fault {
        /// It is shut down in order.
        Stop = "stop",
        /// Its process is killed.
        #[default]
        Kill = "kill",
        /// Its process stands still, with all connections open.
        Freeze = "freeze",
        /// Its replicas receive nothing for a second, then it is killed.
        Lag = "lag",
    }
}

impl Fault {
    /// Makes it happen to the primary.
    pub(super) fn strike(self, primary: &mut Node, replicas: &mut [Node]) -> Result<(), HaulError> {
        match self {
            Self::Stop => primary.stop(),
            Self::Kill => {
                signal(primary.pid(), SIGKILL);
            }
            Self::Freeze => {
                signal(primary.pid(), SIGSTOP);
            }
            Self::Lag => {
                for replica in replicas {
                    replica.sql("STOP SLAVE IO_THREAD")?;
                }
                std::thread::sleep(std::time::Duration::from_secs(1));
                signal(primary.pid(), SIGKILL);
            }
        }
        Ok(())
    }

    /// The process can be ended, and started again.
    pub(super) fn relent(self, primary: &Node) {
        if self == Self::Freeze {
            signal(primary.pid(), SIGCONT);
        }
    }
}
