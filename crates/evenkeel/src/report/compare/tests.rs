//! What a page of two studies keeps.

use super::{Unlike, compare};
use crate::fixture::{self, Fixture};
use crate::report::markup::check::fault;
use evenkeel_study::store::format::{Caveat, Severity};

/// The demonstration again, on a server that takes half as long again.
fn slower() -> Fixture {
    let mut fixture = fixture::demo();
    fixture.plan.id = "2026-11-22-slower".to_owned();
    for run in &mut fixture.runs {
        run.response.mean_ms *= 1.5;
        run.response.p95_ms *= 1.5;
    }
    for cell in &mut fixture.summary.cells {
        cell.tau_ms.mean *= 1.5;
    }
    fixture
}

#[test]
fn both_headlines_curves_and_ratios_stand_on_one_page() {
    let page = compare(&fixture::demo(), &slower()).unwrap();
    assert_eq!(fault(&page), None);
    for part in [
        "A: 2026-11-21-demo",
        "B: 2026-11-22-slower",
        "id=\"tau-0-t\"",
        "id=\"throughput-0-t\"",
        "id=\"spectrum-0-0-t\"",
    ] {
        assert!(page.contains(part), "{part}");
    }
    assert_eq!(page.matches("This server carries").count(), 2);
    let rows = page.split("id=\"ratios-0\"").nth(1).unwrap();
    // Five rates have a ratio of tau that leaves out 1; at the sixth both are lower bounds.
    assert_eq!(rows.matches("<td><b>1.50 (").count(), 10, "{rows}");
    assert_eq!(rows.matches("<td class=\"absent\">lower bound</td>").count(), 2);
    assert_eq!(rows.matches("<td>1.00 (").count(), 12, "{rows}");
    assert!(page.contains(
        "Settings, server version, data, the variables that mostly matter and the machine are the same."
    ));
}

#[test]
fn both_sentences_of_each_study_stand_on_the_page() {
    let (mut one, mut other) = (fixture::demo(), slower());
    one.summary.headlines[0].trust_text = "Response times repeat up to 31 %".to_owned();
    other.summary.headlines[0].trust_text = "No rate is trusted".to_owned();
    let page = compare(&one, &other).unwrap();
    assert!(page.contains("repeat up to 31\u{a0}%.") && page.contains("No rate is trusted."), "{page}");
}

#[test]
fn a_run_whose_generator_failed_takes_no_part_in_the_ratios() {
    let (one, mut other) = (fixture::demo(), slower());
    let cell = other.runs[0].cell;
    let all = other.runs.iter().filter(|run| run.cell == cell).count();
    let late = Caveat::new("generator-saturated", Severity::Invalid, "The generator fell behind.");
    (other.runs[0].response.mean_ms, other.runs[0].caveats) = (1e6, vec![late]);
    let page = compare(&one, &other).unwrap();
    let rows = page.split("id=\"ratios-0\"").nth(1).unwrap();
    assert!(rows.contains(&format!("<td>{all}, {}</td><td><b>1.49 (", all - 1)), "{rows}");
}

#[test]
fn what_differs_in_servers_machines_and_settings_is_named_and_places_are_folded_away() {
    let mut other = slower();
    let server = &mut other.manifest.servers[0];
    server.version = "11.4.2-MariaDB".to_owned();
    server.variables.insert("innodb_flush_method".to_owned(), "fsync".to_owned());
    server.variables.insert("port".to_owned(), "4711".to_owned());
    server.variables.insert("version_comment".to_owned(), "Debian 13".to_owned());
    other.manifest.machine.insert("kernel".to_owned(), "Linux 6.12".to_owned());
    other.plan.settings.duration_s = 60.0;
    let page = compare(&fixture::demo(), &other).unwrap();
    let differs = page.split("id=\"differences\"").nth(1).unwrap();
    let (shown, folded) = differs.split_once("<details").unwrap();
    for part in
        ["11.4.2-MariaDB", "10.11.14", "fsync", "O_DIRECT", "Linux 6.12", "<td>15 s</td><td>1 min</td>"]
    {
        assert!(shown.contains(part), "{part} in {shown}");
    }
    assert!(!shown.contains("max_connections") && !shown.contains("4711"));
    assert!(
        folded.contains("Other variables that differ (1)")
            && folded.contains("Names and places that differ (1)")
    );
    assert!(folded.contains("<td class=\"absent\">not available</td><td>4711</td>"), "{folded}");
}

#[test]
fn without_a_common_rate_the_page_says_which_to_measure() {
    let mut other = slower();
    other.summary.cells.iter_mut().for_each(|cell| cell.rate_per_s *= 1.1);
    let page = compare(&fixture::demo(), &other).unwrap();
    assert!(page.contains("No rate was measured in both") && page.contains("--rate 10,20,32,44,56,72."));
    assert!(!page.contains("id=\"spectrum-0-0-t\""));
}

#[test]
fn series_are_matched_by_their_labels_and_none_is_an_error_that_names_them() {
    let page = compare(&fixture::factors(), &fixture::factors()).unwrap();
    assert_eq!(fault(&page), None);
    assert_eq!(page.matches("id=\"pair-").count(), fixture::factors().plan.series.len());
    let unlike = compare(&fixture::factors(), &fixture::twelve()).unwrap_err();
    let text = unlike.to_string();
    assert!(text.contains("\"pool 20 %, insert layout, a\"") && text.contains("\"workload-3\""), "{text}");
    assert!(unlike.hint().contains("same workload"));
}

#[test]
fn a_study_without_runs_is_an_error_that_says_how_to_get_them() {
    let unlike = compare(&fixture::demo(), &fixture::empty()).unwrap_err();
    assert_eq!(unlike, Unlike::Empty("2026-11-21-demo".to_owned()));
    assert!(unlike.hint().contains("evenkeel runs 2026-11-21-demo"));
}

#[test]
fn no_text_of_either_becomes_markup() {
    let mut evil = slower();
    evil.plan.id = "<script>alert(1)</script>".to_owned();
    evil.summary.headlines[0].text = "<evil>".to_owned();
    evil.manifest.machine.insert("<evil>".to_owned(), "<evil>".to_owned());
    evil.manifest.servers[0].variables.insert("<evil>".to_owned(), "\"<evil>".to_owned());
    let page = compare(&evil, &fixture::demo()).unwrap();
    assert_eq!(fault(&page), None);
    assert!(!page.contains("<evil") && !page.contains("<script>alert"));
}
