//! How the server answers the workload's statements.

use super::section;
use crate::format;
use crate::report::markup::Text;
use crate::report::study::Study;
use crate::table::{HEAVY_PERCENT, by_share};
use evenkeel_study::store::format::StatementPlanRecord;

/// Statements, the heaviest first; nothing where no plan was stored.
pub fn plans(study: &Study) -> String {
    let plans = by_share(&study.manifest.plans);
    if plans.is_empty() {
        return String::new();
    }
    let several = plans.len() > 1;
    let items: String = plans.into_iter().map(|plan| item(plan, several)).collect();
    let words = "Simple statements use indexes alone, complex ones sort or build temporary tables, writes change rows. \
                 The heavy hitters decide whether an objective is met.";
    section("plans", "Statements", words, &items)
}

fn item(plan: &StatementPlanRecord, several: bool) -> String {
    let share = plan.work_share_percent.filter(|share| share.is_finite());
    let mut marks = format!("<span class=\"chip\">{}</span>", Text(plan.class.word()));
    if let Some(share) = share.filter(|_| several) {
        let heavy = if share >= HEAVY_PERCENT { "heavy hitter, " } else { "" };
        let class = if share >= HEAVY_PERCENT { "chip doubt" } else { "chip" };
        marks.push_str(&format!(
            "<span class=\"{class}\">{heavy}{} of the work</span>",
            format::percent(share)
        ));
    }
    format!(
        "<details class=\"plan\"{}><summary><b>{}</b> {marks} <span class=\"words\">{}</span></summary>\
         <pre>{}</pre><pre>{}</pre></details>\n",
        if several { "" } else { " open" },
        Text(&plan.statement),
        Text(&plan.reason),
        Text(plan.sql.trim()),
        Text(plan.plan.trim_end())
    )
}
