//! What larger buffer pools save, in the terminal.

use super::Look;
use super::grid::{GridColumn, lines};
use super::paint::wrap;
use crate::format;
use evenkeel_study::profile::reductions;
use evenkeel_study::store::format::{PlanFile, SummaryFile};

/// A line for each pool and rate; nothing where the pool is no factor.
pub fn reduction(plan: &PlanFile, summary: &SummaryFile, look: Look) -> String {
    let all = reductions(plan, summary);
    if all.is_empty() {
        return String::new();
    }
    let label =
        |series: usize| plan.series.get(series).map_or_else(String::new, |series| series.label.clone());
    let titles: Vec<(usize, String)> = (0..all.len())
        .filter(|row| *row == 0 || all[row - 1].series != all[*row].series)
        .map(|row| (row, label(all[row].series)))
        .collect();
    let columns = vec![
        GridColumn::of(&all, ["rate", "1/s"], true, 0, |one| format::short(one.rate_per_s)),
        GridColumn::of(&all, ["response less by", ""], true, 0, format::saved),
        GridColumn::of(&all, ["of it", "%"], true, 1, format::saved_percent),
    ];
    let words =
        "What a larger buffer pool saves: response time with the smallest pool less that with this one";
    format!("{}\n{}", wrap(words, look.width, 0), lines(columns, &titles, look))
}
