//! Statements with their class, and how the server answers them.

use super::Look;
use super::grid::{GridColumn, Ink, Place, lines, paint, wrap};
use crate::format;
use crate::format::plain;
use evenkeel_lab::explain::Refused;
use evenkeel_study::store::format::StatementPlanRecord;

/// A statement with at least this share of the work, in percent, is a heavy hitter.
pub const HEAVY_PERCENT: f64 = 20.0;

/// A table of statements, the heaviest first, then the text and plan of each.
pub fn plans(plans: &[StatementPlanRecord], look: Look) -> String {
    if plans.is_empty() {
        return "No statement has a plan.\n".to_owned();
    }
    let sorted = by_share(plans);
    let columns = vec![
        GridColumn::of(&sorted, ["statement", ""], false, 0, |plan| Place::new(&plan.statement, Ink::Strong)),
        GridColumn::of(&sorted, ["class", ""], false, 0, |plan| plan.class.to_string()),
        GridColumn::of(&sorted, ["work", ""], true, 1, |plan| share(plan)),
        GridColumn::of(&sorted, ["why", ""], false, 2, |plan| plan.reason.clone()),
    ];
    let details: String = sorted.iter().map(|plan| detail(plan, look)).collect();
    format!("{}{details}", lines(columns, &[], look))
}

/// What the server said against statements, with what they ask; nothing where it took all.
pub fn refused(refused: &[Refused], look: Look) -> String {
    let one = |refused: &Refused| {
        let (name, sql) = (paint("refused:", Ink::Bad, look.colour), &refused.sql);
        let width = look.width.saturating_sub(2);
        // ER_NO_DB_ERROR.
        let hint = if refused.code == 1046 { "  hint: name the database: URL/shop\n" } else { "" };
        format!("\n{name} {}\n  {}\n{hint}", plain(&refused.to_string()), wrap(sql, width, 2))
    };
    refused.iter().map(one).collect()
}

/// The heaviest first; those whose share was not measured keep their order behind.
pub fn by_share(plans: &[StatementPlanRecord]) -> Vec<&StatementPlanRecord> {
    let share = |plan: &StatementPlanRecord| plan.work_share_percent.unwrap_or(-1.0);
    let mut sorted: Vec<&StatementPlanRecord> = plans.iter().collect();
    sorted.sort_by(|a, b| share(b).total_cmp(&share(a)));
    sorted
}

fn share(plan: &StatementPlanRecord) -> Place {
    match plan.work_share_percent.filter(|share| share.is_finite()) {
        Some(share) if share >= HEAVY_PERCENT => Place::new(format::percent(share), Ink::Doubt),
        Some(share) => Place::new(format::percent(share), Ink::Plain),
        None => Place::new("-", Ink::Soft),
    }
}

fn detail(plan: &StatementPlanRecord, look: Look) -> String {
    let width = look.width.saturating_sub(2);
    let tree: String =
        plan.plan.trim_end().lines().map(|line| format!("  {}\n", plain(&untabbed(line)))).collect();
    let not_made = plan.not_made.as_ref().map_or_else(String::new, |why| {
        format!("  {}\n", wrap(&plain(&format!("not measured: {why}")), width, 2))
    });
    let proposal = plan.proposal.as_ref().map_or_else(String::new, |index| {
        let rows = plan.rows_share_percent.unwrap_or(0.0);
        let share =
            format!("this statement reads {} of all rows that the workload reads", format::percent(rows));
        format!("  proposal, not tried: {};\n  {}\n", plain(index), wrap(&share, width, 2))
    });
    format!(
        "\n{}\n  {}\n{not_made}{tree}{proposal}",
        paint(&plain(&plan.statement), Ink::Strong, look.colour),
        wrap(&plan.sql, width, 2)
    )
}

/// Tabs as blanks: what is left would be dropped as a control character.
fn untabbed(line: &str) -> String {
    line.replace('\t', "  ")
}
