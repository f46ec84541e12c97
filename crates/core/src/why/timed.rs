use super::reads::Reads;
use super::verdict::{Clue, Gap, Ruling, Suspect, Unit, Verdict, gap_of};
use super::{number, with_interval};

/// What the response times of two targets are, and how much of a difference is worth the name of a cause.
#[derive(Clone, Debug)]
pub(super) struct Scale {
    pub gap: Gap,
    pub differs: bool,
    pub least_ms: f64,
    pub slow: String,
    pub pairs: usize,
}

impl Scale {
    /// What a part of the response time comes to, by its difference.
    pub fn weigh(&self, part: &Gap) -> Ruling {
        match () {
            () if part.high < self.least_ms => Ruling::NotTheCause,
            () if self.differs && part.low > 0.0 && part.mean >= self.least_ms => Ruling::Cause,
            () => Ruling::Undecided,
        }
    }

    fn of_gap(&self) -> String {
        format!("it takes {} longer", with_interval(&self.gap, " ms"))
    }

    /// The verdict on a part of the response time. `text` says what the part is, and `missing` why it is not known.
    pub fn verdict(
        &self,
        suspect: Suspect,
        name: &'static str,
        part: Option<Gap>,
        text: impl Fn(&Gap) -> String,
        missing: &str,
    ) -> Verdict {
        let Some(part) = part else {
            return Verdict::undecided(suspect, format!("Not known: {missing}."));
        };
        let ruling = self.weigh(&part);
        let mut evidence = format!("{}, and {}.", text(&part), self.of_gap());
        if ruling == Ruling::Undecided && self.differs {
            evidence.push_str(&format!(" A cause needs {} ms at least.", number(self.least_ms)));
        }
        Verdict { suspect, ruling, evidence, figure: Some(Clue::of(name, &part)) }
    }
}

/// What a request spends between client and server.
pub(super) fn network(units: &[Unit<'_>], scale: &Scale) -> Verdict {
    let part = gap_of(units, scale.pairs, |run| run.seen.network_ms);
    let text = |part: &Gap| {
        format!(
            "A request to {} spends {} more between client and server",
            scale.slow,
            with_interval(part, " ms")
        )
    };
    let missing = "the delay of the network was not measured";
    scale.verdict(Suspect::Network, "network_ms", part, text, missing)
}

/// What a commit waits for its log. What its thread then waits for a CPU is taken off.
pub(super) fn syncs(units: &[Unit<'_>], scale: &Scale) -> Verdict {
    let waits = cpu_waits(units, scale.pairs);
    let of = |(unit, wait): (&Unit<'_>, f64)| {
        let (slow, fast) = unit.means(|run| run.seen.sync_ms)?;
        Some(slow - fast - wait.clamp(0.0, (slow - fast).max(0.0)))
    };
    let differences: Option<Vec<f64>> = units.iter().zip(waits).map(of).collect();
    let part = differences.and_then(|all| Gap::of(&all, scale.pairs));
    let text = |part: &Gap| {
        format!("A request to {} spends {} more in its commit", scale.slow, with_interval(part, " ms"))
    };
    scale.verdict(Suspect::Syncs, "sync_ms", part, text, STATES_MISSING)
}

pub(super) fn locks(units: &[Unit<'_>], scale: &Scale) -> Verdict {
    let part = gap_of(units, scale.pairs, |run| run.seen.lock_ms);
    let text = |part: &Gap| {
        format!(
            "A request to {} waits {} more for locks of rows and tables",
            scale.slow,
            with_interval(part, " ms")
        )
    };
    scale.verdict(Suspect::Locks, "lock_ms", part, text, STATES_MISSING)
}

pub(super) fn work(units: &[Unit<'_>], scale: &Scale) -> Verdict {
    let part = gap_of(units, scale.pairs, |run| run.seen.cpu_ms);
    let text = |part: &Gap| {
        format!(
            "A request to {} takes {} more CPU time of the server",
            scale.slow,
            with_interval(part, " ms")
        )
    };
    let missing = "the CPU time of the server was not measured";
    scale.verdict(Suspect::Work, "cpu_ms", part, text, missing)
}

const STATES_MISSING: &str = "the states of the sessions were not seen";

/// What threads waited more for a CPU at the slow one, unit by unit, ms; nothing where that is not clear. Whoever was woken waits for a CPU
/// within the read or the sync that woke it.
pub(super) fn cpu_waits(units: &[Unit<'_>], pairs: usize) -> Vec<f64> {
    let each: Option<Vec<f64>> = units
        .iter()
        .map(|unit| unit.means(|run| run.seen.cpu_wait_ms).map(|(slow, fast)| slow - fast))
        .collect();
    let clear = each.filter(|all| Gap::of(all, pairs).is_some_and(|gap| gap.low > 0.0));
    clear.unwrap_or_else(|| vec![0.0; units.len()])
}

/// Beyond what a server carries its counters do not fall on the requests of a run.
const READS_MISSING: &str =
    "how many pages a request reads from disk was not measured, as in overload; measure a lower rate";
const LATENCY_MISSING: &str =
    "how long reads take was not measured at both: set performance_schema=ON, and let the account read it";

fn missing(reads: &Reads) -> &'static str {
    if reads.number.is_some() { LATENCY_MISSING } else { READS_MISSING }
}

pub(super) fn disk(reads: &Reads, scale: &Scale) -> Verdict {
    let text = |part: &Gap| {
        let each = reads.latency.map_or_else(
            || "Requests read next to nothing from disk".to_owned(),
            |each| format!("A read from disk takes {} longer at {}", with_interval(&each, " ms"), scale.slow),
        );
        let without = if reads.waits_ms > 0.0 {
            format!(" without {} that it waits for a CPU", number(reads.waits_ms))
        } else {
            String::new()
        };
        format!("{each}, which is {} of a request{without}", with_interval(part, " ms"))
    };
    scale.verdict(Suspect::Disk, "read_latency_ms", reads.by_latency, text, missing(reads))
}

/// That it reads more pages, whatever the reason.
pub(super) fn more_reads(suspect: Suspect, reads: &Reads, scale: &Scale) -> Verdict {
    let text = |part: &Gap| {
        let more = reads.number.map_or_else(String::new, |more| with_interval(&more, ""));
        format!(
            "A request to {} reads {more} more pages from disk, which accounts for {}",
            scale.slow,
            with_interval(part, " ms")
        )
    };
    scale.verdict(suspect, "read_number_ms", reads.by_number, text, missing(reads))
}
