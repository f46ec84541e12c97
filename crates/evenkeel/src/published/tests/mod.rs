//! The throttling study of the fixtures, as people and programs see it.

mod databases;
mod shares;

use super::*;
use evenkeel_study::throttling::figures::FIGURES;
use evenkeel_study::throttling::fixture::{falling, flat, plan, reread, setting, steps};
use evenkeel_study::throttling::judge;
use serde_json::json;

pub fn shown<T>(runs: &[Run], show: impl Fn(&Published<'_>) -> T) -> T {
    let plan = plan();
    show(&Published::new(&plan, runs, &FIGURES, judge(&plan, &setting(), runs)))
}

fn both(one: Vec<Run>, other: Vec<Run>) -> Vec<Run> {
    one.into_iter().chain(other).collect()
}

#[test]
fn a_program_finds_the_findings_and_every_cell() {
    let value = shown(&both(falling(), steps()), results);
    assert_eq!(value["findings"][0]["outcome"], "holds");
    assert_eq!(value["findings"][0]["numbers"]["best_clients"]["value"], 8.0);
    let cells = value["cells"].as_array().unwrap();
    assert_eq!(cells.iter().filter(|cell| cell["part"] == "shopping").count(), 12);
    let of = |way: &str, clients: u32| {
        cells.iter().find(|cell| cell["way"] == way && cell["clients"] == clients).unwrap().clone()
    };
    assert_eq!(of("direct", 1)["figures"]["throughput_per_s"]["n"], 3);
    // What was not available is absent, never zero.
    assert!(of("direct", 1)["figures"].get("dtlb_misses_per_commit").is_none());
    let settled = |clients| of("reflection", clients)["figures"]["limit_settled"]["mean"].clone();
    assert_eq!((settled(8), settled(64)), (json!(1.0), json!(0.0)));
    assert!(of("evenkeel", 64)["figures"].get("limit_settled").is_none());
    assert_eq!(value["series"].as_array().map(Vec::len), Some(3));
}

#[test]
fn tables_have_a_line_for_each_figure_of_a_cell_and_for_each_run() {
    let text = shown(&both(falling(), steps()), cells_csv);
    assert!(text.starts_with("study,part,way,clients,figure,runs,mean,se,low,high\n"), "{text}");
    assert!(text.contains("\nthrottling-1,shopping,direct,8,throughput_per_s,3,1000,"), "{text}");
    let text = shown(&both(falling(), steps()), runs_csv);
    assert_eq!(text.lines().count(), 1 + 36 + 3);
    let columns = text.lines().next().unwrap().split(',').count();
    assert!(text.lines().all(|line| line.split(',').count() == columns), "{text}");
}

#[test]
fn the_page_puts_the_published_finding_beside_ours() {
    let html = crate::report::published::html;
    let pages = [
        shown(&both(falling(), steps()), html),
        shown(&both(both(flat(), reread()), steps()), html),
        shown(&[], html),
        shown(&falling()[..1], html),
    ];
    for page in &pages {
        assert_eq!(crate::report::fault(page), None);
        for amiss in [">NaN", "http://", "https://"] {
            assert!(!page.contains(amiss), "{amiss}");
        }
    }
    assert!(pages[0].contains("Shown here: without control") && pages[1].contains("Not shown here"));
    for page in &pages[..2] {
        for part in
            ["Published", "rises with load to a peak", "the published controller", "throughput-shopping"]
        {
            assert!(page.contains(part), "{part}");
        }
        assert!(page.contains("settled<small>limit</small>") && page.contains("<td>0 of 3</td>"), "settled");
        assert!(
            page.contains("time-limit-step") && !page.contains("dtlb-misses-shopping"),
            "no chart without values"
        );
    }
    assert!(pages[1].contains("throughput-reread") && !pages[0].contains("throughput-reread"));
    assert!(pages[2].contains("Nothing has been measured yet"));
}
