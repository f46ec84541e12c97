//! What is drawn: figures against the numeric factor of a part, and what was watched over time.

use crate::format;
use crate::published::{Published, against, hosts, line, of_host, plus_minus, split};
use crate::report::chart::{Axis, Chart, Guide, Marker, Point, Quantity, Spacing, Trace};
use crate::report::legend::{HUES, Look};
use crate::report::plots::{HALF, Plot, WIDE};
use evenkeel_study::harness;
use evenkeel_study::harness::{Cell, Figure, Part, Scale, Unit, moments};

/// Our own way has the same look in all studies.
const OURS: &str = "evenkeel";
/// Of the others, one after the other.
const OTHERS: [(usize, Marker, bool); 5] = [
    (1, Marker::Square, false),
    (5, Marker::Diamond, true),
    (3, Marker::Triangle, false),
    (2, Marker::Square, false),
    (4, Marker::Diamond, false),
];

/// Hue, shape and line of a level: the same in all charts of a part.
fn look(place: usize, level: &str) -> Look {
    let (hue, marker, dashed) = match level {
        OURS => (0, Marker::Circle, false),
        _ => OTHERS[place % OTHERS.len()],
    };
    Look { hue, marker, dashed }
}

/// The cells that differ in the numeric factor alone.
pub struct Line<'a, 'b> {
    pub words: String,
    pub look: Look,
    pub cells: Vec<&'b Cell<'a>>,
}

/// The lines of a part, in the order of the plan.
pub fn lines<'a, 'b>(part: &Part, cells: &[&'b Cell<'a>]) -> Vec<Line<'a, 'b>> {
    let mut lines: Vec<Line<'a, 'b>> = Vec::new();
    for cell in cells {
        let words = line(cell);
        if let Some(known) = lines.iter_mut().find(|known| known.words == words) {
            known.cells.push(cell);
            continue;
        }
        // By the first factor, so that a level looks the same whatever was measured of the others.
        let level = cell.levels.first().map_or("", String::as_str);
        let place =
            part.factors.first().and_then(|first| first.levels.iter().position(|known| known.name == level));
        lines.push(Line { words, look: look(place.unwrap_or(0), level), cells: vec![cell] });
    }
    lines
}

/// Figures against the numeric factor: the first over the whole width, and all others that are known; none where it has a single level.
pub fn against_factor(view: &Published<'_>, part: &Part, lines: &[Line<'_, '_>]) -> Vec<Plot> {
    // Against a single number all lines are one upright line: the table tells more.
    let place = against(part).filter(|place| part.factors[*place].levels.len() > 1);
    let Some(place) = place else { return Vec::new() };
    let cells = view.cells_of(part);
    let hosts = hosts(&cells);
    let factor = &part.factors[place].name;
    let drawn = view
        .known(&cells)
        .into_iter()
        .filter_map(|figure| Some((figure, figure.chart.filter(|chart| !chart.is_heat)?)));
    // Zero has no logarithm.
    let has_zero =
        part.factors[place].levels.iter().any(|level| level.name.parse().is_ok_and(|x: f64| x <= 0.0));
    let spacing = if has_zero { Spacing::Linear } else { Spacing::Logarithmic };
    let plot = |(at, (figure, chart)): (usize, (&Figure, harness::Chart))| {
        let traces = lines.iter().filter(|line| !is_without(line, part, &chart));
        let traces = traces.flat_map(|line| hosts.iter().map(move |host| trace(line, figure, host, factor)));
        let x = Axis::new(factor, Quantity::Plain, spacing);
        let mut plot = plot(part, figure, &chart, traces.collect(), x);
        plot.chart.title = format!("{} against {factor}", chart.axis);
        plot.chart.guides = guides(view, part, figure.key, BEST);
        plot.chart.size = if at == 0 { WIDE } else { HALF };
        plot
    };
    drawn.enumerate().map(plot).collect()
}

fn is_without(line: &Line<'_, '_>, part: &Part, chart: &harness::Chart) -> bool {
    let has = |cell: &&Cell<'_>| part.factors.iter().any(|factor| cell.level(&factor.name) == chart.without);
    !chart.without.is_empty() && line.cells.iter().any(has)
}

/// What a guide looks like beside lines: as the first level of the first factor, which nothing is done for.
const BEST: &str = "s1";
/// And beside hosts, of which the second has that look.
const PLAIN: &str = "";

fn guides(view: &Published<'_>, part: &Part, key: &str, class: &str) -> Vec<Guide> {
    let here = view.said.guides.iter().filter(|(of, figure, ..)| *of == part.name && *figure == key);
    here.map(|(.., y, text)| Guide::Level { y: *y, text: text.clone(), class: class.to_owned() }).collect()
}

fn plot(part: &Part, figure: &Figure, chart: &harness::Chart, traces: Vec<Trace>, x: Axis) -> Plot {
    let quantity = match chart.unit {
        Unit::PerSecond => Quantity::PerSecond,
        Unit::Milliseconds => Quantity::Time,
        Unit::Percent => Quantity::Percent,
        Unit::Plain => Quantity::Plain,
    };
    let spacing = match chart.scale {
        Scale::Linear => Spacing::Linear,
        Scale::Logarithmic => Spacing::Logarithmic,
        Scale::Fitting => Spacing::Fitting,
    };
    let drawn = Chart {
        id: format!("{}-{}", figure.key.replace("_per_s", "").replace('_', "-"), part.name),
        title: chart.heading.to_owned(),
        description: format!("{}, {}. The table has the same figures.", chart.heading, part.title),
        size: HALF,
        x,
        y: Axis::new(chart.axis, quantity, spacing),
        guides: Vec::new(),
        traces,
    };
    Plot::new(chart.heading, chart.words, drawn)
}

fn trace_of(look: Look, end_text: &str, points: Vec<Point>) -> Trace {
    let Look { hue, marker, dashed } = look;
    let (class, end_text) = (format!("s{hue}"), end_text.to_owned());
    Trace { class, marker, dashed, end_text, points, ..Trace::default() }
}

fn trace(line: &Line<'_, '_>, figure: &Figure, host: &str, factor: &str) -> Trace {
    let key = of_host(figure.key, host);
    let points = line.cells.iter().filter_map(|cell| point(line, cell, figure, &key, factor)).collect();
    let dots = |cell: &&Cell<'_>| {
        let x = cell.number(factor);
        cell.values(&key).into_iter().filter_map(move |y| Some((x?, y))).collect::<Vec<_>>()
    };
    Trace { dots: line.cells.iter().flat_map(dots).collect(), ..trace_of(line.look, host, points) }
}

fn point(line: &Line<'_, '_>, cell: &Cell<'_>, figure: &Figure, key: &str, factor: &str) -> Option<Point> {
    let (x, estimate) = (cell.number(factor)?, cell.estimate(key)?);
    let tip = format!(
        "{}, {factor} {}\n{} {} {}\n{}",
        line.words,
        cell.level(factor),
        figure.head[0],
        plus_minus(&estimate),
        figure.head[1],
        format::counted(cell.runs.len(), "run")
    );
    Some(Point {
        x,
        y: estimate.mean,
        interval: estimate.low().zip(estimate.high()),
        tip,
        ..Point::default()
    })
}

/// What was watched over time. Of hosts a chart for each line, of its first run; else one chart with the mean of each line.
pub fn over_time(view: &Published<'_>, part: &Part, lines: &[Line<'_, '_>]) -> Vec<Plot> {
    let runs = lines.iter().flat_map(|line| &line.cells).flat_map(|cell| &cell.runs);
    let columns: Vec<&String> = runs
        .map(|run| &run.series.columns)
        .find(|columns| !columns.is_empty())
        .map_or_else(Vec::new, |columns| columns.iter().collect());
    let mut plots = Vec::new();
    for figure in view.figures {
        let own = || columns.iter().filter(|column| split(column).0 == figure.key);
        let Some(chart) = figure.chart.filter(|_| own().next().is_some()) else { continue };
        let shown: Vec<_> = lines.iter().filter(|line| !is_without(line, part, &chart)).collect();
        let of_hosts = own().any(|column| !split(column).1.is_empty());
        let drawn = if of_hosts { host_traces(part, figure, &shown) } else { line_traces(figure, &shown) };
        // Charts side by side are read on the same scale.
        let points = drawn.iter().flat_map(|(_, traces)| traces).flat_map(|trace| &trace.points);
        let holds: Vec<f64> = points.map(|point| point.y).collect();
        for (at, (name, traces)) in drawn.into_iter().enumerate() {
            let x = Axis::new("time, s", Quantity::Plain, Spacing::Linear);
            let mut plot = plot(part, figure, &chart, traces, x);
            let end = if of_hosts { format!("-{at}") } else { String::new() };
            plot.chart.id = format!("time-{}{end}", plot.chart.id);
            plot.chart.title = format!("{} over time", plot.chart.title);
            plot.chart.y.holds.clone_from(&holds);
            let marks = part.marks.iter().map(|(x, text)| Guide::Upright { x: *x, text: text.clone() });
            let guide = if of_hosts { PLAIN } else { BEST };
            plot.chart.guides = marks.chain(guides(view, part, figure.key, guide)).collect();
            if of_hosts {
                plot.heading = format!("{}: {name}", plot.heading);
            }
            plots.push(plot);
        }
    }
    plots
}

type Drawn = (String, Vec<Trace>);

fn line_traces(figure: &Figure, lines: &[&Line<'_, '_>]) -> Vec<Drawn> {
    let points = |line: &Line<'_, '_>, cell: &Cell<'_>| -> Vec<Point> {
        let several = cell.runs.len() > 1;
        let point = |moment: harness::Moment| Point {
            x: moment.at_s,
            y: moment.mean,
            interval: several.then_some(moment.range),
            tip: tip(&line.words, moment.at_s, moment.mean),
            ..Point::default()
        };
        moments(cell, figure.key).into_iter().map(point).collect()
    };
    let trace = |line: &&Line<'_, '_>| {
        trace_of(line.look, "", line.cells.iter().flat_map(|cell| points(line, cell)).collect())
    };
    vec![(String::new(), lines.iter().map(trace).collect())]
}

fn tip(of: &str, at_s: f64, y: f64) -> String {
    format!("{of}\nafter {}\n{}", format::seconds(at_s), format::short(y))
}

/// Points of a line at most: more would run into each other.
const POINTS: usize = 60;

fn host_traces(part: &Part, figure: &Figure, lines: &[&Line<'_, '_>]) -> Vec<Drawn> {
    let mut drawn = Vec::new();
    for line in lines {
        for cell in &line.cells {
            let Some(run) = cell.runs.first() else { continue };
            let columns = run.series.columns.iter().filter(|column| split(column).0 == figure.key);
            let traces = columns.enumerate().map(|(at, column)| {
                let points = thinned(split(column).1, &run.series.over_time(column));
                trace_of(look_of_host(at), split(column).1, points)
            });
            let level = against(part).map_or_else(String::new, |place| format!(" {}", cell.levels[place]));
            drawn.push((format!("{}{level}", line.words), traces.collect()));
        }
    }
    drawn
}

fn thinned(host: &str, values: &[(f64, f64)]) -> Vec<Point> {
    let point = |part: &[(f64, f64)]| {
        let y = part.iter().map(|(_, value)| value).sum::<f64>() / part.len() as f64;
        let x = part.last().map_or(0.0, |(at_s, _)| *at_s);
        Point { x, y, tip: tip(host, x, y), ..Point::default() }
    };
    values.chunks(values.len().div_ceil(POINTS).max(1)).map(point).collect()
}

/// The hosts whose figures were watched over time, in the order in which they are drawn; none where lines are.
pub fn drawn_hosts<'a>(lines: &'a [Line<'_, '_>]) -> Vec<&'a str> {
    let runs = lines.iter().flat_map(|line| &line.cells).flat_map(|cell| &cell.runs);
    let hosts = runs.flat_map(|run| &run.series.columns).map(|column| split(column).1);
    format::distinct(hosts.filter(|host| !host.is_empty()))
}

pub fn look_of_host(at: usize) -> Look {
    Look { hue: at % HUES, marker: Marker::numbered(at), dashed: false }
}
