//! Two databases on shared storage as a page: orders and storage beside the published table, and every host over time.
//!
//! `plots` says what is drawn, `sections` writes the rest.

mod plots;
mod sections;

use crate::databases::outcome::cells;
use crate::databases::record::{Run, Setting};
use crate::report::page;

/// The page.
pub fn html(id: &str, setting: &Setting, runs: &[Run]) -> String {
    let cells = cells(setting, runs);
    let most: String = setting.most.iter().map(|&most| sections::most(setting, &cells, most)).collect();
    let body = [sections::headline(setting, &cells), most, sections::caveats(runs)].concat();
    page::document(
        &format!("{id} · Evenkeel study of shares"),
        &page::banner("study of shares with databases", id),
        &body,
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::databases::fixture::{run, setting};
    use crate::report::markup::check::fault;
    use evenkeel_core::share::experiment::Treatment as Way;

    #[test]
    fn the_page_has_every_way_beside_its_published_figures() {
        let runs = [
            run(Way::Uncontrolled, 32, 1, [1_000.0, 1_000.0]),
            run(Way::Parda, 32, 1, [800.0, 1_600.0]),
            run(Way::Evenkeel, 32, 1, [500.0, 1_700.0]),
            run(Way::Evenkeel, 32, 2, [500.0, 1_500.0]),
        ];
        let page = html("databases-1", &setting(), &runs);
        assert_eq!(fault(&page), None);
        for part in [
            "12,356",
            "the published law",
            "beta-evenkeel-32",
            "3.20 (3.00 to 3.40)",
            "min(wanted / window, 1)",
        ] {
            assert!(page.contains(part), "{part}");
        }
        for amiss in [">NaN", ">inf", "http://", "https://", "at most 64"] {
            assert!(!page.contains(amiss), "{amiss}");
        }
    }

    #[test]
    fn a_lull_is_told_and_drawn() {
        let setting = Setting { warm_up_s: 0.0, duration_s: 4.0, lull_s: 4.0, ..setting() };
        let without = run(Way::Parda, 32, 1, [1.0, 1.0]);
        let page = html("databases-1", &setting, &[Run { lull: Some((4.0, 8.0)), ..without.clone() }]);
        assert_eq!(fault(&page), None);
        assert!(page.contains("b asks less") && page.contains("beta of b before"), "{page}");
        let page = html("databases-1", &setting, &[without]);
        assert!(!page.contains("b asks less") && !page.contains("beta of b before"));
    }

    #[test]
    fn a_study_that_was_stopped_after_one_run_has_a_page_too() {
        let page = html("databases-1", &setting(), &[run(Way::Parda, 64, 1, [0.0, 1_600.0])]);
        assert_eq!(fault(&page), None);
        assert!(page.contains("window-parda-64") && !page.contains(">NaN"));
    }
}
