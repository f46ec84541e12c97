//! Runs as they end, and what they come to, for people.

use super::outcome::{Cell, Spread, cells};
use super::record::{Run, Setting};
use super::{NAMES, SHARES};
use std::fmt::Write as _;

/// Above the runs.
pub const HEADER: &str = "way           most round host share  orders/min   se  order ms  I/Os/s  I/O ms  window  wanted  \
                          no stock  lost\n";

/// A row for each host.
pub fn run(run: &Run) -> String {
    let mut text = String::new();
    for (place, host) in run.hosts.iter().enumerate() {
        let number = |value: Option<f64>, digits: usize| {
            value.map_or_else(|| "-".to_owned(), |value| format!("{value:.digits$}"))
        };
        let _ = writeln!(
            text,
            "{:<13} {:>4} {:>5} {:>4} {:>5} {:>11.0} {:>4} {:>9.0} {:>7.0} {:>7} {:>7.1} {:>7.1} {:>9} {:>5}",
            run.key.way.name(),
            run.key.most,
            run.key.round,
            NAMES[place],
            SHARES[place],
            host.orders_per_minute,
            number(host.standard_error, 0),
            host.response_ms,
            host.ios_per_s,
            number(host.latency_ms, 1),
            host.window,
            host.wanted,
            host.rolled_back,
            host.lost,
        );
    }
    text
}

/// What they come to.
pub fn summary(setting: &Setting, runs: &[Run]) -> String {
    let mut text = String::from(
        "\norders of host b over those of host a; medians over rounds, in brackets the range\n\
         way           most  b/a                 published  bound by     orders of both, of uncontrolled\n",
    );
    for cell in cells(setting, runs) {
        let published = cell.published().map_or_else(|| "-".to_owned(), |of| format!("{:.2}", of.ratio()));
        let bound = cell.bound().map_or_else(|| "-".to_owned(), |bound| bound.to_string());
        let _ = writeln!(
            text,
            "{:<13} {:>4}  {:<18} {published:>10}  {bound:<12} {}",
            cell.way.name(),
            cell.most,
            spread(cell.ratio(), &cell),
            spread(cell.kept(), &cell)
        );
    }
    for doubt in runs.iter().flat_map(Run::doubts) {
        let _ = writeln!(text, "doubt: {doubt}");
    }
    text
}

/// `1.68 (1.28 to 2.08)`; of one run without a range.
pub fn spread(spread: Option<Spread>, of: &Cell<'_>) -> String {
    match spread {
        None => "-".to_owned(),
        Some(spread) if of.runs.len() < 2 => format!("{:.2}", spread.median),
        Some(spread) => format!("{:.2} ({:.2} to {:.2})", spread.median, spread.low, spread.high),
    }
}

#[cfg(test)]
mod tests {
    use super::super::fixture;
    use super::*;
    use evenkeel_core::share::experiment::Treatment as Way;

    #[test]
    fn columns_stand_below_their_heads() {
        let rows = run(&fixture::run(Way::Uncontrolled, 32, 1, [12_345.0, 900.0]));
        let row = rows.lines().next().unwrap();
        for (head, cell) in
            [("orders/min", "12345"), ("I/Os/s", "600"), ("wanted", "12.0"), ("no stock", "3")]
        {
            let end = |text: &str, word: &str| text.find(word).map(|at| at + word.len());
            let begin = end(HEADER, head).unwrap() - cell.len();
            assert_eq!(&row[begin..begin + cell.len()], cell, "{HEADER}{row}");
        }
        assert_eq!(row.len(), HEADER.trim_end().len());
    }

    #[test]
    fn several_rounds_have_a_range_and_one_has_none() {
        let mut runs = [
            fixture::run(Way::Parda, 32, 1, [1_000.0, 1_500.0]),
            fixture::run(Way::Parda, 32, 2, [1_000.0, 2_500.0]),
            fixture::run(Way::Evenkeel, 64, 1, [1_000.0, 3_000.0]),
        ];
        runs[2].caveats.push("host a: late".to_owned());
        let text = summary(&fixture::setting(), &runs);
        assert!(text.contains("parda           32  2.00 (1.50 to 2.50)       1.78  neither"), "{text}");
        assert!(text.contains("evenkeel        64  3.00                        -  neither"), "{text}");
        assert!(text.ends_with("\ndoubt: evenkeel, most window 64, round 1, host a: late\n"), "{text}");
    }
}
