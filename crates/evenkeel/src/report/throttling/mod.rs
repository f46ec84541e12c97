//! The throttling study as a page: the published finding beside what was found here.
//!
//! `plots` says what is drawn, `sections` writes the rest.

mod plots;
mod sections;

use super::page;
use crate::throttling::record::{PlanFile, PointFile, StepFile, Way};
use crate::throttling::summary::{Cell, cells};
use crate::throttling::verdict::{Verdict, verdicts};

/// A study with what it comes to.
struct View<'a> {
    plan: &'a PlanFile,
    points: &'a [PointFile],
    steps: &'a [StepFile],
    cells: Vec<Cell<'a>>,
    verdicts: Vec<Verdict>,
}

/// The page of a study in any state.
pub fn html(plan: &PlanFile, points: &[PointFile], steps: &[StepFile]) -> String {
    let view = View { plan, points, steps, cells: cells(points), verdicts: verdicts(points) };
    let workloads: String = view.verdicts.iter().map(|verdict| sections::workload(&view, verdict)).collect();
    let body = [
        sections::headline(&view),
        workloads,
        sections::step(&view),
        sections::caveats(&view),
        sections::environment(&view),
    ];
    let title = format!("{} · Evenkeel study of throttling", plan.id);
    page::document(&title, &page::banner("study of throttling", &plan.id), &body.concat())
}

/// Hue, shape and line of a way: the same in all charts.
fn look(way: Way) -> super::study::Look {
    use super::chart::Marker;
    let (hue, marker, dashed) = match way {
        Way::Direct => (1, Marker::Square, false),
        Way::Unlimited => (5, Marker::Diamond, true),
        Way::Reflection => (3, Marker::Triangle, false),
        Way::Evenkeel => (0, Marker::Circle, false),
    };
    super::study::Look { hue, marker, dashed }
}

#[cfg(test)]
mod tests {
    use super::super::markup::check::fault;
    use super::*;
    use crate::throttling::fixture::{falling, flat, plan, reread, steps};

    fn pages() -> Vec<String> {
        let both: Vec<PointFile> = flat().into_iter().chain(reread()).collect();
        let plan = plan();
        vec![
            html(&plan, &falling(), &steps()),
            html(&plan, &both, &steps()),
            html(&plan, &[], &[]),
            html(&plan, &falling()[..1], &[]),
        ]
    }

    #[test]
    fn every_element_closes_and_every_id_is_used_once() {
        for page in pages() {
            assert_eq!(fault(&page), None);
            let mut ids: Vec<&str> =
                page.split(" id=\"").skip(1).filter_map(|rest| rest.split('"').next()).collect();
            let all = ids.len();
            ids.sort_unstable();
            ids.dedup();
            assert_eq!(ids.len(), all, "{ids:?}");
            for amiss in [">NaN", "http://", "https://"] {
                assert!(!page.contains(amiss), "{amiss}");
            }
        }
    }

    #[test]
    fn the_page_puts_the_published_finding_beside_ours() {
        let pages = pages();
        assert!(pages[0].contains("Shown here: without control") && pages[1].contains("Not shown here"));
        for page in &pages[..2] {
            for part in
                ["Published", "rises with load to a peak", "the study&#39;s rule", "throughput-shopping"]
            {
                assert!(page.contains(part), "{part}");
            }
            assert!(
                page.contains("settled<small>limit</small>") && page.contains("<td>0 of 3</td>"),
                "settled"
            );
            assert!(!page.contains("dtlb-misses-shopping"), "no chart without values");
        }
        assert!(pages[1].contains("throughput-reread") && !pages[0].contains("throughput-reread"));
        assert!(pages[2].contains("Nothing has been measured yet"));
    }
}
