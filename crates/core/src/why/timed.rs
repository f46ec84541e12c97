use super::verdict::{Clue, Gap, Observation, Ruling, Suspect, Unit, Verdict, gap_of};
use super::{number, with_interval};
use crate::reads::mixed;
use crate::statistics::Sample;

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
}

/// What a request spends between client and server.
pub(super) fn network(units: &[Unit<'_>], scale: &Scale) -> Verdict {
    let part = gap_of(units, scale.pairs, |run| run.seen.network_ms);
    let text = |part: &Gap| {
        format!(
            "A request to {} spends {} more between client and server, and {}.",
            scale.slow,
            with_interval(part, " ms"),
            scale.of_gap()
        )
    };
    verdict(Suspect::Network, "network_ms", part, scale, text, "the delay of the network was not measured")
}

/// Of a difference in time spent on reads, what their latency makes and what their number does: with `n` reads that take `t`
/// each, `n t` differs by `(t - t') (n + n') / 2 + (n - n') (t + t') / 2`.
#[derive(Clone, Debug, Default)]
pub(super) struct Reads {
    pub by_latency: Option<Gap>,
    pub by_number: Option<Gap>,
    pub number: Option<Gap>,
    pub latency: Option<Gap>,
    /// By how much pages and plan foretell the number to differ.
    pub foretold: Option<f64>,
}

const READS_MIN: f64 = 0.01;

impl Reads {
    /// Of servers whose pools differ nothing is foretold: that would be in it too.
    pub fn of(units: &[Unit<'_>], pairs: usize, pools_differ: bool) -> Self {
        let (mut by_latency, mut by_number) = (Vec::new(), Vec::new());
        let reads: Option<Vec<(f64, f64)>> =
            units.iter().map(|unit| unit.means(|run| run.seen.reads)).collect();
        let Some(reads) = reads else { return Self::default() };
        let numbers: Vec<f64> = reads.iter().map(|(slow, fast)| slow - fast).collect();
        let mut latencies = Vec::new();
        for (unit, reads) in units.iter().zip(reads) {
            if reads.0.max(reads.1) < READS_MIN {
                by_latency.push(0.0);
                by_number.push(0.0);
                continue;
            }
            let Some(latency) = latency(unit, reads) else {
                return Self { number: Gap::of(&numbers, pairs), ..Self::default() };
            };
            latencies.push(latency.0 - latency.1);
            by_latency.push((latency.0 - latency.1) * f64::midpoint(reads.0, reads.1));
            by_number.push((reads.0 - reads.1) * f64::midpoint(latency.0, latency.1));
        }
        let gap = |differences: &[f64]| Gap::of(differences, pairs);
        Self {
            by_latency: gap(&by_latency),
            by_number: gap(&by_number),
            number: gap(&numbers),
            latency: gap(&latencies),
            foretold: if pools_differ { None } else { foretold(units) },
        }
    }

    /// Which share of the reads that are more for sure pages and plan foretell; `None` where they do not tell.
    pub fn share_foretold(&self) -> Option<f64> {
        Some(self.foretold? / self.number.filter(|number| number.low > 0.0)?.mean)
    }

    /// What the pages account for of the number of reads, with its interval; empty where they do not tell, or nothing differs for sure.
    fn accounted(&self) -> String {
        let (Some(foretold), Some(number)) = (self.foretold, self.number) else { return String::new() };
        let share = |reads: f64| 100.0 * foretold / reads;
        let (one, other) = (share(number.high), share(number.low));
        match number.low > 0.0 {
            true => format!(
                "; pages and plan predict {} more, {} % ({} to {}) of them",
                super::number(foretold),
                super::number(share(number.mean)),
                super::number(one.min(other)),
                super::number(one.max(other))
            ),
            false => String::new(),
        }
    }
}

/// What a read takes on each side. A side that reads next to nothing has no latency, and takes that of the other; of one that reads and lets
/// nobody see how long that takes it is not known.
fn latency(unit: &Unit<'_>, reads: (f64, f64)) -> Option<(f64, f64)> {
    let mean =
        |runs: &[&Observation]| runs.iter().filter_map(|run| run.seen.read_ms).collect::<Sample>().mean();
    match (mean(&unit.slow), mean(&unit.fast)) {
        (Some(slow), Some(fast)) => Some((slow, fast)),
        (Some(ms), None) if reads.1 < READS_MIN => Some((ms, ms)),
        (None, Some(ms)) if reads.0 < READS_MIN => Some((ms, ms)),
        _ => None,
    }
}

/// By how much the numbers are foretold to differ where both sides have as many requests under way, so that nothing but pages and plan differs.
fn foretold(units: &[Unit<'_>]) -> Option<f64> {
    let of = |figure: fn(&Observation) -> Option<f64>| -> Option<Vec<(f64, f64)>> {
        units.iter().map(|unit| unit.means(figure)).collect()
    };
    let mean = |all: Vec<f64>| all.into_iter().collect::<Sample>().mean();
    let more = |all: Vec<(f64, f64)>| mean(all.into_iter().map(|(slow, fast)| slow - fast).collect());
    let under_way = of(|run| run.seen.under_way)?;
    let under_way = mean(under_way.into_iter().map(|(slow, fast)| f64::midpoint(slow, fast)).collect())?;
    let at_once = more(of(|run| Some(run.seen.foretold?.0))?)?;
    let one_by_one = more(of(|run| Some(run.seen.foretold?.1))?)?;
    Some(mixed(at_once, one_by_one, under_way))
}

/// Beyond what a server carries its counters do not fall on the requests of a run.
const READS_MISSING: &str =
    "how many pages a request reads from disk was not measured, as in overload; measure a lower rate";

pub(super) fn disk(reads: &Reads, scale: &Scale) -> Verdict {
    let text = |part: &Gap| {
        let each = reads.latency.map_or_else(
            || "Requests read next to nothing from disk".to_owned(),
            |each| format!("A read from disk takes {} longer at {}", with_interval(&each, " ms"), scale.slow),
        );
        format!("{each}, which is {} of a request, and {}.", with_interval(part, " ms"), scale.of_gap())
    };
    let missing = match reads.number {
        Some(_) => {
            "how long reads take was not measured at both: set performance_schema=ON, and let the account read it"
        }
        None => READS_MISSING,
    };
    verdict(Suspect::Disk, "read_latency_ms", reads.by_latency, scale, text, missing)
}

pub(super) fn layout(reads: &Reads, scale: &Scale, pages: &str) -> Verdict {
    let text = |part: &Gap| {
        let more = reads.number.map_or_else(String::new, |more| with_interval(&more, ""));
        format!(
            "A request to {} reads {more} more pages from disk, which accounts for {}, and {}; {pages}{}.",
            scale.slow,
            with_interval(part, " ms"),
            scale.of_gap(),
            reads.accounted()
        )
    };
    let missing = match reads.number {
        Some(_) => {
            "how long a read from disk takes was not measured at both: set performance_schema=ON, and let \
             the account read it"
        }
        None => READS_MISSING,
    };
    verdict(Suspect::Layout, "read_number_ms", reads.by_number, scale, text, missing)
}

fn verdict(
    suspect: Suspect,
    name: &'static str,
    part: Option<Gap>,
    scale: &Scale,
    text: impl Fn(&Gap) -> String,
    missing: &str,
) -> Verdict {
    let Some(part) = part else {
        return Verdict::undecided(suspect, format!("Not known: {missing}."));
    };
    let figure = Clue::of(name, &part);
    let ruling = scale.weigh(&part);
    let evidence = match ruling {
        Ruling::Undecided if scale.differs => {
            format!("{} A cause needs {} ms at least.", text(&part), number(scale.least_ms))
        }
        _ => text(&part),
    };
    Verdict { suspect, ruling, evidence, figure: Some(figure) }
}
