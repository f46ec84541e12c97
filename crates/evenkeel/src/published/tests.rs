//! The throttling study of the fixtures, as people and programs see it.

use super::*;
use evenkeel_study::throttling::figures::FIGURES;
use evenkeel_study::throttling::fixture::{falling, flat, plan, reread, setting, steps};
use evenkeel_study::throttling::judge;
use serde_json::json;

fn shown<T>(runs: &[Run], show: impl Fn(&Published<'_>) -> T) -> T {
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

mod databases {
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
}

mod shares {
    use crate::published::{Published, results, table};
    use crate::report::published::html;
    use crate::table::Look;
    use evenkeel_core::random::Seed;
    use evenkeel_core::share::experiment::{Treatment, experiments};
    use evenkeel_core::share::simulation::run as simulate;
    use evenkeel_study::harness::{FORMAT, Plan, Run};
    use evenkeel_study::shares::{FIGURES, NAME, Setting, judge, parts, record};

    const SETTING: Setting = Setting { period_s: 2.0, live: false };

    fn made(numbers: &[usize]) -> (Plan, Vec<Run>) {
        let all = experiments();
        let experiments: Vec<_> = numbers.iter().map(|number| all[*number].clone()).collect();
        let plan = Plan {
            format: FORMAT,
            id: "shares-1".to_owned(),
            kind: NAME.to_owned(),
            seed: 1,
            parts: parts(&experiments, SETTING),
            ..Plan::default()
        };
        let run = |experiment: &evenkeel_core::share::experiment::Experiment, way: Treatment| {
            let trace = simulate(&experiment.scenario(way, SETTING.period_s, Seed(1)));
            Run {
                part: experiment.name.to_owned(),
                levels: vec![way.name().to_owned()],
                repeat: 1,
                ..record(experiment, &trace, SETTING.period_s)
            }
        };
        let runs = experiments
            .iter()
            .flat_map(|experiment| Treatment::ALL.map(|way| run(experiment, way)))
            .collect();
        (plan, runs)
    }

    fn shown<T>((plan, runs): &(Plan, Vec<Run>), show: impl Fn(&Published<'_>) -> T) -> T {
        show(&Published::new(plan, runs, &FIGURES, judge(plan, SETTING, runs)))
    }

    #[test]
    fn every_experiment_stands_beside_its_published_figures() {
        let both = made(&[0, 1]);
        let page = shown(&both, html);
        assert_eq!(crate::report::fault(&page), None);
        for part in
            ["table-3", "figure-8", "published", "3,360", "the published law", "time-latency-ms-figure-8"]
        {
            assert!(page.contains(part), "{part}");
        }
        let text = shown(&both, |view| table(view, Look { width: 200, colour: false }));
        assert!(text.contains("uncontrolled, published: I/Os of all 3,360 1/s"), "{text}");
        assert!(text.contains("table-3: each host gets its share: holds."), "{text}");
    }

    #[test]
    fn nothing_is_claimed_of_shares_that_were_not_judged() {
        let one = made(&[5]);
        let headline = shown(&one, |view| view.said.headline.clone());
        assert!(
            headline.contains("Shares within 10 % not checked, by the published law not checked;"),
            "{headline}"
        );
        let text = shown(&one, |view| view.said.setting.clone());
        assert!(text.contains("in 0 of which shares are checked"), "{text}");
        let value = shown(&one, results);
        assert_eq!(value["findings"][0]["outcome"], "not testable here");
    }
}
