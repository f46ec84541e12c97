//! What happens to a primary.

use super::group::Node;
use crate::HaulError;
use evenkeel_os::process::signal;
use evenkeel_site::sandbox::{Domain, FileDisk, FileSystem, Net};
use std::thread;
use std::time::Duration;

/// Room for a server and its logs until it is filled.
const DISK: u64 = 1 << 30;
/// For so long replicas lag.
const LAG: Duration = Duration::from_secs(1);
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
        /// Nothing reaches it, and nobody is told.
        Cut = "cut",
        /// Its disk has no room left.
        Full = "full",
        /// Its replicas receive nothing for a second, then it is killed.
        Lag = "lag",
        /// Its replicas receive all and apply nothing for a second, then it is killed.
        Slow = "slow",
    }
}

impl Fault {
    /// What happens before it: replicas that lag.
    pub(super) fn prepare(self, replicas: &[Node]) -> Result<(), HaulError> {
        let thread = match self {
            Self::Lag => "IO_THREAD",
            Self::Slow => "SQL_THREAD",
            _ => return Ok(()),
        };
        replicas.iter().try_for_each(|replica| replica.sql(&format!("STOP SLAVE {thread}")))?;
        thread::sleep(LAG);
        Ok(())
    }

    /// Makes it happen to the primary.
    pub(super) fn inject(self, primary: &mut Node) -> Result<(), HaulError> {
        match self {
            Self::Stop => {
                let _ = primary.sandbox.pause(&mut |_| {});
            }
            Self::Freeze => {
                signal(primary.sandbox.pid(), SIGSTOP);
            }
            Self::Cut => primary.sandbox.cut_network(true)?,
            Self::Full => primary.fill_disk(DISK)?,
            Self::Kill | Self::Lag | Self::Slow => {
                signal(primary.sandbox.pid(), SIGKILL);
            }
        }
        Ok(())
    }

    /// It is over: the old primary can be started again.
    pub(super) fn undo(self, primary: &Node) -> Result<(), HaulError> {
        match self {
            Self::Freeze => {
                signal(primary.sandbox.pid(), SIGCONT);
                Ok(())
            }
            Self::Cut => Ok(primary.sandbox.cut_network(false)?),
            Self::Full => primary.free_disk(),
            _ => Ok(()),
        }
    }

    /// Where the servers have to run for it.
    pub(super) fn domain(self) -> Domain {
        match self {
            Self::Cut => Domain { net: Some(Net::default()), ..Domain::default() },
            Self::Full => {
                let file_disk = Some(FileDisk { bytes: DISK, file_system: FileSystem::Ext4 });
                Domain { file_disk, ..Domain::default() }
            }
            _ => Domain::default(),
        }
    }
}
