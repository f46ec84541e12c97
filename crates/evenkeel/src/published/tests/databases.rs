//! Two databases on shared storage, as people and programs see them.

use crate::published::{Published, results, table};
use crate::report::published::html;
use crate::table::Look;
use evenkeel_core::share::experiment::Treatment;
use evenkeel_study::databases::fixture::{plan, run, setting};
use evenkeel_study::databases::{FIGURES, judge};
use evenkeel_study::harness::Run;

fn shown<T>(runs: &[Run], show: impl Fn(&Published<'_>) -> T) -> T {
    let plan = plan();
    show(&Published::new(&plan, runs, &FIGURES, judge(&plan, &setting(), runs)))
}

fn four() -> Vec<Run> {
    vec![
        run(Treatment::Uncontrolled, 32, 1, [1_000.0, 1_000.0]),
        run(Treatment::Parda, 32, 1, [800.0, 1_600.0]),
        run(Treatment::Evenkeel, 32, 1, [500.0, 1_700.0]),
        run(Treatment::Evenkeel, 32, 2, [500.0, 1_500.0]),
    ]
}

#[test]
fn every_way_stands_beside_its_published_figures() {
    let page = shown(&four(), html);
    assert_eq!(crate::report::fault(&page), None);
    for part in ["12,356", "the published law", "time-beta-most-32", "min(wanted / window, 1)"] {
        assert!(page.contains(part), "{part}");
    }
    assert!(crate::report::readable(&page) > 50);
    // A colour is a host's in all charts here, and so it is no way's beside them.
    assert!(page.contains("</svg>host a</li>") && page.contains("</svg>host b</li>"));
    assert!(!page.contains("</svg>uncontrolled") && !page.contains("</svg> uncontrolled"));
    assert!(!page.contains("class=\"guide s1\""), "a threshold in the colour of host b");
    let text = shown(&four(), |view| table(view, Look { width: 200, colour: false })).replace('\n', " ");
    assert!(
        text.contains("the ratio is bound by neither, and both hosts make 1.20 of their orders"),
        "{text}"
    );
    assert!(text.contains("1.00 uncontrolled, 2.00 by the published law, 3.20 by Evenkeel"), "{text}");
}

#[test]
fn a_cell_has_its_hosts_and_the_ratio_of_both() {
    let value = shown(&four(), results);
    let ours = value["cells"].as_array().unwrap().iter().find(|cell| cell["way"] == "evenkeel").unwrap();
    assert_eq!(ours["runs"], 2);
    assert!((ours["figures"]["orders_ratio"]["mean"].as_f64().unwrap() - 3.2).abs() < 1e-9);
    assert_eq!(ours["figures"]["order_ms@b"]["mean"], 273.0);
    assert_eq!(value["findings"][0]["outcome"], "not testable here", "of one round");
}
