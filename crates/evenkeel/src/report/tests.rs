//! What every report keeps, whatever the study.

use super::html;
use super::legend::check::fault;
use crate::fixture::{self, Fixture};
use evenkeel_study::store::format::{Caveat, EstimateRecord, Severity};
use std::collections::BTreeSet;

fn page(fixture: &Fixture) -> String {
    html(fixture)
}

fn all() -> Vec<Fixture> {
    vec![fixture::demo(), fixture::factors(), fixture::twelve(), fixture::single(), fixture::empty()]
}

#[test]
fn the_distribution_has_a_line_for_each_rate_and_what_cannot_be_read_is_told() {
    let mut fixture = fixture::demo();
    let of = |page: &str| chart(page, "spectrum-0").to_owned();
    let whole = of(&page(&fixture));
    assert_eq!(whole.matches("<g class=\"trace r").count(), 6);
    assert_eq!(whole.matches("class=\"mean dashed\"").count(), 1);
    let dashed = whole.split("class=\"mean dashed\" d=\"").nth(1).unwrap().split('"').next().unwrap();
    assert_eq!(
        dashed.matches('M').count(),
        1,
        "dashes that begin anew at each step make a whole line: {dashed}"
    );
    for text in [">p50<", ">p99<", ">10/s<", ">72/s<"] {
        assert!(whole.contains(text), "{text}");
    }
    let cell = fixture.summary.cells[0].cell;
    let missing = || Err("response.csv is missing".to_owned());
    fixture.details.0.get_mut(&(cell, 2)).unwrap().response = missing();
    let page = self::page(&fixture);
    assert!(page.contains("Left out: 10/s, run 2: response.csv is missing"));
    assert_eq!(of(&page).matches("<g class=\"trace r").count(), 6, "two runs of the cell are left");
    fixture.details.0.values_mut().for_each(|details| details.response = missing());
    assert!(of(&self::page(&fixture)).contains(">not available<"));
}

#[test]
fn every_run_has_a_timeline_with_stolen_seconds_shaded() {
    let fixture = fixture::demo();
    let page = page(&fixture);
    for run in &fixture.runs {
        let svg = chart(&page, &format!("time-{}-{}", run.cell, run.repeat)).to_owned();
        for title in [
            "throughput, per second",
            "response time, ",
            "backlog, requests",
            "CPU use, %",
            "stolen time, %",
            "used by others, %",
        ] {
            assert!(svg.contains(title), "{title}");
        }
        assert_eq!(svg.matches("class=\"mean").count(), 6);
        // Neighbours took time in the sixth and seventh second of the first run of each cell.
        assert_eq!(svg.matches("class=\"shade\"").count(), if run.repeat == 1 { 2 } else { 0 });
    }
    let open = page.split("<details class=\"plan timeline\" open>").nth(1).unwrap();
    assert!(open.starts_with("<summary><b>56/s</b>"), "the highest rate that settled is open");
}

#[test]
fn a_timeline_says_which_file_is_missing() {
    let mut fixture = fixture::single();
    let details = fixture.details.0.values_mut().next().unwrap();
    details.intervals = Err("intervals.csv is missing".to_owned());
    details.sense = Err("sense.csv cannot be read: no column".to_owned());
    let page = page(&fixture);
    for words in ["not available: intervals.csv is missing", "not available: sense.csv cannot be read:"] {
        assert_eq!(page.matches(words).count(), 1, "{words}");
    }
}

#[test]
fn every_element_closes_every_id_is_used_once_and_nothing_is_fetched() {
    for fixture in all() {
        let page = page(&fixture);
        assert_eq!(fault(&page), None);
        let ids: Vec<&str> = page.split(" id=\"").skip(1).filter_map(|rest| rest.split('"').next()).collect();
        assert_eq!(ids.iter().collect::<BTreeSet<_>>().len(), ids.len(), "{ids:?}");
        for fetch in ["http://", "https://", "src=", "href=", "@import", "<link", "<iframe", "<img", "fetch("]
        {
            assert!(!page.contains(fetch), "{fetch}");
        }
        assert!(page.split("url(").skip(1).all(|rest| rest.starts_with('#')));
        assert!(page.contains("default-src 'none'"));
    }
}

fn chart<'a>(page: &'a str, id: &str) -> &'a str {
    let title = page.find(&format!("id=\"{id}-t\"")).unwrap_or_else(|| panic!("no chart {id}"));
    let start = page[..title].rfind("<svg").unwrap();
    &page[start..start + page[start..].find("</svg>").unwrap()]
}

#[test]
fn no_text_of_a_study_becomes_markup() {
    const EVIL: &str = "</title></script><script>alert(1)</script>\"'><evil>&";
    let mut fixture = fixture::factors();
    let evil = || EVIL.to_owned();
    let caveat = Caveat { code: evil().into(), ..Caveat::new("", Severity::Note, evil()).with(EVIL, 1.0) };
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
        headline.trust_text = evil();
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
        for id in ["theta", "spectrum-0", "percentiles-0"] {
            assert!(chart(&page, id).contains("<title"), "{id}");
        }
    }
}

#[test]
fn unstable_cells_are_hollow_and_point_up() {
    let page = page(&fixture::demo());
    let tau = chart(&page, "tau");
    assert_eq!(tau.matches("class=\"point hollow\"").count(), 1);
    assert_eq!(tau.matches("class=\"arrow\"").count(), 1);
    assert_eq!(chart(&page, "throughput").matches("class=\"arrow\"").count(), 0);
}

#[test]
fn what_is_absent_is_said_and_no_number_is_broken() {
    let mut broken = fixture::demo();
    broken.summary.cells[0].tau_ms.mean = f64::NAN;
    broken.summary.cells[1].p99_ms = EstimateRecord {
        n: 2,
        mean: 1.0,
        se: None,
        low: Some(f64::NEG_INFINITY),
        high: Some(f64::NAN),
        degrees: None,
    };
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
fn a_run_without_an_answer_has_no_dot_at_zero_and_a_bound_is_told_once() {
    let mut fixture = fixture::demo();
    fixture.runs[3].response = Default::default();
    fixture.runs[3].lag = Default::default();
    let dots = |page: &str, id: &str| chart(page, id).matches("class=\"dot\"").count();
    let whole = page(&fixture::demo());
    let bound = &mut fixture.summary.cells[5];
    assert!(bound.lower_bound);
    (bound.tau_ms.low, bound.tau_ms.high) = (Some(35.0), None);
    let page = page(&fixture);
    assert_eq!(dots(&page, "tau") + 1, dots(&whole, "tau"));
    assert!(page.contains("\nmean at least ") && !page.contains("at least at least"), "told twice");
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

/// A text of a drawing: what it says and the box it covers, left, top, right, bottom.
type Label = (String, [f64; 4]);

/// The value of an attribute.
fn attribute<'a>(tag: &'a str, name: &str) -> Option<&'a str> {
    tag.split_once(&format!(" {name}=\"")).and_then(|(_, rest)| rest.split('"').next())
}

/// Width and height of a chart, and its texts. A character of 12.5 px is about half as wide as high.
fn labels(svg: &str) -> ((f64, f64), Vec<Label>) {
    let number = |text: &str| text.parse::<f64>().unwrap();
    let size: Vec<f64> = attribute(svg, "viewBox").unwrap().split(' ').map(number).collect();
    let label = |part: &str| {
        let (tag, rest) = part.split_once('>').unwrap();
        let text = rest.split("</text>").next().unwrap().to_owned();
        let (x, y) = (number(attribute(tag, "x").unwrap()), number(attribute(tag, "y").unwrap()));
        let width = 6.2 * text.chars().count() as f64;
        let left = match attribute(tag, "text-anchor") {
            Some("end") => x - width,
            Some("middle") => x - width / 2.0,
            _ => x,
        };
        (text, [left, y - 9.0, left + width, y + 2.0])
    };
    ((size[2], size[3]), svg.split("<text").skip(1).map(label).collect())
}

#[test]
fn no_label_lies_over_another_and_none_is_cut() {
    let seen: usize = all().iter().map(|fixture| readable(&page(fixture))).sum();
    assert!(seen > 1_000, "only {seen} labels found");
}

/// Sees to it that no label of a page's charts lies over another and none is cut; how many there are.
pub fn readable(page: &str) -> usize {
    let mut seen = 0;
    for svg in page.split("<svg class=\"chart").skip(1).map(|rest| rest.split("</svg>").next().unwrap()) {
        let id = svg.split("aria-labelledby=\"").nth(1).unwrap().split(' ').next().unwrap();
        let ((width, height), labels) = labels(svg);
        for (at, (text, own)) in labels.iter().enumerate() {
            seen += 1;
            assert!(own[0] >= -1.0 && own[2] <= width + 1.0, "{id}: {text} at {own:?} of {width}");
            assert!(own[1] >= 0.0 && own[3] <= height, "{id}: {text} at {own:?} of {height}");
            for (other, theirs) in &labels[..at] {
                let over =
                    own[0] < theirs[2] && theirs[0] < own[2] && own[1] < theirs[3] && theirs[1] < own[3];
                assert!(!over, "{id}: {text} {own:?} lies over {other} {theirs:?}");
            }
        }
    }
    seen
}
