//! The published findings beside ours.

use super::figures::{NETWORK, READS, TAU, THETA};
use super::judge::Found;
use super::parts::{COMPLEX_STATEMENT, LAYOUT, LOAD, POOL, RATES, SIMPLE, WRITE};
use super::record::Setting;
use super::seen::{self, on_targets};
use crate::format;
use crate::harness::{Cell, Finding, Number, Outcome};
use evenkeel_core::statistics::{Estimate, Ratio, unpaired_ratio};
use evenkeel_core::trust::{Reason, Tolerance, TrustLimit};
use evenkeel_core::why::{Ruling, Suspect};

/// Utilisation up to which script-filled servers of the study agreed, percent.
const PUBLISHED_LIMIT: f64 = 50.0;

/// All of them, in the order of their figures.
pub(super) fn all(setting: &Setting, cells: &[Cell<'_>], found: &Found<'_>) -> Vec<Finding> {
    vec![
        limit(setting, found),
        network(found),
        pool(cells),
        pool_at_high_rates(cells),
        dump(cells),
        servers(setting, found),
        simple(setting, cells),
        write(setting, cells),
        untested(
            "write-on-guests-and-hosts",
            WRITE,
            "a guest carries more than twice the host's writes (Figure 14)",
            "There is one domain: a guest beside its host takes a hypervisor.",
        ),
        untested(
            "statements-of-a-class-alike",
            RATES,
            "all statements of a class behave alike",
            "One statement of each class is measured.",
        ),
    ]
}

fn untested(name: &'static str, part: &str, published: &str, why: &str) -> Finding {
    Finding {
        name,
        part: part.to_owned(),
        outcome: Outcome::NotTestable,
        published: published.to_owned(),
        here: why.to_owned(),
        numbers: Vec::new(),
    }
}

fn finding(
    name: &'static str,
    part: &str,
    published: &str,
    holds: Option<bool>,
    here: String,
    numbers: Vec<Number>,
) -> Finding {
    Finding { outcome: Outcome::of(holds), here, numbers, ..untested(name, part, published, "") }
}

/// Figure 7: repeats and servers agree up to half of the CPU, and part beyond.
fn limit(setting: &Setting, found: &Found<'_>) -> Finding {
    let published =
        "runs and servers agree up to a utilisation of 50 %, and differ by hundreds of ms at 80 % (Figure 7)";
    let name = "agreement-ends-at-half-load";
    if setting.workload != COMPLEX_STATEMENT {
        return untested(name, RATES, published, "Another workload was asked.");
    }
    let highest = found.rates.iter().filter_map(|at| at.point.as_ref()?.utilisation).reduce(f64::max);
    let numbers: Vec<Number> = found
        .limit
        .utilisation
        .map(|limit| Number::plain("trust_limit_percent", limit))
        .into_iter()
        .collect();
    let holds = match (&found.limit.end, found.limit.utilisation, highest) {
        (Some(_), Some(limit), _) if limit >= PUBLISHED_LIMIT - 15.0 => Some(true),
        (Some(end), _, _) if end.utilisation.is_some_and(|theta| theta < PUBLISHED_LIMIT) => {
            // A few runs agree by chance or do not; what has to be repeated more often says nothing against them.
            if matches!(end.reason, Reason::TooFewRuns(_) | Reason::TooShort) { None } else { Some(false) }
        }
        (None, Some(_), Some(highest)) if highest >= 80.0 => Some(false),
        _ => None,
    };
    finding(name, RATES, published, holds, format!("Here: {}.", found.limit), numbers)
}

/// Table II and Figure 9: the network's delay does not climb with the rate as response times do.
fn network(found: &Found<'_>) -> Finding {
    let ruling = |at: &super::judge::AtRate<'_>| {
        let why = at.why.as_ref()?;
        why.verdicts.iter().find(|verdict| verdict.suspect == Suspect::Network).map(|verdict| verdict.ruling)
    };
    let rulings: Vec<Ruling> = found.rates.iter().filter_map(ruling).collect();
    let holds = match () {
        () if rulings.contains(&Ruling::Cause) => Some(false),
        () if !rulings.is_empty() && rulings.iter().all(|ruling| *ruling == Ruling::NotTheCause) => {
            Some(true)
        }
        () => None,
    };
    let delays: Vec<Number> = found
        .rates
        .iter()
        .filter_map(|at| {
            let values: Vec<f64> = at
                .runs
                .iter()
                .filter_map(|run| {
                    run.run.figure(NETWORK).or_else(|| {
                        run.run
                            .figures
                            .iter()
                            .find(|(name, _)| name.starts_with(NETWORK))
                            .map(|(_, value)| *value)
                    })
                })
                .collect();
            let mean = Estimate::of(&values)?;
            let name = format!("network_ms_at_{}_per_s", at.rate.round());
            Some(Number { name, value: mean.mean, interval: mean.low().zip(mean.high()) })
        })
        .collect();
    let told: Vec<String> = delays.iter().map(|delay| format::significant(delay.value, 3)).collect();
    let here = match told.is_empty() {
        true => "It was not measured.".to_owned(),
        false => format!(
            "Here the delay of a probe, without waiting for a CPU, is {} ms from the lowest rate to the highest.",
            told.join(", ")
        ),
    };
    let published = "the network is not the cause: 1.43 to 2.05 ms from 10 to 40/s (Table II)";
    finding("network-is-not-the-cause", RATES, published, holds, here, delays)
}

/// Cells of a part at one level of each of some factors.
fn taus(cells: &[Cell<'_>], part: &str, levels: &[(&str, &str)], figure: &str) -> Vec<f64> {
    let is_it = |cell: &&Cell<'_>| {
        cell.part.name == part && levels.iter().all(|(factor, level)| cell.level(factor) == *level)
    };
    cells.iter().filter(is_it).flat_map(|cell| cell.values(figure)).collect()
}

fn above(ratio: Option<&Ratio>, least: f64) -> Option<bool> {
    match ratio?.interval? {
        (low, _) if low > least => Some(true),
        (_, high) if high <= least => Some(false),
        _ => None,
    }
}

fn number(name: &str, ratio: Option<&Ratio>) -> Vec<Number> {
    ratio
        .map(|ratio| Number { name: name.to_owned(), value: ratio.ratio, interval: ratio.interval })
        .into_iter()
        .collect()
}

/// Smallest and largest level of a numeric factor of a part that was measured.
fn ends(cells: &[Cell<'_>], part: &str, factor: &str) -> Option<(String, String)> {
    let own = || cells.iter().filter(|cell| cell.part.name == part);
    let by = |one: &&Cell<'_>, other: &&Cell<'_>| {
        one.number(factor).unwrap_or_default().total_cmp(&other.number(factor).unwrap_or_default())
    };
    let (low, high) = (own().min_by(by)?.level(factor), own().max_by(by)?.level(factor));
    (low != high).then(|| (low.to_owned(), high.to_owned()))
}

fn pool_ratio(cells: &[Cell<'_>], load: &str) -> Option<Ratio> {
    let (small, large) = ends(cells, POOL, "pool-percent")?;
    let of = |pool: &str| taus(cells, POOL, &[("pool-percent", pool), (LOAD, load)], TAU);
    unpaired_ratio(&of(&small), &of(&large))
}

/// Figure 9: disk I/O is the cause.
fn pool(cells: &[Cell<'_>]) -> Finding {
    let published = "response times and their variation fall as the buffer pool grows from 20 to 100 % of the tables (Figure 9)";
    let Some((small, large)) = ends(cells, POOL, "pool-percent") else {
        return untested(
            "a-larger-pool-takes-it-away",
            POOL,
            published,
            "Only private servers have a buffer pool that is ours to set; or it was not measured.",
        );
    };
    let ratio = ends(cells, POOL, LOAD)
        .map(|(_, high)| high)
        .or_else(|| cells.iter().find(|cell| cell.part.name == POOL).map(|cell| cell.level(LOAD).to_owned()))
        .and_then(|load| pool_ratio(cells, &load));
    let reads = |pool: &str| {
        Estimate::of(&taus(cells, POOL, &[("pool-percent", pool)], READS)).map(|reads| reads.mean)
    };
    let here = match (&ratio, reads(&small), reads(&large)) {
        (Some(ratio), Some(few), Some(many)) => format!(
            "Here tau at {small} % is {} times that at {large} %, with {} and {} reads from disk per request.",
            words(ratio),
            format::significant(few, 3),
            format::significant(many, 3)
        ),
        (Some(ratio), _, _) => format!("Here tau at {small} % is {} times that at {large} %.", words(ratio)),
        _ => "It was not measured.".to_owned(),
    };
    finding(
        "a-larger-pool-takes-it-away",
        POOL,
        published,
        above(ratio.as_ref(), 1.0),
        here,
        number("small_over_large", ratio.as_ref()),
    )
}

/// Figure 10: what a pool saves is more at high rates.
fn pool_at_high_rates(cells: &[Cell<'_>]) -> Finding {
    let published = "a small pool pays most at high rates (Figure 10)";
    let name = "a-pool-pays-at-high-rates";
    let Some((low, high)) = ends(cells, POOL, LOAD) else {
        return untested(name, POOL, published, "It takes two rates at several sizes of the pool.");
    };
    let (low, high) = (pool_ratio(cells, &low), pool_ratio(cells, &high));
    let holds = low.as_ref().zip(high.as_ref()).and_then(|(low, high)| {
        let ((_, low_end), (high_end, _)) = (low.interval?, high.interval?);
        match () {
            () if high_end > low_end => Some(true),
            () if high.interval?.1 < low.interval?.0 => Some(false),
            () => None,
        }
    });
    let here = match (&low, &high) {
        (Some(low), Some(high)) => format!(
            "Here the smallest pool takes {} times as long as the largest at the low rate, and {} times at the high one.",
            words(low),
            words(high)
        ),
        _ => "It was not measured.".to_owned(),
    };
    let numbers = number("at_low_rate", low.as_ref())
        .into_iter()
        .chain(number("at_high_rate", high.as_ref()))
        .collect();
    finding(name, POOL, published, holds, here, numbers)
}

/// Figure 11: the layout is the root cause.
fn dump(cells: &[Cell<'_>]) -> Finding {
    let published = "the same data reloaded from a dump answers faster and alike on all servers (Figure 11)";
    let (script, dump) =
        (taus(cells, LAYOUT, &[("layout", "script")], TAU), taus(cells, LAYOUT, &[("layout", "dump")], TAU));
    let ratio = unpaired_ratio(&script, &dump);
    let reads = |layout: &str| {
        Estimate::of(&taus(cells, LAYOUT, &[("layout", layout)], READS)).map(|reads| reads.mean)
    };
    let here = match (&ratio, reads("script"), reads("dump")) {
        (Some(ratio), Some(script), Some(dump)) => format!(
            "Here tau after the script is {} times that after the dump, with {} and {} reads from disk per request.",
            words(ratio),
            format::significant(script, 3),
            format::significant(dump, 3)
        ),
        (Some(ratio), _, _) => {
            format!("Here tau after the script is {} times that after the dump.", words(ratio))
        }
        _ => "It was not measured: it takes private servers.".to_owned(),
    };
    finding(
        "a-dump-takes-it-away",
        LAYOUT,
        published,
        above(ratio.as_ref(), 1.0),
        here,
        number("script_over_dump", ratio.as_ref()),
    )
}

/// Figure 12: servers of a cloud differ.
fn servers(setting: &Setting, found: &Found<'_>) -> Finding {
    let published = "of ten servers of Amazon EC2 two differ strongly above 12/s (Figure 12)";
    let name = "rented-servers-differ";
    if setting.targets.len() < 2
        || setting.targets.iter().any(|target| target.is_private() || target.url.starts_with("sandbox:"))
    {
        return untested(name, RATES, published, "It takes several servers of yours: name their URLs.");
    }
    let differ = found.rates.iter().filter_map(|at| at.why.as_ref()).map(|why| why.differs());
    let (count, of) = differ.fold((0, 0), |(yes, all), differs| (yes + usize::from(differs), all + 1));
    let here = format!(
        "Here the slowest and the fastest of {} differ at {count} of {of} rates.",
        setting.targets.len()
    );
    finding(
        name,
        RATES,
        published,
        (of > 0).then_some(count > 0),
        here,
        vec![Number::plain("rates_that_differ", count as f64)],
    )
}

/// Figure 13: the simple read.
fn simple(setting: &Setting, cells: &[Cell<'_>]) -> Finding {
    let published = "the simple read differs by less than 1 ms between 20 and 120/s, until connections are refused (Figure 13)";
    let means: Vec<f64> =
        cells.iter().filter(|cell| cell.part.name == SIMPLE).filter_map(|cell| cell.mean(TAU)).collect();
    let low = means.iter().copied().fold(f64::INFINITY, f64::min);
    let high = means.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    if means.len() < 2 {
        return untested("simple-reads-are-alike", SIMPLE, published, "It was not measured.");
    }
    let limit = limit_of(setting, cells, SIMPLE);
    let here = format!(
        "Here means over servers and rates lie {} ms apart; {limit}. Rates were not raised until connections are refused.",
        format::significant(high - low, 3)
    );
    finding(
        "simple-reads-are-alike",
        SIMPLE,
        published,
        Some(high - low < 1.0),
        here,
        vec![Number::plain("means_apart_ms", high - low)],
    )
}

/// Figure 14: the write.
fn write(setting: &Setting, cells: &[Cell<'_>]) -> Finding {
    let published = "variation of the write is negligible up to 80/s (Figure 14)";
    let all: Vec<&Cell<'_>> = cells.iter().filter(|cell| cell.part.name == WRITE).collect();
    if all.iter().map(|cell| cell.runs.len()).sum::<usize>() < 2 {
        return untested("writes-vary-little", WRITE, published, "It was not measured.");
    }
    let limit = limit_of(setting, cells, WRITE);
    let theta = all.iter().filter_map(|cell| cell.mean(THETA)).reduce(f64::max);
    let holds = match &limit.end {
        None => Some(true),
        Some(end) => match end.reason {
            Reason::TooFewRuns(_) | Reason::TooShort => None,
            _ => Some(false),
        },
    };
    let here = format!("Here: {limit}.");
    finding(
        "writes-vary-little",
        WRITE,
        published,
        holds,
        here,
        theta.map(|theta| Number::plain("theta_max_percent", theta)).into_iter().collect(),
    )
}

fn limit_of(setting: &Setting, cells: &[Cell<'_>], part: &str) -> TrustLimit {
    let own: Vec<&Cell<'_>> = cells.iter().filter(|cell| cell.part.name == part).collect();
    let mut loads: Vec<&str> = own.iter().map(|cell| cell.level(LOAD)).collect();
    loads.sort_unstable();
    loads.dedup();
    let point = |load: &str| {
        let at: Vec<&Cell<'_>> = own.iter().copied().filter(|cell| cell.level(LOAD) == load).collect();
        let rate = at.iter().find_map(|cell| cell.mean(super::figures::RATE))?;
        seen::point(setting, &on_targets(setting, &at), rate)
    };
    TrustLimit::of(&loads.into_iter().filter_map(point).collect::<Vec<_>>(), Tolerance::default())
}

fn words(ratio: &Ratio) -> String {
    format::ratio(ratio)
}
