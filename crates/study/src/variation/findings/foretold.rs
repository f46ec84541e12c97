//! What pages and plan foretell of reads from disk: held against what was read, and what that is of a difference.

use super::made::{finding, untested};
use super::storage::means;
use crate::format;
use crate::harness::{Cell, Finding, Number};
use crate::variation::figures::{AT_ONCE, FORETOLD, ONE_BY_ONE, READ, READS, TAU, UNDER_WAY};
use crate::variation::parts::{LOAD, POOL, POOL_PERCENT};
use crate::variation::record::Setting;
use evenkeel_core::reads::mixed;
use evenkeel_core::statistics::{Estimate, difference};
use std::collections::BTreeSet;

/// What the pages account for, of what differs between rows that came in by a script and from a dump.
#[derive(Default)]
pub(super) struct Price {
    /// A sentence with a space before it; empty where nothing is known.
    pub words: String,
    pub numbers: Vec<Number>,
}

/// The price by figures of both layouts: means of starts, by layout and figure. Of a ratio the interval goes from the lower end of the one over
/// the upper end of the other to the reverse, where what is foretold may be off by [`CLOSE`] either way.
pub(super) fn price(of: impl Fn(&str, &str) -> Vec<f64>) -> Price {
    let gap = |figure: &str| {
        let (script, dump) = (Estimate::of(&of("script", figure))?, Estimate::of(&of("dump", figure))?);
        let degrees = (script.n as f64 - 1.0, dump.n as f64 - 1.0);
        Some(difference(&script, &dump, degrees))
    };
    // With as many requests under way on both sides, so that nothing but their pages differs.
    let under_way = Estimate::of(&[of("script", UNDER_WAY), of("dump", UNDER_WAY)].concat());
    let foretold = || Some(mixed(gap(AT_ONCE)?.mean, gap(ONE_BY_ONE)?.mean, under_way?.mean));
    let (Some(foretold), Some(reads), Some(tau)) = (foretold(), gap(READS), gap(TAU)) else {
        return Price::default();
    };
    let read_ms = Estimate::of(&[of("script", READ), of("dump", READ)].concat());
    let (least, most) = (foretold * (1.0 - CLOSE), foretold * (1.0 + CLOSE));
    let of_reads = share("pages_of_reads", (least, foretold, most), &reads);
    let of_tau = read_ms.and_then(|ms| {
        let ends = (ms.low()? * least, ms.mean * foretold, ms.high()? * most);
        share("pages_of_tau", ends, &tau)
    });
    let told = |number: &Option<Number>| match number {
        Some(Number { value, interval: Some((low, high)), .. }) => {
            let [value, low, high] = [value, low, high].map(|share| format::significant(100.0 * share, 3));
            format!("{value} % ({low} to {high})")
        }
        _ => "an unknown share".to_owned(),
    };
    let words = format!(
        " Pages and plan predict {} more reads per request after the script: {} of its additional reads, \
         and {} of its additional time.",
        format::significant(foretold, 3),
        told(&of_reads),
        told(&of_tau)
    );
    Price { words, numbers: of_reads.into_iter().chain(of_tau).collect() }
}

/// Which share of a difference something makes, by its lower end, mean and upper end; `None` where nothing differs for sure.
fn share(name: &str, (low, mean, high): (f64, f64, f64), all: &Estimate) -> Option<Number> {
    let (least, most) = (all.low()?, all.high()?);
    if least <= 0.0 && most >= 0.0 {
        return None;
    }
    let corners = [low / least, low / most, high / least, high / most];
    let interval = corners
        .into_iter()
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), corner| (low.min(corner), high.max(corner)));
    Some(Number { name: name.to_owned(), value: mean / all.mean, interval: Some(interval) })
}

/// What is foretold may be off by this much.
const CLOSE: f64 = 0.2;
/// A request that reads fewer pages than this reads next to nothing, of which no share is worth telling.
const READS_MIN: f64 = 0.5;

/// Size of the pool and load, both in percent; pages that were read, and those that were foretold.
type At = (u32, String, Estimate, f64);

/// Reads at each size of the buffer pool and load, against what pages and plan foretold of them.
pub(super) fn pools(setting: &Setting, cells: &[Cell<'_>]) -> Finding {
    let name = "reads-are-foretold";
    let published = "not published: pages, plan and requests in flight predict within 20 % how many pages a \
                     request reads from disk, by the size of the pool";
    let own = || cells.iter().filter(|cell| cell.part.name == POOL);
    let levels: BTreeSet<(u32, &str)> =
        own().filter_map(|cell| Some((cell.level(POOL_PERCENT).parse().ok()?, cell.level(LOAD)))).collect();
    let of = |(percent, load): (u32, &str), figure: &str| {
        let at = [(POOL_PERCENT, &*percent.to_string()), (LOAD, load)];
        Estimate::of(&means(setting, cells, POOL, &at, figure))
    };
    let told = |at: (u32, &'_ str)| {
        let (reads, foretold) = (of(at, READS)?, of(at, FORETOLD)?);
        (reads.mean.max(foretold.mean) >= READS_MIN).then(|| (at.0, at.1.to_owned(), reads, foretold.mean))
    };
    let all: Vec<At> = levels.into_iter().filter_map(told).collect();
    if all.is_empty() {
        return untested(
            name,
            POOL,
            published,
            "No size of the pool has both: this needs private servers, whose pages can be read, and a pool \
             that is too small for them.",
        );
    }
    let is_close = |foretold: f64, reads: f64| (foretold / reads - 1.0).abs() <= CLOSE;
    let close = |(_, _, reads, foretold): &At| -> Option<bool> {
        let (low, high) = (reads.low()?, reads.high()?);
        match () {
            () if is_close(*foretold, low) && is_close(*foretold, high) => Some(true),
            () if *foretold > (1.0 + CLOSE) * high || *foretold < (1.0 - CLOSE) * low => Some(false),
            () => None,
        }
    };
    let each: Vec<Option<bool>> = all.iter().map(close).collect();
    let holds = match () {
        () if each.contains(&Some(false)) => Some(false),
        () if each.iter().all(|close| *close == Some(true)) => Some(true),
        () => None,
    };
    let words = all.iter().map(|(percent, load, reads, foretold)| {
        let [foretold, reads] = [*foretold, reads.mean].map(|reads| format::significant(reads, 3));
        format!("{foretold} predicted and {reads} read with a pool of {percent} % at a load of {load} %")
    });
    let here = format!("Here a request has {}.", words.collect::<Vec<_>>().join(", "));
    let number = |(percent, load, reads, foretold): &At| {
        let ends = reads.high().zip(reads.low().filter(|low| *low > 0.0));
        (reads.mean > 0.0).then(|| Number {
            name: format!("foretold_over_read_with_{percent}_percent_at_{load}"),
            value: foretold / reads.mean,
            interval: ends.map(|(high, low)| (foretold / high, foretold / low)),
        })
    };
    finding(name, POOL, published, holds, here, all.iter().filter_map(number).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figures(reads_more: f64, tau_more: f64) -> impl Fn(&str, &str) -> Vec<f64> {
        move |layout, figure| {
            let more = if layout == "script" { 1.0 } else { 0.0 };
            match figure {
                AT_ONCE => vec![200.0 + 40.0 * more],
                ONE_BY_ONE => vec![300.0 + 60.0 * more],
                UNDER_WAY => vec![40.0],
                READS => [190.0, 200.0, 210.0].map(|reads| reads + reads_more * more).to_vec(),
                READ => vec![0.1, 0.11, 0.12],
                _ => [30.0, 31.0, 32.0].map(|tau| tau + tau_more * more).to_vec(),
            }
        }
    }

    #[test]
    fn pages_are_priced_by_what_they_make_of_reads_and_of_time() {
        let price = price(figures(50.0, 8.8));
        let shares: Vec<(&str, f64)> =
            price.numbers.iter().map(|number| (number.name.as_str(), number.value)).collect();
        assert!((shares[0].1 - 0.8).abs() < 1e-9 && (shares[1].1 - 0.5).abs() < 1e-9, "{shares:?}");
        for number in &price.numbers {
            let (low, high) = number.interval.unwrap();
            assert!(low < number.value && number.value < high, "{number:?}");
        }
        assert!(
            price.words.contains("40.0 more reads per request after the script: 80.0 % ("),
            "{}",
            price.words
        );
    }

    #[test]
    fn a_share_of_what_may_be_no_difference_is_not_told() {
        let price = price(figures(2.0, 0.1));
        assert!(price.numbers.is_empty() && price.words.contains("an unknown share"), "{}", price.words);
        assert!(super::price(|_, _| Vec::new()).words.is_empty());
    }
}
