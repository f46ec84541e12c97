use super::*;
use crate::random::Seed;
use crate::simulation::{Phases, Shared, TryPlan};
use crate::time::Nanos;

#[test]
fn look() {
    for share in [0.0, 0.05, 0.15, 0.3] {
        let shared = Shared { service: Nanos::from_millis(4), share, burst: Nanos::from_millis(100) };
        let plan = TryPlan {
            shared,
            probe: Phases::seconds(1, 4),
            run: Phases::seconds(2, 8),
            runs: 30,
            wanted: Wanted { width: 0.05 },
        };
        let (beside, alone) = shared.capacities();
        let n = 300;
        let (mut least, mut most, mut own, mut answered, mut wa, mut wb, mut runs) =
            (0, 0, 0, 0, 0.0, 0.0, 0);
        let (mut bias, mut nb) = (0.0, 0.0);
        let mut ways = std::collections::BTreeMap::new();
        for seed in 0..n {
            let found = plan.play(Seed(seed)).unwrap();
            let carried = &found.answer.carried;
            least += u32::from(carried.at_least.is_none_or(|x| x <= beside));
            most += u32::from(carried.at_most.is_none_or(|x| x >= beside));
            answered += u32::from(
                carried.at_least.is_some() && carried.at_most.is_some() && found.answer.alone.is_some(),
            );
            if let Some(a) = found.answer.alone {
                own += u32::from(a.range.low <= alone && alone <= a.range.high);
                wa += a.range.relative_width();
                bias += (a.range.low * a.range.high).sqrt() / alone;
                nb += 1.0;
                *ways.entry(format!("{:?}", a.way)).or_insert(0) += 1;
            }
            if let (Some(a), Some(b)) = (carried.at_least, carried.at_most) {
                wb += (b - a) / beside;
            }
            runs += found.runs;
        }
        let n = n as f64;
        println!(
            "{share}: least {} most {} alone {} all three {} widths {:.3} {:.3} runs {:.1} bias {:.3} {ways:?}",
            f64::from(least) / n,
            f64::from(most) / n,
            f64::from(own) / n,
            f64::from(answered) / n,
            wb / n,
            wa / n,
            runs as f64 / n,
            bias / nb
        );
    }
}
