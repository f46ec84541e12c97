//! What a page of two studies keeps.

use super::compare;
use crate::fixture::{self, Fixture};
use crate::report::markup::check::fault;

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
    assert!(folded.contains("Other variables that differ (2)"));
    assert!(folded.contains("<td class=\"absent\">not available</td><td>4711</td>"), "{folded}");
}

#[test]
fn series_are_matched_by_their_labels_and_none_is_an_error_that_names_them() {
    let page = compare(&fixture::factors(), &fixture::factors()).unwrap();
    assert_eq!(fault(&page), None);
    assert_eq!(page.matches("id=\"pair-").count(), fixture::factors().plan.series.len());
    let text = format!("{:#}", compare(&fixture::factors(), &fixture::twelve()).unwrap_err());
    assert!(text.contains("\"pool 20 %, insert layout, a\"") && text.contains("\"workload-3\""), "{text}");
    assert!(text.contains("same workload"), "{text}");
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
