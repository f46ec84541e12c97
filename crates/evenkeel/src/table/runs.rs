//! The list of studies.

use super::Look;
use super::grid::{GridColumn, Ink, Place, lines, paint};
use crate::format::{distinct, plain};
use crate::{failed, format};
use evenkeel_core::digits::{between, ceiling, floor};
use evenkeel_study::store::format::{PlanFile, SummaryFile};

#[derive(Clone, Debug, serde::Serialize)]
pub struct ListedStudy {
    pub study: String,
    /// Absent where it cannot be read.
    pub plan: Option<PlanFile>,
    /// Absent where no run has finished, or a run cannot be read.
    pub summary: Option<SummaryFile>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub published: Option<ListedPublished>,
    /// What is wrong with the folder, if something is.
    pub damaged: Option<Damage>,
    /// Whether some process measures it.
    pub is_running: bool,
}

#[derive(Clone, Debug, serde::Serialize)]
pub struct ListedPublished {
    /// Name of the published study, as `throttling`.
    pub kind: String,
    /// Seconds since 1970.
    pub created_unix_s: u64,
    pub runs: usize,
    pub planned: usize,
    /// What it says first.
    pub headline: String,
}

#[derive(Clone, Debug, serde::Serialize)]
pub struct Damage {
    pub text: String,
    pub hint: Option<String>,
}

/// One line for each study, in the order given; below, what is wrong with those that are damaged.
pub fn runs(studies: &[ListedStudy], look: Look) -> String {
    if studies.is_empty() {
        return "No studies yet.\n".to_owned();
    }
    let column = |head: &str, rank, text: fn(&ListedStudy) -> Place| {
        GridColumn::of(studies, [head, ""], false, rank, text)
    };
    let columns = vec![
        column("study", 0, |study| Place::new(&study.study, Ink::Strong)),
        column("started", 4, |study| {
            let of_published = study.published.as_ref().map(|published| published.created_unix_s);
            let started = of_published.or_else(|| study.plan.as_ref().map(|plan| plan.created_unix_s));
            Place::new(started.map_or_else(|| "-".to_owned(), format::date), Ink::Soft)
        }),
        column("workload", 2, |study| match &study.published {
            Some(published) => format!("study of {}", published.kind).into(),
            None => {
                of_plan(study, |plan| distinct(plan.series.iter().map(|s| s.workload.as_str())).join(", "))
            }
        }),
        column("target", 5, |study| {
            of_plan(study, |plan| distinct(plan.targets.iter().map(|t| t.url.as_str())).join(", "))
        }),
        column("runs", 3, |study| progress(study).into()),
        column("carries", 1, |study| carries(study.summary.as_ref()).into()),
        column("trusted CPU use", 2, |study| trusted(study.summary.as_ref()).into()),
        column("state", 1, state),
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

fn of_plan(study: &ListedStudy, of: fn(&PlanFile) -> String) -> Place {
    study.plan.as_ref().map_or_else(|| "-".to_owned(), of).into()
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

/// `430 to 590/s`, the bounds of all groups together.
fn carries(summary: Option<&SummaryFile>) -> String {
    let bounds =
        || summary.into_iter().flat_map(|summary| &summary.headlines).map(|headline| &headline.bounds);
    let least = bounds().filter_map(|bounds| bounds.at_least_per_s).reduce(f64::min);
    let most = bounds().filter_map(|bounds| bounds.at_most_per_s).reduce(f64::max);
    match (least, most) {
        (Some(least), Some(most)) => format!("{}/s", between(least, most)),
        (Some(least), None) => format!("≥ {}/s", floor(least)),
        (None, Some(most)) => format!("≤ {}/s", ceiling(most)),
        (None, None) => "-".to_owned(),
    }
}

/// From the least to the most of several groups.
fn trusted(summary: Option<&SummaryFile>) -> String {
    let limits = || {
        let headlines = summary.into_iter().flat_map(|summary| &summary.headlines);
        headlines.filter_map(|headline| headline.trust_theta_percent).filter(|limit| limit.is_finite())
    };
    match limits().reduce(f64::min).zip(limits().reduce(f64::max)) {
        None => "-".to_owned(),
        Some((low, high)) if low == high => format::percent(low),
        Some((low, high)) => format!("{} to {}", format::short(low), format::percent(high)),
    }
}

fn state(study: &ListedStudy) -> Place {
    let both = study.plan.as_ref().zip(study.summary.as_ref());
    let failing = both.and_then(|(plan, summary)| failed::state(plan, summary));
    match &study.summary {
        _ if study.damaged.is_some() => Place::new("damaged", Ink::Bad),
        _ if study.published.as_ref().is_some_and(|published| published.runs == published.planned) => {
            Place::new("complete", Ink::Good)
        }
        _ if failing.is_some() => Place::new(failing.unwrap_or_default(), Ink::Bad),
        Some(summary) if !summary.valid && trusted(Some(summary)) == "-" => Place::new("not valid", Ink::Bad),
        Some(summary) if summary.complete => Place::new("complete", Ink::Good),
        _ if study.is_running => Place::new("running", Ink::Doubt),
        _ => Place::new("unfinished", Ink::Doubt),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    fn listed(plan: Option<PlanFile>, summary: Option<SummaryFile>) -> ListedStudy {
        let study = plan.as_ref().map_or_else(|| "one".to_owned(), |plan| plan.id.clone());
        ListedStudy { study, plan, summary, published: None, damaged: None, is_running: false }
    }

    fn text(studies: &[ListedStudy]) -> String {
        runs(studies, Look { width: 160, colour: false })
    }

    #[test]
    fn each_study_has_a_line_with_what_it_came_to_and_one_that_is_damaged_says_what_to_do() {
        let (demo, empty, factors) = (fixture::demo(), fixture::empty(), fixture::factors());
        let mut failed = demo.clone();
        let counts = &mut failed.summary.cells[0].counts;
        counts.failed = [(1146, counts.arrivals)].into();
        let published = ListedPublished {
            kind: "throttling".to_owned(),
            created_unix_s: 0,
            runs: 12,
            planned: 12,
            headline: "Shown here".to_owned(),
        };
        let damaged = Damage { text: "plan.json is torn".to_owned(), hint: Some("move it".to_owned()) };
        let studies = [
            listed(Some(demo.plan), Some(demo.summary)),
            listed(Some(empty.plan), None),
            listed(Some(factors.plan), Some(factors.summary)),
            listed(Some(failed.plan), Some(failed.summary)),
            ListedStudy { published: Some(published), ..listed(None, None) },
            ListedStudy { damaged: Some(damaged), ..listed(None, None) },
        ];
        let text = text(&studies);
        let lines: Vec<&str> = text.lines().skip(1).collect();
        for (line, (part, end)) in lines.iter().zip([
            ("55.0 to 62.5/s", "complete"),
            ("0/18", "unfinished"),
            ("38.6 to 55.2/s", "complete"),
            ("55.0 to 62.5/s", "requests failed"),
            ("study of throttling", "complete"),
            ("one", "damaged"),
        ]) {
            assert!(line.contains(part) && line.ends_with(end), "{line}");
        }
        assert_eq!(lines[6..], ["damaged: one: plan.json is torn", "  hint: move it"]);
    }
}
