//! The list of studies.

use super::Look;
use super::grid::{GridColumn, Place, lines};
use super::paint::Ink;
use crate::format;
use evenkeel_lab::store::format::{EstimateRecord, PlanFile, SummaryFile};

/// A study in the list; the summary is absent where no run has finished.
type Study = (PlanFile, Option<SummaryFile>);

/// One line for each study, in the order given.
pub fn runs(studies: &[Study], look: Look) -> String {
    if studies.is_empty() {
        return "No studies yet.\n".to_owned();
    }
    let columns = vec![
        column(studies, "study", 0, |(plan, _)| Place::new(&plan.id, Ink::Strong)),
        column(studies, "started", 4, |(plan, _)| Place::new(format::date(plan.created_unix_s), Ink::Soft)),
        column(studies, "workload", 2, |(plan, _)| {
            Place::new(each(plan.series.iter().map(|s| &s.workload)), Ink::Plain)
        }),
        column(studies, "target", 5, |(plan, _)| {
            Place::new(each(plan.targets.iter().map(|t| &t.url)), Ink::Plain)
        }),
        column(studies, "runs", 3, |(plan, summary)| {
            Place::new(progress(plan, summary.as_ref()), Ink::Plain)
        }),
        column(studies, "carries", 1, |(_, summary)| Place::new(carries(summary.as_ref()), Ink::Plain)),
        column(studies, "trusted theta", 2, |(_, summary)| Place::new(trusted(summary.as_ref()), Ink::Plain)),
        column(studies, "state", 1, |(_, summary)| state(summary.as_ref())),
    ];
    lines(columns, &[], look)
}

fn column(studies: &[Study], head: &str, rank: u8, place: fn(&Study) -> Place) -> GridColumn {
    let places = studies.iter().map(place).collect();
    GridColumn { head: [head.to_owned(), String::new()], right: false, rank, places }
}

fn each<'a>(names: impl Iterator<Item = &'a String>) -> String {
    let mut each: Vec<&str> = Vec::new();
    for name in names {
        if !each.contains(&name.as_str()) {
            each.push(name);
        }
    }
    each.join(", ")
}

fn progress(plan: &PlanFile, summary: Option<&SummaryFile>) -> String {
    let planned = plan.cells.len() as u32 * plan.settings.repeats;
    summary.map_or_else(
        || format!("0/{planned}"),
        |summary| format!("{}/{}", summary.runs_done, summary.runs_planned),
    )
}

/// `61.5 ± 1.2/s`, or from the least to the most of several groups.
fn carries(summary: Option<&SummaryFile>) -> String {
    let headlines = summary.map_or(&[][..], |summary| &summary.headlines);
    let capacities: Vec<&EstimateRecord> =
        headlines.iter().filter_map(|headline| headline.capacity_per_s.as_ref()).collect();
    match capacities.as_slice() {
        [] => "-".to_owned(),
        [one] => format::estimate_rate(one),
        many => range(many.iter().filter_map(|capacity| format::mean(capacity)), format::rate),
    }
}

fn trusted(summary: Option<&SummaryFile>) -> String {
    let headlines = summary.map_or(&[][..], |summary| &summary.headlines);
    let limits = headlines.iter().filter_map(|headline| headline.trust_theta_percent);
    range(limits, format::percent)
}

fn range(values: impl Iterator<Item = f64>, words: fn(f64) -> String) -> String {
    let values: Vec<f64> = values.filter(|value| value.is_finite()).collect();
    let low = values.iter().copied().fold(f64::INFINITY, f64::min);
    let high = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    match values.len() {
        0 => "-".to_owned(),
        _ if low == high => words(low),
        _ => format!("{} to {}", format::short(low), words(high)),
    }
}

fn state(summary: Option<&SummaryFile>) -> Place {
    match summary {
        Some(summary) if !summary.valid => Place::new("not valid", Ink::Bad),
        Some(summary) if summary.complete => Place::new("complete", Ink::Good),
        _ => Place::new("unfinished", Ink::Doubt),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    #[test]
    fn each_study_has_a_line_with_what_it_came_to() {
        let (demo, empty) = (fixture::demo(), fixture::empty());
        let studies = [(demo.plan, Some(demo.summary)), (empty.plan, None)];
        let text = runs(&studies, Look { width: 160, colour: false });
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 3, "{text}");
        assert!(lines[1].contains("56.8 ± 0.5/s") && lines[1].ends_with("complete"), "{text}");
        assert!(lines[2].contains("0/18") && lines[2].ends_with("unfinished"), "{text}");
    }

    #[test]
    fn several_groups_show_their_range() {
        let factors = fixture::factors();
        let text = runs(&[(factors.plan, Some(factors.summary))], Look { width: 160, colour: false });
        assert!(text.contains("39.8 to 50.1/s"), "{text}");
    }

    #[test]
    fn an_empty_list_is_a_sentence() {
        assert_eq!(runs(&[], Look { width: 80, colour: false }), "No studies yet.\n");
    }
}
