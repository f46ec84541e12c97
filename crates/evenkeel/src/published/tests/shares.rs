//! Published experiments on the virtual clock, as people and programs see them.

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
    let runs =
        experiments.iter().flat_map(|experiment| Treatment::ALL.map(|way| run(experiment, way))).collect();
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
    for part in ["table-3", "figure-8", "published", "3,360", "the published law", "time-latency-ms-figure-8"]
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
