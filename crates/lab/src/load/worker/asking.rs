//! What a thread of load needs to ask about some of its requests.

use crate::load::parts::{PartsPlan, Questions};
use crate::load::schedule::LoadPlan;
use evenkeel_core::Nanos;
use evenkeel_core::random::Random;
use evenkeel_sense::waits::WaitsFile;

/// The thread of the server that answers a session, by its number at the kernel. MySQL has no such column, and what its
/// threads wait then stays a part of the network.
const SERVER_THREAD: &str = "SELECT tid FROM information_schema.processlist WHERE id = CONNECTION_ID()";

/// What a thread of load needs to know the parts of some response times.
pub(super) struct Asking {
    pub plan: PartsPlan,
    pub questions: Questions,
    /// What a session is told once.
    pub begin: Vec<String>,
    /// Decides by chance which requests are asked about.
    pub random: Random,
    own: Option<WaitsFile>,
    /// Requests under way that were drawn.
    pub under_way: usize,
    /// When the last wait for sockets ended.
    pub woke: Nanos,
    /// What of that wait the thread waited for a CPU.
    pub waited: Nanos,
}

impl Asking {
    pub fn new(plan: &LoadPlan, thread: usize) -> Option<Self> {
        let parts = plan.parts?;
        let questions = Questions::new(plan.workload.statements().len());
        let tells_thread = parts.server_pid.map(|_| SERVER_THREAD.to_owned());
        Some(Self {
            // Keeping book comes last: otherwise the first request's statements would be one too many.
            begin: tells_thread.into_iter().chain([questions.begin()]).collect(),
            plan: parts,
            questions,
            random: Random::new(plan.seed.child("parts").numbered(thread as u64)),
            own: WaitsFile::own(),
            under_way: 0,
            woke: Nanos::ZERO,
            waited: Nanos::ZERO,
        })
    }

    /// What the thread has waited for a CPU since it began.
    pub fn waited_until_now(&self) -> Option<Nanos> {
        Some(self.own.as_ref()?.read()?.waited)
    }
}
