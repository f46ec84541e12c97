//! Which charts a report has, and what each of them holds.

mod traces;

use super::chart::{Axis, Chart, Guide, Marker, Point, Quantity, Spacing, Trace};
use super::legend::{Look, Study};
use crate::format;
use evenkeel_core::digits::{ceiling, floor};
use evenkeel_study::store::Distribution;
use evenkeel_study::store::format::{CellSummary, HeadlineRecord};
use traces::{Measure, PERCENTILES, TAU, THETA, THROUGHPUT, is_hollow, trace, traces};

pub struct Plot {
    pub heading: String,
    pub words: String,
    /// What is missing; empty for nothing.
    pub note: String,
    pub chart: Chart,
}

impl Plot {
    pub fn new(heading: impl Into<String>, words: impl Into<String>, chart: Chart) -> Self {
        Self { heading: heading.into(), words: words.into(), note: String::new(), chart }
    }
}

pub const WIDE: (f64, f64) = (1040.0, 420.0);
pub const HALF: (f64, f64) = (510.0, 330.0);
const PANEL: (f64, f64) = (350.0, 260.0);

/// Mean response time against the arrival rate: the profile itself.
pub fn tau(study: &Study) -> Plot {
    let mut guides = Vec::new();
    if let Some(headline) = study.only_headline() {
        let beyond = headline.trust_theta_percent.filter(|_| headline.trust_ended);
        if let Some(x) = beyond.and_then(|theta| rate_at(study, headline, theta)) {
            guides.push(Guide::Upright { x, text: "reliable up to here".to_owned() });
        }
        guides.extend(carried(headline));
    }
    let y = time_axis("mean response time");
    Plot::new(
        "Response time",
        "Mean response time against the arrival rate on a logarithmic axis, with 95 % intervals over runs.",
        chart(study, "tau", WIDE, y, guides, traces(study, &TAU)),
    )
}

/// What is carried, at least and at most.
fn carried(headline: &HeadlineRecord) -> impl Iterator<Item = Guide> {
    let bounds = &headline.bounds;
    let least = bounds.at_least_per_s.map(|x| (x, format!("at least {}/s", floor(x))));
    let most = bounds.at_most_per_s.map(|x| (x, format!("at most {}/s", ceiling(x))));
    least.into_iter().chain(most).map(|(x, text)| Guide::Upright { x, text })
}

/// Utilisation against the arrival rate, and up to where it is trusted.
pub fn theta(study: &Study) -> Plot {
    let level = |headline: &HeadlineRecord| {
        let y = headline.trust_theta_percent?;
        let (text, class) = match study.only_headline() {
            Some(_) => (trust_text(headline, y), "accent".to_owned()),
            None => {
                let hue = study.look(headline.series.first().copied().unwrap_or(0)).hue;
                (String::new(), format!("s{hue}"))
            }
        };
        Some(Guide::Level { y, text, class })
    };
    let guides = study.summary.headlines.iter().filter_map(level).collect();
    let mut y = Axis::new("CPU use", Quantity::Percent, Spacing::Linear);
    y.holds.push(100.0);
    let words = match study.only_headline() {
        Some(_) => "CPU use of the server's domain. Above the line, runs or targets no longer agree.",
        None => {
            "CPU use of the server's domain. Thin dashed lines in a series' colour mark up to where it is reliable."
        }
    };
    Plot::new("CPU use", words, chart(study, "theta", HALF, y, guides, traces(study, &THETA)))
}

fn trust_text(headline: &HeadlineRecord, percent: f64) -> String {
    let words = if headline.trust_ended { "reliable up to" } else { "reliable at least up to" };
    format!("{words} {}", format::percent(percent))
}

pub fn throughput(study: &Study) -> Plot {
    let y = Axis::new("throughput", Quantity::PerSecond, Spacing::Linear);
    Plot::new(
        "Throughput",
        "Completions per second. Where the line leaves the diagonal, the server is past its capacity.",
        chart(study, "throughput", HALF, y, vec![Guide::Equal], traces(study, &THROUGHPUT)),
    )
}

/// Percentiles against the arrival rate: one panel for each series, all on the same scales.
pub fn percentiles(study: &Study) -> Vec<Plot> {
    let several = study.has_several();
    let ends = |cell: &CellSummary| [format::mean(&cell.p50_ms), format::mean(&cell.p999_ms)];
    let times: Vec<f64> = study.summary.cells.iter().flat_map(ends).flatten().collect();
    let panel = |series: usize| {
        let label = &study.plan.series[series].label;
        let mut y = time_axis("response time");
        y.holds.clone_from(&times);
        let size = if several { PANEL } else { HALF };
        let id = format!("percentiles-{series}");
        let mut chart = chart(study, &id, size, y, objective(study), percentile_traces(study, series));
        chart.title = format!("Percentiles of the response time: {label}");
        match several {
            true => Plot::new(label, "", chart),
            false => Plot::new(
                "Percentiles",
                "Half of the requests are faster than p50, one in a thousand is slower than p99.9.",
                chart,
            ),
        }
    };
    (0..study.plan.series.len()).map(panel).collect()
}

fn objective(study: &Study) -> Vec<Guide> {
    let level =
        |y| Guide::Level { y, text: format!("objective p95 {}", format::time(y)), class: "p2".to_owned() };
    study.plan.settings.objective_p95_ms.map(level).into_iter().collect()
}

fn percentile_traces(study: &Study, series: usize) -> Vec<Trace> {
    let traces = PERCENTILES.iter().enumerate().map(|(at, (name, measure))| Trace {
        class: format!("p{at}"),
        marker: Marker::Circle,
        dashed: false,
        end_text: (*name).to_owned(),
        ..trace(study, series, measure)
    });
    traces.collect()
}

/// The arrival rate at which the first series of a group reaches a utilisation, straight between its cells.
fn rate_at(study: &Study, headline: &HeadlineRecord, theta: f64) -> Option<f64> {
    let cells = study.cells_of(*headline.series.first()?);
    let known: Vec<(f64, f64)> =
        cells.iter().filter_map(|cell| Some((cell.rate_per_s, format::mean(&cell.theta_percent)?))).collect();
    let above = known.iter().position(|(_, of_cell)| *of_cell > theta)?;
    let (to, high) = known[above];
    let (from, low) = *known.get(above.checked_sub(1)?)?;
    Some(from + (to - from) * (theta - low) / (high - low))
}

fn chart(
    study: &Study,
    id: &str,
    size: (f64, f64),
    y: Axis,
    guides: Vec<Guide>,
    traces: Vec<Trace>,
) -> Chart {
    let mut x = Axis::new("arrival rate", Quantity::PerSecond, Spacing::Linear);
    x.holds.extend(study.summary.cells.iter().map(|cell| cell.rate_per_s));
    let title = format!("{} against the arrival rate", y.title);
    let description = format!("{title}. The table of cells has the same figures.");
    Chart { id: id.to_owned(), title, description, size, x, y, guides, traces }
}

fn time_axis(title: &str) -> Axis {
    Axis::new(title, Quantity::Time, Spacing::Logarithmic)
}

pub const SIDES: [&str; 2] = ["A", "B"];

/// How the first and the second are drawn.
pub fn side_look(side: usize) -> Look {
    [
        Look { hue: 0, marker: Marker::Circle, dashed: false },
        Look { hue: 1, marker: Marker::Square, dashed: true },
    ][side]
}

/// Response time, throughput and utilisation of a series of each against the arrival rate.
pub fn pair(studies: [&Study; 2], series: [usize; 2], id: &str) -> [Plot; 3] {
    let linear = |title: &str, quantity| Axis::new(title, quantity, Spacing::Linear);
    let plot = |heading: &str, key: &str, y: Axis, measure: &Measure, size| {
        let chart = Chart {
            id: format!("{key}-{id}"),
            title: format!("{} of both studies against the arrival rate", y.title),
            description: "A line for each study.".to_owned(),
            size,
            x: linear("arrival rate", Quantity::PerSecond),
            y,
            guides: Vec::new(),
            traces: [0, 1].map(|side| of_side(studies[side], series[side], side, measure)).to_vec(),
        };
        Plot::new(heading, "Means with 95 % intervals over runs.", chart)
    };
    let throughput = linear("throughput", Quantity::PerSecond);
    [
        plot("Response time", "tau", time_axis("mean response time"), &TAU, WIDE),
        plot("Throughput", "throughput", throughput, &THROUGHPUT, HALF),
        plot("CPU use", "theta", linear("CPU use", Quantity::Percent), &THETA, HALF),
    ]
}

fn of_side(study: &Study, series: usize, side: usize, measure: &Measure) -> Trace {
    let Look { hue, marker, dashed } = side_look(side);
    let mut trace = trace(study, series, measure);
    trace.points.iter_mut().for_each(|point| point.tip = format!("{}: {}", SIDES[side], point.tip));
    Trace { class: format!("s{hue}"), marker, dashed, end_text: SIDES[side].to_owned(), ..trace }
}

/// A line ends where fewer values than this lie beyond: further up single requests decide.
const BEYOND: f64 = 10.0;
/// Steps from one nine to the next.
const STEPS: i32 = 12;
const RATES: usize = 8;

pub const SPECTRUM: &str = "Distribution";
pub const SPECTRUM_WORDS: &str = "Response time against the percentile, a line for each arrival rate, all runs of a cell together. Each \
     step to the right leaves a tenth: at p99 one request in a hundred is slower. A line ends where fewer than ten \
     requests lie beyond; it is dashed where the queue did not settle.";

/// The percentile spectrum of each series.
pub fn spectra(study: &Study) -> Vec<Plot> {
    let several = study.has_several();
    let all: Vec<(Vec<Trace>, Vec<String>)> =
        (0..study.plan.series.len()).map(|series| curves(study, series)).collect();
    // All panels have the same scales.
    let points = || all.iter().flat_map(|(traces, _)| traces).flat_map(|trace| &trace.points);
    let times: Vec<f64> = points().map(|point| point.y).collect();
    let most = points().map(|point| point.x).fold(10.0, f64::max);
    let plot = |(series, (traces, missing)): (usize, &(Vec<Trace>, Vec<String>))| {
        let label = &study.plan.series[series].label;
        let mut y = time_axis("response time");
        y.holds.clone_from(&times);
        let mut x = Axis::new("requests that are no slower", Quantity::Percentile, Spacing::Nines);
        x.holds = vec![1.0, most];
        let chart = Chart {
            id: format!("spectrum-{series}"),
            title: format!("Distribution of the response time at each rate: {label}"),
            description: "Response time against the percentile, a line for each arrival rate.".to_owned(),
            size: if several { PANEL } else { WIDE },
            x,
            y,
            guides: Vec::new(),
            traces: traces.clone(),
        };
        let plot =
            if several { Plot::new(label, "", chart) } else { Plot::new(SPECTRUM, SPECTRUM_WORDS, chart) };
        match missing.as_slice() {
            [] => plot,
            missing => Plot { note: format!("Left out: {}", missing.join(", ")), ..plot },
        }
    };
    all.iter().enumerate().map(plot).collect()
}

/// Lines of a series, and what could not be drawn.
fn curves(study: &Study, series: usize) -> (Vec<Trace>, Vec<String>) {
    let cells = study.cells_of(series);
    let (mut traces, mut missing) = (Vec::new(), Vec::new());
    for (at, cell) in cells.iter().enumerate() {
        let (distribution, left_out) = of_cell(study, cell);
        missing.extend(left_out);
        let points = distribution.as_ref().map(points).unwrap_or_default();
        if !points.is_empty() {
            traces.push(Trace {
                class: format!("r{}", at * RATES / cells.len().max(1)),
                dashed: is_hollow(cell),
                bare: true,
                end_text: format::rate(cell.rate_per_s),
                points,
                ..Trace::default()
            });
        }
    }
    (traces, missing)
}

/// All runs of a cell that its figures are of together, and those that cannot be read.
fn of_cell(study: &Study, cell: &CellSummary) -> (Option<Distribution>, Vec<String>) {
    let (mut all, mut missing): (Option<Distribution>, Vec<String>) = (None, Vec::new());
    for run in study.standing_of(cell.cell) {
        let details = study.details.of(run);
        match details.map_or(Err("not read"), |own| own.response.as_ref().map_err(String::as_str)) {
            Ok(own) => all = Some(all.map_or_else(|| own.clone(), |all| all.and(own))),
            Err(why) => missing.push(format!("{}, run {}: {why}", study.cell_name(cell), run.repeat)),
        }
    }
    (all, missing)
}

/// From the least value up to where [`BEYOND`] values are left.
fn points(distribution: &Distribution) -> Vec<Point> {
    let most = distribution.count() as f64 / BEYOND;
    let nines =
        (0..).map(|step| 10_f64.powf(f64::from(step) / f64::from(STEPS))).take_while(|nine| *nine <= most);
    let point = |nine: f64| {
        let y = distribution.at_percentile_ms(100.0 * (1.0 - 1.0 / nine))?;
        Some(Point { x: nine, y, ..Point::default() })
    };
    nines.take(100).filter_map(point).collect()
}
