//! What every report keeps, whatever the study.

use super::html;
use super::markup::check::fault;
use crate::fixture::{self, Fixture};
use evenkeel_lab::store::format::{CaveatRecord, EstimateRecord, SeverityRecord};
use std::collections::BTreeSet;

fn page(fixture: &Fixture) -> String {
    html(fixture)
}

fn all() -> Vec<Fixture> {
    vec![fixture::demo(), fixture::factors(), fixture::twelve(), fixture::single(), fixture::empty()]
}

/// The markup of one chart.
fn chart<'a>(page: &'a str, id: &str) -> &'a str {
    let title = page.find(&format!("id=\"{id}-t\"")).unwrap_or_else(|| panic!("no chart {id}"));
    let start = page[..title].rfind("<svg").unwrap();
    &page[start..start + page[start..].find("</svg>").unwrap()]
}

#[test]
fn every_element_closes_and_every_id_is_used_once() {
    for fixture in all() {
        let page = page(&fixture);
        assert_eq!(fault(&page), None);
        let ids: Vec<&str> = page.split(" id=\"").skip(1).filter_map(|rest| rest.split('"').next()).collect();
        assert_eq!(ids.iter().collect::<BTreeSet<_>>().len(), ids.len(), "{ids:?}");
    }
}

#[test]
fn nothing_is_fetched() {
    for fixture in all() {
        let page = page(&fixture);
        for fetch in ["http://", "https://", "src=", "href=", "@import", "<link", "<iframe", "<img", "fetch("]
        {
            assert!(!page.contains(fetch), "{fetch}");
        }
        assert!(page.split("url(").skip(1).all(|rest| rest.starts_with('#')));
        assert!(page.contains("default-src 'none'"));
    }
}

#[test]
fn no_text_of_a_study_becomes_markup() {
    const EVIL: &str = "</title></script><script>alert(1)</script>\"'><evil>&";
    let mut fixture = fixture::factors();
    let evil = || EVIL.to_owned();
    let caveat = CaveatRecord { code: evil(), severity: SeverityRecord::Note, text: evil() };
    (fixture.plan.id, fixture.plan.kind, fixture.plan.tool, fixture.plan.rate) =
        (evil(), evil(), evil(), evil());
    fixture.plan.command = vec![evil()];
    fixture.plan.settings.sessions = evil();
    fixture.plan.targets.iter_mut().for_each(|target| (target.label, target.url) = (evil(), evil()));
    fixture.plan.series.iter_mut().for_each(|series| {
        series.label = evil();
        series.workload.push_str(EVIL);
    });
    fixture.manifest.machine.insert(evil(), evil());
    fixture.manifest.servers.iter_mut().for_each(|server| {
        server.version = evil();
        server.variables.insert(evil(), evil());
        server.data.insert(evil(), evil());
    });
    let plan = &mut fixture.manifest.plans[0];
    (plan.statement, plan.reason, plan.sql, plan.plan) = (evil(), evil(), evil(), evil());
    fixture.summary.headlines.iter_mut().for_each(|headline| {
        (headline.label, headline.text, headline.trust_reason) = (evil(), evil(), evil());
    });
    fixture.summary.cells.iter_mut().for_each(|cell| {
        cell.caveats = vec![caveat.clone()];
    });
    fixture.summary.caveats = vec![caveat];
    fixture.runs.iter_mut().for_each(|run| drop(run.error_texts.insert(1205, evil())));
    let page = page(&fixture);
    assert_eq!(fault(&page), None);
    assert!(!page.contains("<script>alert") && !page.contains("<evil"));
    assert_eq!(page.matches("<script>").count(), 1);
    assert!(page.contains("&lt;script&gt;alert(1)"));
}

#[test]
fn every_series_and_every_run_is_drawn() {
    for fixture in [fixture::demo(), fixture::factors()] {
        let page = page(&fixture);
        let tau = chart(&page, "tau");
        assert_eq!(tau.matches("<g class=\"trace ").count(), fixture.plan.series.len());
        assert_eq!(tau.matches("<g class=\"point").count(), fixture.plan.cells.len());
        assert_eq!(chart(&page, "throughput").matches("class=\"dot\"").count(), fixture.runs.len());
        for series in &fixture.plan.series {
            assert!(page.contains(&series.label) || fixture.plan.series.len() == 1);
        }
        for id in ["theta", "lag", "standard-error", "percentiles-0"] {
            assert!(chart(&page, id).contains("<title"), "{id}");
        }
    }
}

#[test]
fn unstable_cells_are_hollow_labelled_and_point_up() {
    let page = page(&fixture::demo());
    let tau = chart(&page, "tau");
    assert_eq!(tau.matches("class=\"point hollow\"").count(), 1);
    assert_eq!(tau.matches("class=\"arrow\"").count(), 1);
    assert!(tau.contains(">unstable, at least 2,430 ms<"), "{tau}");
    assert_eq!(chart(&page, "throughput").matches("class=\"arrow\"").count(), 0);
}

#[test]
fn the_trust_limit_is_drawn_where_trust_ended() {
    let mut fixture = fixture::demo();
    let theta = |page: &str| chart(page, "theta").to_owned();
    let ended = theta(&page(&fixture));
    assert!(ended.contains("trust limit 70 %") && ended.contains("class=\"shade\""), "{ended}");
    fixture.summary.headlines[0].trust_ended = false;
    let open = theta(&page(&fixture));
    assert!(open.contains("trusted at least to 70 %") && !open.contains("class=\"shade\""), "{open}");
}

#[test]
fn what_is_absent_is_said_and_no_number_is_broken() {
    let mut broken = fixture::demo();
    broken.summary.cells[0].tau_ms.mean = f64::NAN;
    broken.summary.cells[1].p99_ms =
        EstimateRecord { n: 2, mean: 1.0, se: None, low: Some(f64::NEG_INFINITY), high: Some(f64::NAN) };
    broken.summary.headlines[0].capacity_theta_percent = Some(f64::NAN);
    broken.runs[3].response.mean_ms = f64::INFINITY;
    for fixture in [fixture::single(), broken] {
        let page = page(&fixture);
        assert!(page.contains("not available"));
        for wrong in ["NaN", "inf ", "inf\"", "\"inf", "-inf"] {
            assert!(!page.contains(wrong), "{wrong}");
        }
    }
}

#[test]
fn zeros_and_indices_out_of_range_are_no_panic() {
    let mut fixture = fixture::demo();
    for cell in &mut fixture.summary.cells {
        let zero = fixture::estimate(&[0.0, 0.0]);
        (cell.tau_ms, cell.p50_ms, cell.p999_ms, cell.lag_p99_ms) =
            (zero.clone(), zero.clone(), zero.clone(), zero);
        cell.rate_per_s = 0.0;
    }
    fixture.summary.cells[2].series = 77;
    fixture.summary.headlines[0].series = vec![99];
    fixture.runs[0].cell = 1234;
    let page = page(&fixture);
    assert_eq!(fault(&page), None);
    assert!(!page.contains("NaN"));
}

#[test]
fn caveats_and_outcomes_are_told() {
    let page = page(&fixture::demo());
    for part in
        ["Doubts", "few-runs", "queue-unstable", "timed out", "error 1205, 9 times", "measurement valid"]
    {
        assert!(page.contains(part), "{part}");
    }
    let mut fixture = fixture::demo();
    fixture.summary.valid = false;
    fixture.summary.complete = false;
    let page = self::page(&fixture);
    assert!(page.contains("measurement not valid") && page.contains("unfinished, 18 of 18 runs"));
}

#[test]
fn the_server_has_a_table_and_what_never_happened_is_a_line() {
    let mut fixture = fixture::demo();
    for cell in &mut fixture.summary.cells {
        cell.server.insert("sort_merge_passes_per_request".to_owned(), fixture::estimate(&[0.0, 0.0]));
    }
    let page = page(&fixture);
    for part in ["id=\"server\"", "threads running<small>mean", "None at any rate: sort merges."] {
        assert!(page.contains(part), "{part}");
    }
    assert_eq!(chart(&page, "mu").matches("class=\"dot\"").count(), fixture.runs.len());
    let untold = self::page(&fixture::single());
    assert!(untold.contains("The network delay μ is not available") && !untold.contains("id=\"mu-t\""));
}

#[test]
fn a_study_without_runs_says_so() {
    let page = page(&fixture::empty());
    for part in ["Nothing has been measured yet", "0 of 18 runs", "To repeat it", "How to read this"] {
        assert!(page.contains(part), "{part}");
    }
}
