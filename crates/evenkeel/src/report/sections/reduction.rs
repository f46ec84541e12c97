//! What larger buffer pools save, as a table.

use super::{field, head, row as named, section, table};
use crate::format;
use crate::report::study::Study;
use evenkeel_study::profile::{Reduction, reductions};

/// A row for each pool and rate; nothing where the pool is no factor.
pub fn reduction(study: &Study) -> String {
    let all = reductions(&study.plan, &study.summary);
    if all.is_empty() {
        return String::new();
    }
    let head = ["pool", "rate", "response less by", "percent of it"].map(|name| head(name, "")).concat();
    let rows: String = all.iter().map(|one| row(study, one)).collect();
    let table = table(
        "Reduction of the response time against the smallest pool",
        &head,
        &format!("<tbody>\n{rows}</tbody>"),
    );
    let words = "Mean response time with the smallest buffer pool, less that with each larger one at the \
                 same rate, with 95 % intervals. Rates at which the larger pool was overloaded are left out.";
    section("reduction", "What a larger pool saves", words, &table)
}

fn row(study: &Study, one: &Reduction) -> String {
    let label = study.plan.series.get(one.series).map_or("", |series| series.label.as_str());
    let texts = [format::rate(one.rate_per_s), format::saved(one), format::saved_percent(one)];
    named(label, &texts.map(|text| field(&text)).concat())
}
