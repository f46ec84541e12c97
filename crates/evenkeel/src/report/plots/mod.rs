//! Which charts a report has, and what each of them holds.

mod pair;
mod reduction;
mod spectrum;
mod traces;
mod variation;

use super::chart::{Axis, Chart, Guide, Marker, Quantity, Spacing, Trace};
use super::study::Study;
use crate::format;
use evenkeel_study::store::format::{BoundsRecord, CellSummary, HeadlineRecord};
use traces::{LAG, MU, Measure, PERCENTILES, PROBE_WAIT, TAU, THETA, THROUGHPUT, trace, traces};

pub use pair::{NAMES as SIDES, distributions, look as side_look, pair};
pub use reduction::reduction;
pub use spectrum::{HEADING as SPECTRUM, WORDS as SPECTRUM_WORDS, spectra};
pub use variation::{spread, standard_error};

/// A chart with the words around it.
pub struct Plot {
    /// Heading above the chart.
    pub heading: String,
    /// What to look for.
    pub words: String,
    /// Further remarks, each with the name of what it is about.
    pub notes: Vec<(String, String)>,
    /// The chart itself.
    pub chart: Chart,
    /// The same for a telephone, where the page is too narrow for it.
    pub narrow: Option<Chart>,
}

/// Full width of the page.
const WIDE: (f64, f64) = (1040.0, 420.0);
/// Half of it.
const HALF: (f64, f64) = (510.0, 330.0);
/// A third, for one panel of several.
const PANEL: (f64, f64) = (350.0, 260.0);

/// Mean response time against the arrival rate: the profile itself.
pub fn tau(study: &Study<'_>) -> Plot {
    let mut guides = Vec::new();
    if let Some(headline) = study.only_headline() {
        let beyond = headline.trust_theta_percent.filter(|_| headline.trust_ended);
        if let Some(x) = beyond.and_then(|theta| rate_at(study, headline, theta)) {
            guides.push(Guide::ShadeBeyond { x, text: "beyond the trust limit".to_owned() });
        }
        guides.extend(carried(headline));
    }
    if let Some(x) = knee(study) {
        guides.push(Guide::Upright { x, text: format!("knee {}", format::rate(x)) });
    }
    let y = time_axis("mean response time", Spacing::Logarithmic);
    let chart = chart(study, "tau", WIDE, y, guides, traces(study, &TAU));
    Plot {
        heading: "Response time".to_owned(),
        words: "Mean response time against the arrival rate on a logarithmic axis, with 95 % intervals over runs. The \
                knee is the rate with the most throughput for its response time, throughput over response time: beyond \
                it, waiting grows faster than what is gained."
            .to_owned(),
        notes: Vec::new(),
        narrow: Some(Chart { id: "tau-narrow".to_owned(), size: HALF, ..chart.clone() }),
        chart,
    }
}

/// What is carried, at least and at most; in studies without bounds the mean.
fn carried(headline: &HeadlineRecord) -> Vec<Guide> {
    let upright = |name: &str, x: Option<f64>| {
        x.map(|x| Guide::Upright { x, text: format!("{name} {}", format::rate(x)) })
    };
    let BoundsRecord { at_least_per_s, at_most_per_s, .. } = headline.bounds;
    let bounds = [upright("at least", at_least_per_s), upright("at most", at_most_per_s)];
    match headline.bounds.is_something() {
        true => bounds.into_iter().flatten().collect(),
        false => {
            upright("carries", headline.capacity_per_s.as_ref().and_then(format::mean)).into_iter().collect()
        }
    }
}

/// The rate of the largest power, throughput / tau (Kleinrock, ICC 1979), of the only series; `None` where no rate was
/// measured on both sides of it, where responses did not settle there, or where power has several hills.
fn knee(study: &Study<'_>) -> Option<f64> {
    let cells = if study.has_several() { Vec::new() } else { study.cells_of(0) };
    let power = |cell: &CellSummary| {
        let tau = format::mean(&cell.tau_ms).filter(|tau| *tau > 0.0)?;
        Some(format::mean(&cell.throughput_per_s)? / tau)
    };
    let powers: Vec<f64> = cells.iter().filter_map(|cell| power(cell)).collect();
    let largest = (0..powers.len()).max_by(|a, b| powers[*a].total_cmp(&powers[*b]))?;
    let is_inside = powers.len() == cells.len() && largest > 0 && largest + 1 < powers.len();
    // Where it rises and falls more than once, noise has made the largest.
    let is_one_hill = powers[..=largest].is_sorted() && powers[largest..].is_sorted_by(|a, b| a >= b);
    let is_sound = |cell: &CellSummary| !traces::is_hollow(cell) && !cell.lower_bound;
    let cell = cells.get(largest).filter(|cell| is_inside && is_one_hill && is_sound(cell))?;
    Some(cell.rate_per_s)
}

/// Utilisation against the arrival rate, with the trust limit.
pub fn theta(study: &Study<'_>) -> Plot {
    let mut guides = Vec::new();
    for headline in &study.summary.headlines {
        let Some(y) = headline.trust_theta_percent else { continue };
        let hue = study.look(headline.series.first().copied().unwrap_or(0)).hue;
        let class = if study.only_headline().is_some() { "accent".to_owned() } else { format!("s{hue}") };
        if study.only_headline().is_some() && headline.trust_ended {
            guides.push(Guide::ShadeAbove { y });
        }
        let text = if study.only_headline().is_some() { trust_text(headline) } else { String::new() };
        guides.push(Guide::Level { y, text, class });
    }
    let y = Axis { holds: vec![100.0], ..axis("CPU use", Quantity::Percent, Spacing::Linear) };
    let words = if study.only_headline().is_some() {
        "CPU use of the server's domain. Above the trust limit, runs or targets no longer agree."
    } else {
        "CPU use of the server's domain. Thin dashed lines in a series' colour mark its trust limit."
    };
    Plot {
        heading: "CPU use".to_owned(),
        words: words.to_owned(),
        notes: Vec::new(),
        narrow: None,
        chart: chart(study, "theta", HALF, y, guides, traces(study, &THETA)),
    }
}

fn trust_text(headline: &HeadlineRecord) -> String {
    let limit = headline.trust_theta_percent.map_or_else(String::new, format::percent);
    if headline.trust_ended { format!("trust limit {limit}") } else { format!("trusted at least to {limit}") }
}

/// Completions against arrivals.
pub fn throughput(study: &Study<'_>) -> Plot {
    let guides = vec![Guide::Equal { text: "all are answered".to_owned() }];
    let y = axis("throughput", Quantity::PerSecond, Spacing::Linear);
    Plot {
        heading: "Throughput".to_owned(),
        words: "Completions per second. Where the line leaves the diagonal, the server is past its capacity."
            .to_owned(),
        notes: Vec::new(),
        narrow: None,
        chart: chart(study, "throughput", HALF, y, guides, traces(study, &THROUGHPUT)),
    }
}

/// Traces that others are set beside: faint, and without runs and intervals.
fn behind(study: &Study<'_>, measure: &Measure, name: &str) -> Vec<Trace> {
    let mut all = traces(study, measure);
    for trace in &mut all {
        trace.class.push_str(" behind");
        trace.dots.clear();
        trace.points.iter_mut().for_each(|point| (point.interval, point.text) = (None, String::new()));
        trace.end_text = if study.has_several() { String::new() } else { name.to_owned() };
    }
    all
}

/// The generator's own error, beside what it measures.
pub fn lag(study: &Study<'_>) -> Plot {
    let mut all = behind(study, &TAU, "mean");
    for mut trace in traces(study, &LAG) {
        trace.points.iter_mut().for_each(|point| (point.lower_bound, point.text) = (false, String::new()));
        trace.end_text = if study.has_several() { String::new() } else { "lag".to_owned() };
        all.push(trace);
    }
    let y = time_axis("time", Spacing::Logarithmic);
    Plot {
        heading: "Dispatch lag".to_owned(),
        words: "99th percentile of our own error in sending on time (strong), beside the mean response time (faint), on a \
                logarithmic scale. The further apart, the less it matters."
            .to_owned(),
        notes: Vec::new(),
        narrow: None,
        chart: chart(study, "lag", HALF, y, Vec::new(), all),
    }
}

/// Delay of the probes against the arrival rate; `None` where the server did not tell.
pub fn probe_delay(study: &Study<'_>) -> Option<Plot> {
    let y = time_axis("probe delay", Spacing::Linear);
    let mut words =
        "Response time of a small probe less its execution time at the server: the socket, and waking up on \
                     both sides, where threads of a busy machine wait for a CPU."
            .to_owned();
    let mut all = traces(study, &MU);
    if study.summary.cells.iter().any(|cell| cell.probe_wait_ms.n > 0) {
        words.push_str(
            " The part in which their threads waited for a CPU, as far as the kernel reports it, is faint.",
        );
        all.splice(0..0, behind(study, &PROBE_WAIT, "CPU wait"));
    }
    study.summary.cells.iter().any(|cell| cell.mu_ms.n > 0).then(|| Plot {
        heading: "Probe delay".to_owned(),
        words,
        notes: Vec::new(),
        narrow: None,
        chart: chart(study, "mu", HALF, y, Vec::new(), all),
    })
}

/// Percentiles against the arrival rate: one panel for each series, all on the same scales.
pub fn percentiles(study: &Study<'_>) -> Vec<Plot> {
    let several = study.has_several();
    let cells = &study.summary.cells;
    let ends = |cell: &CellSummary| [format::mean(&cell.p50_ms), format::mean(&cell.p999_ms)];
    let times: Vec<f64> = cells.iter().flat_map(ends).flatten().collect();
    let panels = study.plan.series.iter().enumerate().map(|(series, record)| {
        let mut y = time_axis("response time", Spacing::Logarithmic);
        y.holds.clone_from(&times);
        let size = if several { PANEL } else { HALF };
        let id = format!("percentiles-{series}");
        let mut chart = chart(study, &id, size, y, objective(study), percentile_traces(study, series));
        let heading = if several { record.label.clone() } else { "Percentiles".to_owned() };
        chart.title = format!("Percentiles of the response time: {}", record.label);
        let words = "Half of the requests are faster than p50, one in a thousand is slower than p99.9.";
        Plot {
            heading,
            words: if several { String::new() } else { words.to_owned() },
            notes: Vec::new(),
            chart,
            narrow: None,
        }
    });
    panels.collect()
}

fn objective(study: &Study<'_>) -> Vec<Guide> {
    let level =
        |y| Guide::Level { y, text: format!("objective p95 {}", format::time(y)), class: "p2".to_owned() };
    study.plan.settings.objective_p95_ms.map(level).into_iter().collect()
}

fn percentile_traces(study: &Study<'_>, series: usize) -> Vec<Trace> {
    let traces = PERCENTILES.iter().enumerate().map(|(at, (name, measure))| {
        let mut trace = trace(study, series, measure);
        trace.class = format!("p{at}");
        trace.marker = Marker::Circle;
        trace.dashed = false;
        trace.end_text = (*name).to_owned();
        trace.points.iter_mut().for_each(|point| point.text.clear());
        trace
    });
    traces.collect()
}

/// The arrival rate at which the first series of a group reaches a utilisation, straight between its cells.
fn rate_at(study: &Study<'_>, headline: &HeadlineRecord, theta: f64) -> Option<f64> {
    let cells = study.cells_of(*headline.series.first()?);
    let known: Vec<(f64, f64)> =
        cells.iter().filter_map(|cell| Some((cell.rate_per_s, format::mean(&cell.theta_percent)?))).collect();
    let above = known.iter().position(|(_, of_cell)| *of_cell > theta)?;
    let (to, high) = known[above];
    let (from, low) = *known.get(above.checked_sub(1)?)?;
    Some(from + (to - from) * (theta - low) / (high - low))
}

fn chart(
    study: &Study<'_>,
    id: &str,
    size: (f64, f64),
    y: Axis,
    guides: Vec<Guide>,
    traces: Vec<Trace>,
) -> Chart {
    let rates = study.summary.cells.iter().map(|cell| cell.rate_per_s);
    let (low, high) = rates.fold((f64::MAX, 0.0), |(low, high), rate| (rate.min(low), rate.max(high)));
    let title = format!("{} against the arrival rate", y.title);
    let several = match study.plan.series.len() {
        1 => "one series".to_owned(),
        many => format!("{many} series"),
    };
    let description = if high > 0.0 {
        format!(
            "{title}: {several} from {} to {}. The table of cells has the same figures.",
            format::rate(low),
            format::rate(high)
        )
    } else {
        "No run has finished yet.".to_owned()
    };
    let mut x = axis("arrival rate", Quantity::PerSecond, Spacing::Linear);
    x.holds.extend(study.summary.cells.iter().map(|cell| cell.rate_per_s));
    Chart { id: id.to_owned(), title, description, size, x, y, guides, traces }
}

fn axis(title: &str, quantity: Quantity, spacing: Spacing) -> Axis {
    Axis { title: title.to_owned(), quantity, spacing, holds: Vec::new() }
}

fn time_axis(title: &str, spacing: Spacing) -> Axis {
    axis(title, Quantity::Time, spacing)
}
