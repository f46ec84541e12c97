//! A surface of file size by record size, and a matrix.

use crate::published::Published;
use crate::report::published::html;
use evenkeel_study::harness::{Factor, Figure, Judgement, Mark, Matrix, Number, Part, Plan, Run, Unit};

const FIGURES: [Figure; 2] = [
    Figure::drawn("read_mb_per_s", ["read", "MB/s"], "Reading from the disk", "rate").heat(),
    Figure::drawn("client_percent", ["client", "%"], "CPU of the client", "CPU")
        .on(Unit::Percent, evenkeel_study::harness::Scale::Linear),
];
const SIZES: [u32; 9] = [4, 8, 16, 32, 64, 128, 256, 512, 1024];

fn surfaces(records: &[u32]) -> (Plan, Vec<Run>) {
    let mut size = Factor::numeric("file-mb", [64, 256, 1024]);
    size.levels[2].title = "1 GB".to_owned();
    let domain = Factor::named("domain", [("host", "the host"), ("guest", "a guest")]);
    let factors = vec![domain, size, Factor::numeric("record-kb", records.iter().copied())];
    let part = Part::new("surface", "a surface", "File size by record size.", factors, 2);
    let run = |(levels, repeat): (Vec<String>, u32)| {
        let number = |at: usize| levels[at].parse::<f64>().unwrap();
        let share = if levels[0] == "host" { 1.0 } else { 0.5 };
        let rate = share * 4_000.0 * number(2).sqrt() / number(1) + f64::from(repeat);
        let mut run = Run { part: "surface".into(), levels: levels.clone(), repeat, ..Run::default() };
        if number(1) > 64.0 || number(2) < 512.0 {
            run.set("read_mb_per_s", rate);
            run.set("client_percent", 3.0);
        }
        run
    };
    let runs = part.order(1).into_iter().map(run).collect();
    (Plan { id: "domains-1".into(), kind: "domains".into(), parts: vec![part], ..Plan::default() }, runs)
}

fn matrix() -> Matrix {
    let mark = |value: f64| {
        let number = Number { name: "slowdown".into(), value, interval: Some((value / 1.3, value * 1.3)) };
        Some(Mark { number, is_strong: value > 2.0 })
    };
    Matrix {
        part: "surface".to_owned(),
        title: "times slower in a".to_owned(),
        words: "The darker the slower.",
        fine: Some(1.0),
        columns: ["load", "select", "disk", "cpu", "idle"].map(|job| format!("b's {job}")).into(),
        rows: vec![
            ("a's select".to_owned(), vec![mark(1.33), mark(1.9), mark(1.11), mark(2.2), mark(0.99)]),
            ("a's write".to_owned(), vec![mark(1.28), mark(1.2), mark(6.33), None, mark(1.02)]),
        ],
    }
}

fn page(records: &[u32], matrices: Vec<Matrix>) -> String {
    let (plan, runs) = surfaces(records);
    let page = html(&Published::new(&plan, &runs, &FIGURES, Judgement { matrices, ..Judgement::default() }));
    assert_eq!(crate::report::fault(&page), None);
    if let Ok(path) = std::env::var("EVENKEEL_LOOK") {
        std::fs::write(path, &page).unwrap();
    }
    page
}

#[test]
fn a_surface_is_a_map_for_each_domain_with_the_same_shades_and_other_figures_stay_lines() {
    let page = page(&SIZES[..4], Vec::new());
    assert!(page.contains("<h4>the host</h4>") && page.contains("<h4>a guest</h4>"));
    assert!(page.contains("id=\"heat-read-mb-per-s-surface-1\""), "an id for each map");
    assert_eq!(page.matches("title=\"file-mb").count(), 24);
    assert!(page.contains("file-mb 1 GB, record-kb 8\n"), "a tip names both levels in words");
    assert_eq!(page.matches("--shade:100%").count(), 0, "the axis goes on behind the largest value");
    assert!(
        page.contains("id=\"client-percent-surface-t\"") && !page.contains("id=\"read-mb-per-s-surface-t\"")
    );
}

#[test]
fn what_was_not_measured_is_a_dash() {
    let page = page(&SIZES, vec![matrix()]);
    assert_eq!(page.matches("<td class=\"absent\">-</td>").count(), 1 + 2 * 2);
}

#[test]
fn a_matrix_frames_what_is_named_and_is_told_in_words_too() {
    let page = page(&SIZES[..2], vec![matrix(), Matrix { fine: None, ..matrix() }]);
    assert_eq!(page.matches("class=\"heat trouble\"").count(), 1);
    assert_eq!(page.matches("point marked").count(), 4);
    assert!(page.contains("4.87 to 8.23</small>"), "the interval in its cell");
}
