//! The machine during a run: CPU time of the server, and what others took.

use super::bed::Bed;
use crate::harness::Run;
use evenkeel_core::Nanos;
use evenkeel_os::clock::monotonic;
use evenkeel_sense::Domain;
use evenkeel_sense::cpu::{CpuReading, CpuUse};

/// What was read when a run began.
pub(super) struct Watch {
    at: Nanos,
    host: Option<CpuReading>,
    server: Option<CpuReading>,
    own: Option<CpuReading>,
}

impl Watch {
    pub fn begin(bed: &Bed) -> Self {
        Self { at: monotonic(), host: Domain::Host.read(), server: bed.cpu(), own: own() }
    }

    /// Notes what was used since then, with `rows` that were stored. Of a server that was killed meanwhile nothing is known.
    pub fn end(self, bed: &Bed, rows: u64, run: &mut Run) {
        let over = monotonic() - self.at;
        let used = |before: &Option<CpuReading>, after: Option<CpuReading>| {
            CpuUse::between(before.as_ref()?, &after?, over)
        };
        let server = used(&self.server, bed.cpu());
        let host = used(&self.host, Domain::Host.read());
        let own = used(&self.own, own());
        let busy = |cpu: &Option<CpuUse>| cpu.as_ref().map(|cpu| cpu.busy.as_secs_f64());
        run.set("cpu_us_per_row", busy(&server).map(|busy| 1e6 * busy / rows.max(1) as f64));
        run.set("steal_percent", host.as_ref().and_then(|host| host.steal));
        let others = busy(&host).zip(busy(&server)).zip(busy(&own));
        let capacity = host.as_ref().map(|host| host.capacity * over.as_secs_f64());
        let percent = others.zip(capacity).map(|(((host, server), own), capacity)| {
            // All three are read one after the other, so that the difference may be a little below nothing.
            (100.0 * (host - server - own) / capacity).max(0.0)
        });
        run.set("other_load_percent", percent);
    }
}

fn own() -> Option<CpuReading> {
    Domain::Process(std::process::id()).read()
}
