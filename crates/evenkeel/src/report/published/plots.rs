//! What is drawn: figures against the numeric factor of a part, and what was watched over time.

use super::look::look;
use crate::format;
use crate::published::{Published, against, hosts, line, of_host, split, value};
use crate::report::chart::{Axis, Chart, Dot, Guide, Marker, Point, Quantity, Spacing, Trace};
use crate::report::plots::Plot;
use crate::report::study::Look;
use evenkeel_study::harness::{self, Cell, Figure, Moment, Part, Scale, Unit, moments};

/// Full width of the page.
const WIDE: (f64, f64) = (1040.0, 400.0);
/// Half of it.
const HALF: (f64, f64) = (510.0, 320.0);

/// The cells that differ in the numeric factor alone.
pub struct Line<'a, 'b> {
    /// What they have in common, in words.
    pub words: String,
    /// How they are drawn.
    pub look: Look,
    /// By the numeric factor.
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
pub fn against_factor(
    view: &Published<'_>,
    part: &Part,
    lines: &[Line<'_, '_>],
) -> (Option<Plot>, Vec<Plot>) {
    // Against a single number all lines are one upright line: the table tells more.
    let place = against(part).filter(|place| part.factors[*place].levels.len() > 1);
    let Some(place) = place else { return (None, Vec::new()) };
    let cells = view.cells_of(part);
    let hosts = hosts(&cells);
    let drawn = view.known(&cells).into_iter().filter_map(|figure| Some((figure, figure.chart?)));
    let mut plots = drawn.map(|(figure, chart)| {
        let traces = lines.iter().filter(|line| !is_without(line, part, &chart));
        let traces =
            traces.flat_map(|line| hosts.iter().map(move |host| trace(line, figure, host, part, place)));
        let factor = &part.factors[place].name;
        let mut plot =
            plot(part, figure, &chart, traces.collect(), axis(factor, Quantity::Plain, Spacing::Logarithmic));
        plot.chart.title = format!("{} against {factor}", chart.axis);
        plot.chart.guides = guides(view, part, figure.key, BEST);
        plot
    });
    let wide = plots.next().map(|mut plot| {
        plot.chart.size = WIDE;
        plot.narrow =
            Some(Chart { id: format!("{}-narrow", plot.chart.id), size: HALF, ..plot.chart.clone() });
        plot
    });
    (wide, plots.collect())
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

fn axis(title: &str, quantity: Quantity, spacing: Spacing) -> Axis {
    Axis { title: title.to_owned(), quantity, spacing, holds: Vec::new() }
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
    let chart_of = Chart {
        id: format!("{}-{}", figure.key.replace("_per_s", "").replace('_', "-"), part.name),
        title: chart.heading.to_owned(),
        description: format!("{}, {}. The table has the same figures.", chart.heading, part.title),
        size: HALF,
        x,
        y: axis(chart.axis, quantity, spacing),
        guides: Vec::new(),
        traces,
    };
    Plot {
        heading: chart.heading.to_owned(),
        words: chart.words.to_owned(),
        notes: Vec::new(),
        chart: chart_of,
        narrow: None,
    }
}

fn trace(line: &Line<'_, '_>, figure: &Figure, host: &str, part: &Part, place: usize) -> Trace {
    let key = of_host(figure.key, host);
    let factor = &part.factors[place].name;
    Trace {
        class: format!("s{}", line.look.hue),
        marker: line.look.marker,
        dashed: line.look.dashed,
        end_text: host.to_owned(),
        points: line.cells.iter().filter_map(|cell| point(line, cell, figure, &key, factor)).collect(),
        dots: line.cells.iter().flat_map(|cell| dots(cell, &key, factor)).collect(),
        ..Trace::default()
    }
}

fn point(line: &Line<'_, '_>, cell: &Cell<'_>, figure: &Figure, key: &str, factor: &str) -> Option<Point> {
    let (x, estimate) = (cell.number(factor)?, cell.estimate(key)?);
    let tip = format!(
        "{}, {factor} {}\n{} {} {}\n{}",
        line.words,
        cell.level(factor),
        figure.head[0],
        value(&estimate),
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

fn dots(cell: &Cell<'_>, key: &str, factor: &str) -> Vec<Dot> {
    let Some(x) = cell.number(factor) else { return Vec::new() };
    let values = cell.values(key);
    let middle = (values.len() as f64 - 1.0) / 2.0;
    let dot = |(at, y): (usize, f64)| Dot { x, y, aside: 0.5 * (at as f64 - middle) / middle.max(1.0) };
    values.into_iter().enumerate().map(dot).collect()
}

/// What was watched over time. Of hosts a chart for each line, of its first run; else one chart with the mean of each line.
pub fn over_time(view: &Published<'_>, part: &Part, lines: &[Line<'_, '_>]) -> Vec<Plot> {
    let columns: Vec<&String> = lines
        .iter()
        .flat_map(|line| &line.cells)
        .flat_map(|cell| &cell.runs)
        .find(|run| !run.series.columns.is_empty())
        .map_or_else(Vec::new, |run| run.series.columns.iter().collect());
    let is_of = |figure: &Figure| columns.iter().any(|column| split(column).0 == figure.key);
    let drawn =
        view.figures.iter().filter(|figure| is_of(figure)).filter_map(|figure| Some((figure, figure.chart?)));
    drawn
        .flat_map(|(figure, chart)| {
            let shown = lines.iter().filter(|line| !is_without(line, part, &chart)).collect::<Vec<_>>();
            let is_hosts = |column: &&&String| split(column).0 == figure.key && !split(column).1.is_empty();
            match columns.iter().any(|column| is_hosts(&column)) {
                true => of_hosts(view, part, figure, &chart, &shown),
                false => vec![of_lines(view, part, figure, &chart, &shown)],
            }
        })
        .collect()
}

fn marked(
    view: &Published<'_>,
    part: &Part,
    figure: &Figure,
    mut plot: Plot,
    (name, guide): (&str, &str),
) -> Plot {
    plot.chart.id = format!("time-{}{name}", plot.chart.id);
    plot.chart.title = format!("{} over time", plot.chart.title);
    let marks = part.marks.iter().map(|(x, text)| Guide::Upright { x: *x, text: text.clone() });
    plot.chart.guides = marks.chain(guides(view, part, figure.key, guide)).collect();
    plot
}

fn time_axis() -> Axis {
    axis("time, s", Quantity::Plain, Spacing::Linear)
}

fn of_lines(
    view: &Published<'_>,
    part: &Part,
    figure: &Figure,
    chart: &harness::Chart,
    lines: &[&Line<'_, '_>],
) -> Plot {
    let trace = |line: &&Line<'_, '_>| Trace {
        class: format!("s{}", line.look.hue),
        marker: line.look.marker,
        dashed: line.look.dashed,
        points: line.cells.iter().flat_map(|cell| over_runs(line, cell, figure.key)).collect(),
        ..Trace::default()
    };
    let plot = plot(part, figure, chart, lines.iter().map(trace).collect(), time_axis());
    marked(view, part, figure, plot, ("", BEST))
}

fn over_runs(line: &Line<'_, '_>, cell: &Cell<'_>, key: &str) -> Vec<Point> {
    let several = cell.runs.len() > 1;
    let point = |moment: Moment| Point {
        x: moment.at_s,
        y: moment.mean,
        interval: several.then_some(moment.range),
        tip: format!(
            "{}\nafter {}\n{}",
            line.words,
            format::seconds(moment.at_s),
            format::short(moment.mean)
        ),
        ..Point::default()
    };
    moments(cell, key).into_iter().map(point).collect()
}

/// Points of a line at most: more would run into each other.
const POINTS: usize = 60;

fn of_hosts(
    view: &Published<'_>,
    part: &Part,
    figure: &Figure,
    chart: &harness::Chart,
    lines: &[&Line<'_, '_>],
) -> Vec<Plot> {
    let cells = lines.iter().flat_map(|line| line.cells.iter().map(move |cell| (line, *cell)));
    let drawn: Vec<(String, Vec<Trace>)> = cells
        .filter_map(|(line, cell)| {
            let run = cell.runs.first()?;
            let columns = run.series.columns.iter().filter(|column| split(column).0 == figure.key);
            let traces =
                columns.enumerate().map(|(at, column)| host_trace(at, column, &run.series.over_time(column)));
            let name = against(part).map_or_else(String::new, |place| format!(" {}", cell.levels[place]));
            Some((format!("{}{name}", line.words), traces.collect()))
        })
        .collect();
    // Charts side by side are read on the same scale.
    let holds: Vec<f64> = drawn
        .iter()
        .flat_map(|(_, traces)| traces)
        .flat_map(|trace| &trace.points)
        .map(|point| point.y)
        .collect();
    let one = |(at, (name, traces)): (usize, (String, Vec<Trace>))| {
        let mut plot = plot(part, figure, chart, traces, time_axis());
        plot.chart.y.holds.clone_from(&holds);
        plot.heading = format!("{}: {name}", plot.heading);
        marked(view, part, figure, plot, (&format!("-{at}"), PLAIN))
    };
    drawn.into_iter().enumerate().map(one).collect()
}

/// The hosts whose figures were watched over time, in the order in which they are drawn; none where lines are.
pub fn drawn_hosts(lines: &[Line<'_, '_>]) -> Vec<String> {
    let runs = lines.iter().flat_map(|line| &line.cells).flat_map(|cell| &cell.runs);
    let columns = runs.flat_map(|run| &run.series.columns);
    let mut hosts: Vec<String> = Vec::new();
    for host in columns.map(|column| split(column).1).filter(|host| !host.is_empty()) {
        if !hosts.iter().any(|known| known == host) {
            hosts.push(host.to_owned());
        }
    }
    hosts
}

/// How the host at this place is drawn.
pub fn look_of_host(at: usize) -> Look {
    Look { hue: at % crate::report::palette::HUES, marker: Marker::numbered(at), dashed: false }
}

fn host_trace(at: usize, column: &str, values: &[(f64, f64)]) -> Trace {
    let host = split(column).1;
    let step = values.len().div_ceil(POINTS).max(1);
    let point = |part: &[(f64, f64)]| {
        let y = part.iter().map(|(_, value)| value).sum::<f64>() / part.len() as f64;
        let x = part.last().map_or(0.0, |(at_s, _)| *at_s);
        Point { x, y, tip: format!("{host}\n{x:.1} s\n{}", format::short(y)), ..Point::default() }
    };
    let look = look_of_host(at);
    Trace {
        class: format!("s{}", look.hue),
        marker: look.marker,
        end_text: host.to_owned(),
        points: values.chunks(step).map(point).collect(),
        ..Trace::default()
    }
}
