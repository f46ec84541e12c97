//! The knee of storage: where more outstanding I/Os bring little throughput and much latency.
//!
//! A closed loop keeps `W` I/Os outstanding and sees `X(W)` of them end per second, after `R(W)` seconds each in the mean.
//! It does so for a few depths `W`, in several rounds, and from the mean over the rounds
//!
//! ```text
//! peak       P  = the greatest X(W) that was measured
//! knee       W* = the least W with X(W) = 0.9 P         X linear in ln W between measured depths
//! threshold  L  = R(W*)                              ln R linear in ln W between measured depths
//! ```
//!
//! The latency at 90 % of the peak throughput is what VMware's Storage I/O Control takes for its congestion threshold since
//! vSphere 5.1 (vSphere Resource Management, "Set Storage I/O Control Threshold Value"), by an injector of its own. There peak
//! and latency are estimated; here they are measured, and where the peak was not reached there is no answer.
//!
//! `ln R` and not `R`, because both ends of a curve are straight lines then: `R` stays where storage has room, and is `W / P`
//! where it has none.
//!
//! *How well it is known.* For `S` exponential servers, `X(W) = (S / s) W / (W + S - 1)`, throughput grows at the knee by
//! `d ln X / d ln W = 0.1`: an error of 1 % in throughput is one of 10 % in the depth and in the threshold. So rounds are judged
//! one by one as well, and the range over them goes with the figure.

pub use super::costs;

/// Part of the peak throughput at which the knee is.
pub const PART_OF_PEAK: f64 = 0.9;

/// Throughput is level if the last doubling of the depth brought no more than this part.
///
/// For `S` exponential servers, `X(W) = (S / s) W / (W + S - 1)`, the last doubling to `W` brings `(S - 1) / (W + S - 1)`;
/// that is a tenth at `W = 9 (S - 1)`, and there `X` is 0.9 of what no depth ever passes. So the peak that is measured is at
/// least 0.9 of the true one.
pub const RISE_MOST: f64 = 0.1;

/// The latency at the knee is that of full storage if it is so many times the latency at the least depth.
///
/// Storage with a fixed limit and no queue below it, `X(W) = min(W / s, C)`, has its knee at the latency of a single I/O. What
/// interpolation between doubled depths adds to that is up to 1.28 (tested), so that anything below 1.3 may be nothing.
pub const GROWTH_LEAST: f64 = 1.3;

/// Rounds agree if the greatest of their thresholds, and of their peaks, is at most this many times the least. Thresholds
/// differ by as much where throughput is off by 4 % or so, which a machine with busy neighbours passes.
pub const DISAGREEMENT_MOST: f64 = 1.5;

/// What a closed loop of one depth saw.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    pub depth: u32,
    pub throughput: f64,
    pub latency_s: f64,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Knee {
    pub peak: f64,
    /// I/Os outstanding at which [`PART_OF_PEAK`] of it is reached; the least depth measured where that has it already.
    pub depth: f64,
    pub latency_s: f64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    Found,
    /// Throughput still rises at the greatest depth, see [`RISE_MOST`]: where the peak is, is not known.
    NotLevel,
    /// The latency at the knee is that of a single I/O, see [`GROWTH_LEAST`]: a limit on I/Os per second, a server that does
    /// one I/O at a time, or answers from a cache. That latency would stay while throughput is level cannot be seen by a
    /// closed loop, whose latency is `W / X` by Little's law.
    Flat,
    /// Rounds disagree, see [`DISAGREEMENT_MOST`].
    Unsteady,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Judgment {
    /// Mean over the rounds, by depth.
    pub curve: Vec<Point>,
    pub knee: Knee,
    pub rounds: Vec<Knee>,
    /// Part of throughput that the last doubling of the depth brought; negative where it fell.
    pub rise: f64,
    /// Latency at the knee over that at the least depth.
    pub growth: f64,
    pub verdict: Verdict,
}

impl Judgment {
    pub fn threshold_s(&self) -> Option<f64> {
        matches!(self.verdict, Verdict::Found | Verdict::Unsteady).then_some(self.knee.latency_s)
    }

    /// The least and the greatest latency at the knee in seconds, over each round alone and all of them together.
    pub fn range_s(&self) -> (f64, f64) {
        span(self.rounds.iter().chain([&self.knee]).map(|knee| knee.latency_s))
    }

    /// The factor between rounds that differ most: of their thresholds or of their peaks, whichever is more; 1 for one round.
    pub fn disagreement(&self) -> f64 {
        let factor = |(least, most): (f64, f64)| most / least;
        let latencies = factor(span(self.rounds.iter().map(|knee| knee.latency_s)));
        latencies.max(factor(span(self.rounds.iter().map(|knee| knee.peak))))
    }
}

/// Judges rounds over the same depths, each in rising order and measured for the same time.
///
/// `None` where there is nothing to judge: no round, fewer than two depths, rounds over different depths, a throughput or
/// latency that is not above zero.
pub fn judge(rounds: &[Vec<Point>]) -> Option<Judgment> {
    let first = rounds.first().filter(|round| round.len() > 1)?;
    let rises = first.windows(2).all(|pair| pair[0].depth < pair[1].depth) && first[0].depth > 0;
    let above_zero = |value: f64| value.is_finite() && value > 0.0;
    let fits = |round: &Vec<Point>| {
        round.len() == first.len()
            && round.iter().zip(first).all(|(point, other)| point.depth == other.depth)
            && round.iter().all(|point| above_zero(point.throughput) && above_zero(point.latency_s))
    };
    if !rises || !rounds.iter().all(fits) {
        return None;
    }
    let curve: Vec<Point> = (0..first.len()).map(|place| mean(rounds, place)).collect();
    let knee = find(&curve);
    let (rise, growth) = (rise(&curve), knee.latency_s / curve[0].latency_s);
    let rounds = rounds.iter().map(|round| find(round)).collect();
    let mut judgment = Judgment { curve, knee, rounds, rise, growth, verdict: Verdict::Found };
    judgment.verdict = if rise > RISE_MOST {
        Verdict::NotLevel
    } else if growth < GROWTH_LEAST {
        Verdict::Flat
    } else if judgment.disagreement() > DISAGREEMENT_MOST {
        Verdict::Unsteady
    } else {
        Verdict::Found
    };
    Some(judgment)
}

/// Over all I/Os of a depth: rounds weigh by how many they did.
fn mean(rounds: &[Vec<Point>], place: usize) -> Point {
    let points = || rounds.iter().map(|round| round[place]);
    let throughput: f64 = points().map(|point| point.throughput).sum();
    let latency: f64 = points().map(|point| point.throughput * point.latency_s).sum();
    Point {
        depth: rounds[0][place].depth,
        throughput: throughput / rounds.len() as f64,
        latency_s: latency / throughput,
    }
}

fn find(curve: &[Point]) -> Knee {
    let peak = curve.iter().map(|point| point.throughput).fold(0.0, f64::max);
    let wanted = PART_OF_PEAK * peak;
    let reached = curve.iter().position(|point| point.throughput >= wanted).unwrap_or(0);
    let above = curve[reached];
    let Some(below) = reached.checked_sub(1).map(|place| curve[place]) else {
        return Knee { peak, depth: above.depth.into(), latency_s: above.latency_s };
    };
    let part = (wanted - below.throughput) / (above.throughput - below.throughput);
    let between = |from: f64, to: f64| (from.ln() + part * (to / from).ln()).exp();
    Knee {
        peak,
        depth: between(below.depth.into(), above.depth.into()),
        latency_s: between(below.latency_s, above.latency_s),
    }
}

/// Part of throughput that the last doubling brought; from the depth before where none is at most half.
fn rise(curve: &[Point]) -> f64 {
    let last = curve[curve.len() - 1];
    let half = curve.iter().rev().find(|point| point.depth <= last.depth / 2);
    last.throughput / half.unwrap_or(&curve[curve.len() - 2]).throughput - 1.0
}

fn span(values: impl Iterator<Item = f64>) -> (f64, f64) {
    values.fold((f64::INFINITY, 0.0), |(least, most), value| (least.min(value), most.max(value)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const DEPTHS: [u32; 8] = [1, 2, 4, 8, 16, 32, 64, 128];
    const SERVICE_S: f64 = 0.001;

    /// A curve of this throughput by depth; latency by Little's law.
    fn curve(throughput: impl Fn(f64) -> f64) -> Vec<Point> {
        let point = |&depth: &u32| {
            let throughput = throughput(depth.into());
            Point { depth, throughput, latency_s: f64::from(depth) / throughput }
        };
        DEPTHS.iter().map(point).collect()
    }

    /// So many exponential servers in a closed network: `X(W) = (S / s) W / (W + S - 1)`.
    fn network(servers: f64) -> Vec<Point> {
        curve(|depth| servers / SERVICE_S * depth / (depth + servers - 1.0))
    }

    /// No queue below a limit on I/Os per second.
    fn limited(per_s: f64) -> Vec<Point> {
        curve(|depth| (depth / SERVICE_S).min(per_s))
    }

    fn near(value: f64, expected: f64, part: f64) {
        assert!((value / expected - 1.0).abs() < part, "{value} for {expected}");
    }

    #[test]
    fn the_knee_of_a_closed_network_is_where_theory_has_it() {
        for servers in [2.0, 4.0, 8.0, 14.0] {
            let judgment = judge(&[network(servers)]).unwrap();
            assert_eq!(judgment.verdict, Verdict::Found, "{servers}");
            let peak = servers / SERVICE_S * 128.0 / (127.0 + servers);
            near(judgment.knee.peak, peak, 1e-9);
            // X(W) = x of S / s at W = (S - 1) x / (1 - x), and R(W) = s (W + S - 1) / S.
            let part = PART_OF_PEAK * 128.0 / (127.0 + servers);
            let depth = (servers - 1.0) * part / (1.0 - part);
            near(judgment.knee.depth, depth, 0.05);
            near(judgment.threshold_s().unwrap(), SERVICE_S * (depth + servers - 1.0) / servers, 0.07);
        }
    }

    #[test]
    fn where_throughput_still_rises_there_is_no_threshold() {
        for servers in [16.0, 32.0, 500.0] {
            let judgment = judge(&[network(servers)]).unwrap();
            assert_eq!((judgment.verdict, judgment.threshold_s()), (Verdict::NotLevel, None), "{servers}");
        }
    }

    #[test]
    fn a_limit_on_ios_per_second_has_no_threshold_wherever_it_is() {
        for limit in (10..600).map(|tenths| f64::from(tenths) / 10.0) {
            let judgment = judge(&[limited(limit / SERVICE_S)]).unwrap();
            assert_eq!(judgment.verdict, Verdict::Flat, "{limit}: {}", judgment.growth);
            assert!(judgment.growth < 1.28, "{limit}: {}", judgment.growth);
            assert_eq!(judgment.threshold_s(), None);
        }
    }

    #[test]
    fn storage_that_gets_slower_beyond_its_peak_has_its_knee_before_it() {
        let judgment = judge(&[curve(|depth| 1e3 * depth / (depth + 3.0) / (1.0 + depth / 100.0))]).unwrap();
        assert_eq!(judgment.verdict, Verdict::Found);
        assert!(judgment.rise < 0.0 && judgment.knee.depth < 10.0, "{judgment:?}");
    }

    #[test]
    fn rounds_that_disagree_give_their_figure_with_its_range_and_are_called_unsteady() {
        let half: Vec<Point> = network(4.0)
            .iter()
            .map(|point| Point {
                throughput: 0.5 * point.throughput,
                latency_s: 2.0 * point.latency_s,
                ..*point
            })
            .collect();
        let judgment = judge(&[network(4.0), half.clone(), network(4.0)]).unwrap();
        assert_eq!(judgment.verdict, Verdict::Unsteady);
        near(judgment.disagreement(), 2.0, 0.01);
        let (least, most) = judgment.range_s();
        let alone = |round: Vec<Point>| judge(&[round]).unwrap().knee.latency_s;
        assert_eq!((least, most), (alone(network(4.0)), alone(half)));
        assert!(judgment.threshold_s().is_some_and(|threshold| least < threshold && threshold < most));
    }

    #[test]
    fn what_cannot_be_a_curve_is_not_judged() {
        let good = network(4.0);
        let mut dead = good.clone();
        dead[3].throughput = 0.0;
        let mut unknown = good.clone();
        unknown[3].latency_s = f64::NAN;
        let mut back = good.clone();
        back.reverse();
        let short = good[..4].to_vec();
        for rounds in [vec![], vec![vec![]], vec![good[..1].to_vec()], vec![dead], vec![unknown], vec![back]]
        {
            assert_eq!(judge(&rounds), None);
        }
        assert_eq!(judge(&[good, short]), None);
    }
}
