//! Why trust ends where it does: how far runs, and targets, disagree at each utilisation.

use super::traces::{is_hollow, tip};
use super::{HALF, Plot, axis, chart};
use crate::format;
use crate::report::chart::{Guide, Point, Quantity, Spacing, Trace};
use crate::report::study::Study;
use evenkeel_study::store::format::{CellSummary, HeadlineRecord};

/// Standard error of tau over runs, in percent of tau, against the utilisation. `None` where no cell has
/// both.
pub fn standard_error(study: &Study<'_>) -> Option<Plot> {
    let percent = |cell: &CellSummary| Some(cell.tau_ms.se? / format::mean(&cell.tau_ms)? * 100.0);
    let tolerance = study.plan.settings.tolerance_se_percent;
    let words = "Standard error of the mean response time over runs, in percent of it, against the CPU use. Trust ends where it \
                 passes the tolerance.";
    let mut plot =
        plot(study, "standard-error", "Variation over runs", words, tolerance, "standard error", percent)?;
    plot.notes = study.only_headline().and_then(reason).into_iter().collect();
    Some(plot)
}

/// Where trust ends and why.
fn reason(headline: &HeadlineRecord) -> Option<(String, String)> {
    let limit = format::percent(headline.trust_theta_percent?);
    Some(match (headline.trust_ended, headline.trust_reason.as_str()) {
        (true, "") => (format!("Trusted up to {limit}."), String::new()),
        (true, why) => (format!("Trusted up to {limit};"), format!("beyond, {why}.")),
        (false, _) => (format!("Trusted at least to {limit},"), "as far as was measured.".to_owned()),
    })
}

/// Largest difference of tau between targets, in percent of tau, against the utilisation. `None` with one
/// target.
pub fn spread(study: &Study<'_>) -> Option<Plot> {
    let percent = |cell: &CellSummary| Some(cell.target_spread_ms? / format::mean(&cell.tau_ms)? * 100.0);
    let tolerance = study.plan.settings.tolerance_spread_percent;
    let words = "Largest difference of the mean response time between targets at one rate, in percent of it, against the \
                 utilisation.";
    plot(study, "spread", "Spread between targets", words, tolerance, "spread", percent)
}

fn plot(
    study: &Study<'_>,
    id: &str,
    heading: &str,
    words: &str,
    tolerance: f64,
    title: &str,
    percent: impl Fn(&CellSummary) -> Option<f64>,
) -> Option<Plot> {
    let traces: Vec<Trace> = (0..study.plan.series.len()).map(|at| trace(study, at, &percent)).collect();
    if traces.iter().all(|trace| trace.points.is_empty()) {
        return None;
    }
    let text = format!("tolerance {}", format::percent(tolerance));
    let guides = vec![
        Guide::ShadeAbove { y: tolerance },
        Guide::Level { y: tolerance, text, class: "accent".to_owned() },
    ];
    let mut y = axis(title, Quantity::Percent, Spacing::Linear);
    y.holds.push(tolerance * 1.4);
    let mut chart = chart(study, id, HALF, y, guides, traces);
    chart.x = axis("CPU use", Quantity::Percent, Spacing::Linear);
    chart.x.holds.push(100.0);
    chart.title = format!("{title} against the utilisation");
    Some(Plot {
        heading: heading.to_owned(),
        words: words.to_owned(),
        notes: Vec::new(),
        chart,
        narrow: None,
    })
}

fn trace(study: &Study<'_>, series: usize, percent: impl Fn(&CellSummary) -> Option<f64>) -> Trace {
    let look = study.look(series);
    let point = |cell: &CellSummary| {
        let y = percent(cell).filter(|value| value.is_finite())?;
        let (hollow, tip) = (is_hollow(cell), tip(study, cell));
        Some(Point { x: format::mean(&cell.theta_percent)?, y, hollow, tip, ..Point::default() })
    };
    let mut points: Vec<Point> = study.cells_of(series).into_iter().filter_map(point).collect();
    points.sort_by(|a, b| a.x.total_cmp(&b.x));
    Trace {
        class: format!("s{}", look.hue),
        marker: look.marker,
        dashed: look.dashed,
        points,
        ..Trace::default()
    }
}
