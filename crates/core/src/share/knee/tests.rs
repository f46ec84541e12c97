//! Knees of curves whose formula is known.

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
        .map(|point| Point { throughput: 0.5 * point.throughput, latency_s: 2.0 * point.latency_s, ..*point })
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
    for rounds in [vec![], vec![vec![]], vec![good[..1].to_vec()], vec![dead], vec![unknown], vec![back]] {
        assert_eq!(judge(&rounds), None);
    }
    assert_eq!(judge(&[good, short]), None);
}
