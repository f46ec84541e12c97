//! The list of studies.

use super::Look;
use super::grid::{GridColumn, Place, lines};
use super::paint::{Ink, paint};
use crate::failed;
use crate::format::{self, plain};
use evenkeel_core::digits::{between, ceiling, floor};
use evenkeel_study::store::format::{BoundsRecord, EstimateRecord, PlanFile, SummaryFile};

/// A study in the list, and in its JSON.
#[derive(Clone, Debug, serde::Serialize)]
pub struct ListedStudy {
    /// Name of its folder.
    pub study: String,
    /// Absent where it cannot be read.
    pub plan: Option<PlanFile>,
    /// Absent where no run has finished, or a run cannot be read.
    pub summary: Option<SummaryFile>,
    /// Of a published study, in place of both.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub published: Option<ListedPublished>,
    /// What is wrong with the folder, if something is.
    pub damaged: Option<Damage>,
}

/// A published study in the list.
#[derive(Clone, Debug, serde::Serialize)]
pub struct ListedPublished {
    /// Name of the published study, as `throttling`.
    pub kind: String,
    /// Seconds since 1970.
    pub created_unix_s: u64,
    /// Runs that are finished.
    pub runs: usize,
    /// Runs of the parts that have begun.
    pub planned: usize,
    /// What it says first.
    pub headline: String,
}

/// What is wrong with a folder.
#[derive(Clone, Debug, serde::Serialize)]
pub struct Damage {
    /// The file and why it cannot be read.
    pub text: String,
    /// What to do.
    pub hint: Option<String>,
}

/// One line for each study, in the order given; below, what is wrong with those that are damaged.
pub fn runs(studies: &[ListedStudy], look: Look) -> String {
    if studies.is_empty() {
        return "No studies yet.\n".to_owned();
    }
    let columns = vec![
        column(studies, "study", 0, |study| Place::new(&study.study, Ink::Strong)),
        column(studies, "started", 4, |study| {
            let of_published = study.published.as_ref().map(|published| published.created_unix_s);
            let started = of_published.or_else(|| study.plan.as_ref().map(|plan| plan.created_unix_s));
            Place::new(started.map_or_else(|| "-".to_owned(), format::date), Ink::Soft)
        }),
        column(studies, "workload", 2, |study| match &study.published {
            Some(published) => Place::new(format!("study of {}", published.kind), Ink::Plain),
            None => {
                Place::new(of_plan(study, |plan| each(plan.series.iter().map(|s| &s.workload))), Ink::Plain)
            }
        }),
        column(studies, "target", 5, |study| {
            Place::new(of_plan(study, |plan| each(plan.targets.iter().map(|t| &t.url))), Ink::Plain)
        }),
        column(studies, "runs", 3, |study| Place::new(progress(study), Ink::Plain)),
        column(studies, "carries", 1, |study| Place::new(carries(study.summary.as_ref()), Ink::Plain)),
        column(studies, "trusted CPU use", 2, |study| {
            Place::new(trusted(study.summary.as_ref()), Ink::Plain)
        }),
        column(studies, "state", 1, state),
    ];
    let damages =
        studies.iter().filter_map(|study| Some(damage(&study.study, study.damaged.as_ref()?, look)));
    format!("{}{}", lines(columns, &[], look), damages.collect::<String>())
}

/// What is wrong with a study and what to do about it.
pub fn damage(study: &str, damage: &Damage, look: Look) -> String {
    let hint = damage.hint.as_ref().map_or_else(String::new, |hint| format!("\n  hint: {}", plain(hint)));
    format!("{} {}: {}{hint}\n", paint("damaged:", Ink::Bad, look.colour), plain(study), plain(&damage.text))
}

fn of_plan(study: &ListedStudy, of: fn(&PlanFile) -> String) -> String {
    study.plan.as_ref().map_or_else(|| "-".to_owned(), of)
}

fn column(studies: &[ListedStudy], head: &str, rank: u8, place: fn(&ListedStudy) -> Place) -> GridColumn {
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

fn progress(study: &ListedStudy) -> String {
    if let Some(published) = &study.published {
        return format!("{}/{}", published.runs, published.planned);
    }
    match (&study.summary, &study.plan) {
        (Some(summary), _) => format!("{}/{}", summary.runs_done, summary.runs_planned),
        (None, Some(plan)) if study.damaged.is_none() => {
            let planned = (plan.cells.len() as u64).saturating_mul(u64::from(plan.settings.repeats));
            if plan.settings.is_sequence() { "0".to_owned() } else { format!("0/{planned}") }
        }
        _ => "-".to_owned(),
    }
}

/// `430 to 590/s`, the bounds of all groups together. In studies without bounds `61.5 ± 1.2/s`, or from the least to the
/// most of several groups.
fn carries(summary: Option<&SummaryFile>) -> String {
    let headlines = summary.map_or(&[][..], |summary| &summary.headlines);
    let bounds = || headlines.iter().map(|headline| &headline.bounds);
    if bounds().any(BoundsRecord::is_something) {
        let least = bounds().filter_map(|bounds| bounds.at_least_per_s).reduce(f64::min);
        let most = bounds().filter_map(|bounds| bounds.at_most_per_s).reduce(f64::max);
        return match (least, most) {
            (Some(least), Some(most)) => format!("{}/s", between(least, most)),
            (Some(least), None) => format!("≥ {}/s", floor(least)),
            (None, Some(most)) => format!("≤ {}/s", ceiling(most)),
            (None, None) => "-".to_owned(),
        };
    }
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

fn state(study: &ListedStudy) -> Place {
    match &study.summary {
        _ if study.damaged.is_some() => Place::new("damaged", Ink::Bad),
        _ if study.published.as_ref().is_some_and(|published| published.runs == published.planned) => {
            Place::new("complete", Ink::Good)
        }
        Some(summary) if failing(study.plan.as_ref(), summary).is_some() => {
            Place::new(failing(study.plan.as_ref(), summary).unwrap_or_default(), Ink::Bad)
        }
        Some(summary) if !summary.valid => Place::new("not valid", Ink::Bad),
        Some(summary) if summary.complete => Place::new("complete", Ink::Good),
        _ => Place::new("unfinished", Ink::Doubt),
    }
}

fn failing(plan: Option<&PlanFile>, summary: &SummaryFile) -> Option<&'static str> {
    failed::state(plan?, summary)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    fn whole(plan: PlanFile, summary: Option<SummaryFile>) -> ListedStudy {
        ListedStudy { study: plan.id.clone(), plan: Some(plan), summary, published: None, damaged: None }
    }

    #[test]
    fn a_damaged_study_keeps_its_line_and_says_what_to_do() {
        let damaged = ListedStudy {
            study: "broken".to_owned(),
            plan: None,
            summary: None,
            published: None,
            damaged: Some(Damage { text: "plan.json is torn".to_owned(), hint: Some("move it".to_owned()) }),
        };
        let text = runs(&[damaged], Look { width: 100, colour: false });
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines[1].starts_with("broken") && lines[1].ends_with("damaged"), "{text}");
        assert_eq!(lines[2..], ["damaged: broken: plan.json is torn", "  hint: move it"]);
    }

    #[test]
    fn each_study_has_a_line_with_what_it_came_to() {
        let (demo, empty) = (fixture::demo(), fixture::empty());
        let studies = [whole(demo.plan, Some(demo.summary)), whole(empty.plan, None)];
        let text = runs(&studies, Look { width: 160, colour: false });
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 3, "{text}");
        assert!(lines[1].contains("55.0 to 62.5/s") && lines[1].ends_with("complete"), "{text}");
        assert!(lines[2].contains("0/18") && lines[2].ends_with("unfinished"), "{text}");
    }

    #[test]
    fn a_study_of_before_there_were_bounds_has_its_mean() {
        let mut demo = fixture::demo();
        demo.summary.headlines[0].bounds = BoundsRecord::default();
        let text = runs(&[whole(demo.plan, Some(demo.summary))], Look { width: 160, colour: false });
        assert!(text.contains("56.8 ± 0.5/s"), "{text}");
    }

    #[test]
    fn a_study_of_errors_is_listed_as_one() {
        let mut demo = fixture::demo();
        let counts = &mut demo.summary.cells[0].counts;
        counts.failed = [(1146, counts.arrivals)].into();
        let text = runs(&[whole(demo.plan, Some(demo.summary))], Look { width: 160, colour: false });
        assert!(text.lines().nth(1).is_some_and(|line| line.ends_with("requests failed")), "{text}");
    }

    #[test]
    fn a_published_study_has_a_line_too() {
        let published = ListedPublished {
            kind: "throttling".to_owned(),
            created_unix_s: 0,
            runs: 12,
            planned: 12,
            headline: "Shown here".to_owned(),
        };
        let study = ListedStudy {
            study: "one".to_owned(),
            plan: None,
            summary: None,
            published: Some(published),
            damaged: None,
        };
        let text = runs(&[study], Look { width: 160, colour: false });
        let line = text.lines().nth(1).unwrap();
        assert!(
            line.contains("study of throttling") && line.contains("12/12") && line.ends_with("complete"),
            "{text}"
        );
    }

    #[test]
    fn several_groups_show_their_range() {
        let factors = fixture::factors();
        let text = runs(&[whole(factors.plan, Some(factors.summary))], Look { width: 160, colour: false });
        assert!(text.contains("38.6 to 55.2/s"), "{text}");
    }

    #[test]
    fn an_empty_list_is_a_sentence() {
        assert_eq!(runs(&[], Look { width: 80, colour: false }), "No studies yet.\n");
    }
}
