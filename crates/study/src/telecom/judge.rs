//! What the runs come to, beside the published findings.

use super::parts::{DAYS, LOAD, cell};
use super::record::Setting;
use super::references::references;
use super::words::{self, LITTLE};
use crate::format;
use crate::harness::{Cell, Finding, Judgement, Number, Outcome, Plan, Run, above, cells};
use evenkeel_core::statistics::{Ratio, unpaired_ratio};

pub fn judge(plan: &Plan, setting: &Setting, runs: &[Run]) -> Judgement {
    let cells = cells(plan, runs);
    let findings = vec![
        untuned(&cells),
        my_isam(&cells),
        order(&cells, "tuned", "InnoDB"),
        order(&cells, "myisam", "MyISAM"),
        separators(&cells),
    ];
    Judgement {
        headline: words::headline(&cells, &findings),
        published: words::PUBLISHED,
        source: words::SOURCE,
        rule: words::rule(),
        setting: words::setting(plan, setting),
        sentences: words::sentences(plan, setting, &cells),
        caveats: words::caveats(plan, setting, runs),
        place: words::place(setting),
        references: references(),
        findings,
        ..Judgement::default()
    }
}

/// Seconds of one cell over those of another.
fn ratio(cells: &[Cell<'_>], part: &str, of: &[&str], over: &[&str]) -> Option<Ratio> {
    let seconds = |levels| Some(cell(cells, part, levels)?.values("seconds"));
    unpaired_ratio(&seconds(of)?, &seconds(over)?)
}

fn in_words(ratio: Option<&Ratio>, words: &str) -> String {
    ratio.map_or_else(
        || "It was not measured.".to_owned(),
        |ratio| format!("Here {words} {} times as long.", format::ratio(ratio)),
    )
}

fn untuned(cells: &[Cell<'_>]) -> Finding {
    let ratio = ratio(cells, LOAD, &["untuned", "before"], &["tuned", "before"]);
    Finding {
        name: "tuning-shortens-the-load",
        part: LOAD.to_owned(),
        outcome: Outcome::of(above(ratio.as_ref(), 1.0)),
        published: "InnoDB untuned takes more than 24 h for a day, tuned 12 h 32 min".to_owned(),
        here: in_words(ratio.as_ref(), "untuned takes"),
        numbers: Number::of("untuned_over_tuned", ratio.as_ref()),
    }
}

fn my_isam(cells: &[Cell<'_>]) -> Finding {
    let ratio = ratio(cells, LOAD, &["tuned", "after"], &["myisam", "after"]);
    Finding {
        name: "myisam-is-faster",
        part: LOAD.to_owned(),
        outcome: Outcome::of(above(ratio.as_ref(), 1.0)),
        published: "MyISAM takes 79 min for a day with its indexes, InnoDB 149 min".to_owned(),
        here: in_words(ratio.as_ref(), "InnoDB takes"),
        numbers: Number::of("innodb_over_myisam", ratio.as_ref()),
    }
}

/// Little difference is a claim of sameness: it holds where all of the interval is near 1, and does not where none of it is.
fn order(cells: &[Cell<'_>], way: &str, engine: &str) -> Finding {
    let ratio = ratio(cells, LOAD, &[way, "before"], &[way, "after"]);
    let (low, high) = (1.0 / (1.0 + LITTLE), 1.0 + LITTLE);
    let known = ratio.as_ref().and_then(|ratio| ratio.interval).and_then(|interval| match interval {
        (from, to) if from >= low && to <= high => Some(true),
        (from, to) if from > high || to < low => Some(false),
        _ => None,
    });
    Finding {
        name: if way == "tuned" { "order-matters-little-innodb" } else { "order-matters-little-myisam" },
        part: LOAD.to_owned(),
        outcome: Outcome::of(known),
        published: format!("{engine}: indexes before or after the load make little difference"),
        here: in_words(ratio.as_ref(), "with the indexes before it takes"),
        numbers: Number::of(&format!("{way}_before_over_after"), ratio.as_ref()),
    }
}

fn separators(cells: &[Cell<'_>]) -> Finding {
    let ratio = ratio(cells, DAYS, &["widths"], &["delimited"]);
    Finding {
        name: "separators-from-the-source-save-time",
        part: DAYS.to_owned(),
        outcome: Outcome::of(above(ratio.as_ref(), 1.0)),
        published: "separators from the source save 3 h 20 min of 15 h 20 min (1.28 times as long without)"
            .to_owned(),
        here: in_words(ratio.as_ref(), "adding them by a file between takes"),
        numbers: Number::of("added_over_from_source", ratio.as_ref()),
    }
}
