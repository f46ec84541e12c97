//! What came of a sweep, for people and for programs.

use super::{Sweep, SweepPlan, label};
use crate::format::{TimeUnit, count, fixed, percent, significant, time};
use crate::table::{GridColumn, Look, lines};
use evenkeel_core::caveat::Caveat;
use evenkeel_core::share::knee::{Judgment, PART_OF_PEAK, Verdict};
use evenkeel_study::store::Caveats;
use serde_json::{Value, json};

const HIGH: f64 = 0.99;
/// More are never outstanding, see `--depth-max`.
pub const DEPTH_MOST: u32 = 1_024;

pub struct Measurement<'a> {
    pub plan: &'a SweepPlan,
    pub sweep: &'a Sweep,
    pub judgment: &'a Judgment,
    pub caveats: &'a [Caveat],
}

impl Measurement<'_> {
    /// Highest less lowest throughput of a depth over its mean, in percent; `None` with one round.
    fn spread_percent(&self, place: usize) -> Option<f64> {
        let throughputs = self.sweep.rounds.iter().map(|round| round[place].point.throughput);
        let (least, most) = throughputs
            .fold((f64::INFINITY, 0.0_f64), |(least, most), value| (least.min(value), most.max(value)));
        (self.plan.rounds > 1).then(|| 100.0 * (most - least) / self.judgment.curve[place].throughput)
    }

    fn high_ms(&self, place: usize) -> Option<f64> {
        self.sweep.latencies[place].quantile(HIGH).map(|latency| latency.as_millis_f64())
    }

    fn flag(&self) -> Option<String> {
        let threshold_ms = 1e3 * self.judgment.threshold_s()?;
        let unit = TimeUnit::suiting(threshold_ms);
        let symbol = if unit == TimeUnit::Microseconds { "us" } else { unit.symbol() };
        let number = significant(threshold_ms * unit.per_ms(), 2).replace(',', "");
        Some(format!("--latency {number}{symbol}"))
    }

    fn next(&self) -> String {
        let deepest = self.judgment.curve.last().map_or(0, |point| point.depth);
        match (self.judgment.verdict, self.flag()) {
            (Verdict::Found, Some(flag)) => format!("evenkeel share disk {flag}"),
            (Verdict::Unsteady, Some(flag)) => {
                format!("measure again while nobody else uses the storage or this machine; until then {flag}")
            }
            (Verdict::NotLevel, _) if 2 * deepest <= DEPTH_MOST => {
                format!("measure deeper: --depth-max {}", 2 * deepest)
            }
            (Verdict::NotLevel, _) => {
                format!(
                    "storage takes more than {DEPTH_MOST} at once: give the latency that clients can accept"
                )
            }
            _ => format!(
                "give the latency that clients can accept, above the {} of one read alone",
                time(1e3 * self.judgment.curve[0].latency_s)
            ),
        }
    }
}

/// The table, the sentence, what to do next, and the doubts.
pub fn text(measured: &Measurement<'_>, look: Look) -> String {
    let mut text = lines(columns(measured), &[], look);
    text.push_str(&format!("\n{}\nnext: {}\n", sentence(measured), measured.next()));
    for caveat in measured.caveats {
        text.push_str(&format!("{}: {caveat}\n", label(caveat)));
    }
    text
}

fn columns(measured: &Measurement<'_>) -> Vec<GridColumn> {
    let curve = &measured.judgment.curve;
    let places: Vec<usize> = (0..curve.len()).collect();
    let column = |head: &str, rank, value: &dyn Fn(usize) -> String| {
        GridColumn::of(&places, [head, ""], true, rank, |place| value(*place))
    };
    let or_none = |value: Option<String>| value.unwrap_or_else(|| "-".to_owned());
    let mean = |place: usize| significant(1e3 * curve[place].latency_s, 3);
    let high = |place| or_none(measured.high_ms(place).map(|ms| significant(ms, 2)));
    let spread = |place| or_none(measured.spread_percent(place).map(|value| format!("{value:.0} %")));
    vec![
        column("depth", 0, &|place| count(curve[place].depth.into())),
        column("I/Os/s", 0, &|place| fixed(curve[place].throughput, 0)),
        column("mean ms", 0, &mean),
        column("p99 ms", 2, &high),
        column("spread over the rounds", 1, &spread),
    ]
}

fn sentence(measured: &Measurement<'_>) -> String {
    let Judgment { knee, curve, .. } = measured.judgment;
    let peak = fixed(knee.peak, 0);
    let (first, last) = (curve[0], curve[curve.len() - 1]);
    let found = || {
        let place = significant(knee.depth, 2);
        let range = range(measured);
        format!("knee at {place} outstanding: {PART_OF_PEAK} of {peak} I/Os per second; threshold {range}")
    };
    match measured.judgment.verdict {
        Verdict::Found => found(),
        Verdict::Unsteady => {
            format!("{}: rounds disagree by a factor of {:.1}", found(), measured.judgment.disagreement())
        }
        Verdict::NotLevel => format!(
            "no threshold: throughput still rises; the last doubling, to {} outstanding, brought {} more",
            count(last.depth.into()),
            percent((100.0 * measured.judgment.rise).round()),
        ),
        Verdict::Flat => format!(
            "no threshold: a read takes {} at {PART_OF_PEAK} of {peak} I/Os per second and {} with {} \
             outstanding, so latency does not distinguish full storage from idle storage. Causes are a \
             limit on I/Os per second, storage that does one I/O at a time, or a cache",
            time(1e3 * knee.latency_s),
            time(1e3 * first.latency_s),
            first.depth,
        ),
    }
}

/// `4.1 ms (3.9 to 4.4 over 3 rounds)`, all in one unit.
fn range(measured: &Measurement<'_>) -> String {
    let threshold_ms = 1e3 * measured.judgment.knee.latency_s;
    let unit = TimeUnit::suiting(threshold_ms);
    let number = |seconds: f64| significant(1e3 * seconds * unit.per_ms(), 2);
    let threshold = format!("{} {}", number(threshold_ms / 1e3), unit.symbol());
    let (least, most) = measured.judgment.range_s();
    match measured.plan.rounds {
        1 => format!("{threshold} (one round: how far it can be trusted is not known)"),
        rounds => format!("{threshold} ({} to {} over {rounds} rounds)", number(least), number(most)),
    }
}

/// One object with everything; `found` and the like say whether there is a threshold.
pub fn json(measured: &Measurement<'_>, backing: Value) -> Value {
    let Measurement { plan, sweep, judgment, .. } = measured;
    let (least_s, most_s) = judgment.range_s();
    let threshold_s = judgment.threshold_s();
    let ms = |seconds: f64| 1e3 * seconds;
    let depth = |place: usize| {
        let point = judgment.curve[place];
        let round = |steps: &Vec<super::Step>| {
            let step = steps[place];
            json!({
                "throughput_per_s": step.point.throughput, "latency_ms": ms(step.point.latency_s), "reads": step.reads,
            })
        };
        json!({
            "outstanding": point.depth, "throughput_per_s": point.throughput, "latency_ms": ms(point.latency_s),
            "latency_ms_p99": measured.high_ms(place), "spread_percent": measured.spread_percent(place),
            "rounds": sweep.rounds.iter().map(round).collect::<Vec<_>>(),
        })
    };
    json!({
        "verdict": verdict(judgment.verdict),
        "threshold_ms": threshold_s.map(ms),
        "threshold_ms_least": threshold_s.map(|_| ms(least_s)), "threshold_ms_most": threshold_s.map(|_| ms(most_s)),
        "peak_per_s": judgment.knee.peak, "part_of_peak": PART_OF_PEAK,
        "knee": {"outstanding": judgment.knee.depth, "latency_ms": ms(judgment.knee.latency_s)},
        "rise_percent": 100.0 * judgment.rise, "growth": judgment.growth, "disagreement": judgment.disagreement(),
        "rounds": plan.rounds, "measured_s": plan.measure.as_secs_f64(), "block_bytes": plan.block, "seed": plan.seed.0,
        "backing": backing,
        "depths": (0..judgment.curve.len()).map(depth).collect::<Vec<_>>(),
        "next": measured.next(),
        "caveats": Caveats(measured.caveats),
    })
}

fn verdict(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Found => "found",
        Verdict::NotLevel => "not-level",
        Verdict::Flat => "flat",
        Verdict::Unsteady => "unsteady",
    }
}
