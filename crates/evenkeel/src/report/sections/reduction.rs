//! What larger buffer pools save, as a table.

use super::{section, table};
use crate::format;
use crate::report::markup::Text;
use crate::report::study::Study;
use evenkeel_study::profile::{Reduction, reductions};

/// A row for each pool and rate; nothing where the pool is no factor.
pub fn reduction(study: &Study<'_>) -> String {
    let all = reductions(study.plan, study.summary);
    if all.is_empty() {
        return String::new();
    }
    let head = ["pool", "rate", "response less by", "percent of it"]
        .map(|name| format!("<th scope=\"col\">{name}</th>"))
        .concat();
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

fn row(study: &Study<'_>, one: &Reduction) -> String {
    let label = study.plan.series.get(one.series).map_or("", |series| series.label.as_str());
    format!(
        "<tr><th scope=\"row\">{}</th><td>{}</td><td>{}</td><td>{}</td></tr>\n",
        Text(label),
        Text(&format::rate(one.rate_per_s)),
        Text(&format::saved(one)),
        Text(&format::saved_percent(one))
    )
}
