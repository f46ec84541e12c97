use super::reads::{Reads, cpu_waits};
use super::verdict::{Clue, Gap, Ruling, Suspect, Unit, Verdict};
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

    /// The verdict on a part of the response time that one request `spends` more `wherein` at the slow one.
    pub fn part(
        &self,
        suspect: Suspect,
        name: &'static str,
        part: Option<Gap>,
        (spends, wherein): (&str, &str),
        missing: &str,
    ) -> Verdict {
        let text = |part: &Gap| {
            format!("A request to {} {spends} {} more {wherein}", self.slow, with_interval(part, " ms"))
        };
        self.verdict(suspect, name, part, text, missing)
    }

    /// A part that only the waits for a CPU keep from being a cause is none for sure: they may have been elsewhere.
    pub fn unless_waits(&self, verdict: Verdict, with_waits: Option<&Gap>) -> Verdict {
        let was_cause = with_waits.is_some_and(|part| self.weigh(part) == Ruling::Cause);
        match verdict.ruling {
            Ruling::NotTheCause if was_cause => {
                verdict.but(Ruling::Undecided, "It may be all of its waits for a CPU.")
            }
            _ => verdict,
        }
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
            let least = number(self.least_ms);
            evidence.push_str(&format!(" To be named a cause it must be at least {least} ms."));
        }
        Verdict { suspect, ruling, evidence, figure: Some(Clue::of(name, &part)) }
    }
}

/// What a commit waits for its log. What its thread then waits for a CPU is taken off.
pub(super) fn syncs(units: &[Unit<'_>], scale: &Scale) -> Verdict {
    let waits = cpu_waits(units, scale.pairs);
    let each: Option<Vec<f64>> =
        units.iter().map(|unit| unit.means(|run| run.seen.sync_ms).map(|(slow, fast)| slow - fast)).collect();
    let of = |differences: Vec<f64>| Gap::of(&differences, scale.pairs);
    let whole = each.clone().and_then(of);
    let part = each.and_then(|each| {
        of(each.iter().zip(waits).map(|(later, wait)| later - wait.clamp(0.0, later.max(0.0))).collect())
    });
    let verdict = scale.part(Suspect::Syncs, "sync_ms", part, ("spends", "in its commit"), STATES_MISSING);
    scale.unless_waits(verdict, whole.as_ref())
}

pub(super) const STATES_MISSING: &str = "the states of the sessions were not seen";

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
            format!(", without {} ms in which it waits for a CPU", number(reads.waits_ms))
        } else {
            String::new()
        };
        format!("{each}, which is {} of a request{without}", with_interval(part, " ms"))
    };
    let verdict = scale.verdict(Suspect::Disk, "read_latency_ms", reads.by_latency, text, missing(reads));
    scale.unless_waits(verdict, reads.with_waits.as_ref())
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
