//! What is drawn: figures against the number of clients, and throughput and limit over time after a step.

use super::{View, look};
use crate::format;
use crate::report::chart::{Axis, Chart, Dot, Guide, Point, Quantity, Spacing, Trace};
use crate::report::plots::Plot;
use crate::throttling::figures::{Figure, named};
use crate::throttling::record::{Load, StepSecond, Way};
use crate::throttling::summary::{Cell, curve, is_known, moments};

/// Full width of the page.
const WIDE: (f64, f64) = (1040.0, 400.0);
/// Half of it.
const HALF: (f64, f64) = (510.0, 320.0);

/// A chart of one figure.
struct Kind {
    key: &'static str,
    heading: &'static str,
    axis: &'static str,
    words: &'static str,
    quantity: Quantity,
    spacing: Spacing,
}

const THROUGHPUT: Kind = Kind {
    key: "throughput_per_s",
    heading: "Throughput",
    axis: "throughput",
    words: "Requests completed per second against the number of clients, with 95 % intervals over runs; what met a \
            deadlock does not count.",
    quantity: Quantity::PerSecond,
    spacing: Spacing::Linear,
};

const KINDS: [Kind; 8] = [
    Kind {
        key: "response_mean_ms",
        heading: "Response time",
        axis: "mean response time",
        words: "Mean, the wait in the guard's queue included.",
        quantity: Quantity::Time,
        spacing: Spacing::Logarithmic,
    },
    Kind {
        key: "dtlb_misses_per_commit",
        heading: "DTLB misses",
        axis: "DTLB misses per commit",
        words: "Misses of the data translation buffer on the server's CPUs.",
        quantity: Quantity::Plain,
        spacing: Spacing::Linear,
    },
    Kind {
        key: "cache_misses_per_commit",
        heading: "Cache misses",
        axis: "cache misses per commit",
        words: "Cache misses on the server's CPUs, as the processor's maker counts them.",
        quantity: Quantity::Plain,
        spacing: Spacing::Linear,
    },
    Kind {
        key: "cycles_per_commit",
        heading: "Cycles",
        axis: "cycles per commit",
        words: "Cycles of the server's CPUs.",
        quantity: Quantity::Plain,
        spacing: Spacing::Linear,
    },
    Kind {
        key: "cpu_ms_per_commit",
        heading: "CPU time per commit",
        axis: "CPU time per commit",
        words: "CPU time of the server's process: what misses cost shows in it.",
        quantity: Quantity::Time,
        spacing: Spacing::Linear,
    },
    Kind {
        key: "pages_read_per_commit",
        heading: "Pages missed by the buffer pool",
        axis: "pages read per commit",
        words: "Pages of 16 KiB that were not in the buffer pool.",
        quantity: Quantity::Plain,
        spacing: Spacing::Linear,
    },
    Kind {
        key: "lock_wait_percent",
        heading: "Lock waits",
        axis: "waiting for row locks, of the time in flight",
        words: "Time that transactions at the server waited for rows locked by others.",
        quantity: Quantity::Percent,
        spacing: Spacing::Linear,
    },
    Kind {
        key: "limit_mean",
        heading: "Limit",
        axis: "mean limit",
        words: "How many transactions the guard let run, mean while measured.",
        quantity: Quantity::Plain,
        spacing: Spacing::Fitting,
    },
];

/// Throughput of a workload, over the whole width.
pub fn throughput(view: &View<'_>, load: Load) -> Plot {
    let mut plot = plot(view, load, &THROUGHPUT, WIDE);
    let best =
        view.verdicts.iter().find(|verdict| verdict.load == load).and_then(|verdict| verdict.fall.as_ref());
    if let Some(fall) = best {
        let text = format!("best without control {}", format::rate(fall.best.1));
        plot.chart.guides.push(Guide::Level { y: fall.best.1, text, class: "s1".to_owned() });
    }
    plot.narrow = Some(Chart { id: format!("{}-narrow", plot.chart.id), size: HALF, ..plot.chart.clone() });
    plot
}

/// All other figures that are known.
pub fn others(view: &View<'_>, load: Load) -> Vec<Plot> {
    let known = |kind: &&Kind| is_known(&view.cells, load, named(kind.key));
    KINDS.iter().filter(known).map(|kind| plot(view, load, kind, HALF)).collect()
}

fn plot(view: &View<'_>, load: Load, kind: &Kind, size: (f64, f64)) -> Plot {
    let is_shown = |way: &Way| kind.key != "limit_mean" || *way != Way::Unlimited;
    let figure = named(kind.key);
    let ways = Way::ALL.into_iter().filter(is_shown);
    let traces: Vec<Trace> = ways.map(|way| trace(&curve(&view.cells, load, way), way, figure)).collect();
    let title = format!("{} against the number of clients", kind.axis);
    let description = format!("{title}, {}. The table has the same figures.", load.words());
    let id = format!("{}-{}", kind.key.replace("_per_s", "").replace('_', "-"), load.name());
    let axis = |title: &str, quantity, spacing| Axis {
        title: title.to_owned(),
        quantity,
        spacing,
        holds: Vec::new(),
    };
    let chart = Chart {
        id,
        title,
        description,
        size,
        x: axis("clients", Quantity::Plain, Spacing::Logarithmic),
        y: axis(kind.axis, kind.quantity, kind.spacing),
        guides: Vec::new(),
        traces,
    };
    Plot {
        heading: kind.heading.to_owned(),
        words: kind.words.to_owned(),
        notes: Vec::new(),
        chart,
        narrow: None,
    }
}

fn trace(cells: &[&Cell<'_>], way: Way, figure: &Figure) -> Trace {
    let look = look(way);
    Trace {
        class: format!("s{}", look.hue),
        marker: look.marker,
        dashed: look.dashed,
        bare: false,
        end_text: String::new(),
        points: cells.iter().filter_map(|cell| point(cell, figure)).collect(),
        dots: cells.iter().flat_map(|cell| dots(cell, figure)).collect(),
    }
}

fn point(cell: &Cell<'_>, figure: &Figure) -> Option<Point> {
    let estimate = cell.estimate(figure)?;
    let tip = format!(
        "{}, {}\n{} {} {}\n{}",
        cell.way.words(),
        format::counted(cell.clients as usize, "client"),
        figure.head[0],
        crate::throttling::table::value(&estimate),
        figure.head[1],
        format::counted(cell.runs.len(), "run")
    );
    let interval = estimate.low().zip(estimate.high());
    Some(Point { x: f64::from(cell.clients), y: estimate.mean, interval, tip, ..Point::default() })
}

fn dots(cell: &Cell<'_>, figure: &Figure) -> Vec<Dot> {
    let values = cell.values(figure);
    let middle = (values.len() as f64 - 1.0) / 2.0;
    let dot = |(at, y): (usize, f64)| Dot {
        x: f64::from(cell.clients),
        y,
        aside: 0.5 * (at as f64 - middle) / middle.max(1.0),
    };
    values.into_iter().enumerate().map(dot).collect()
}

/// A figure of a second.
type OfSecond = fn(&StepSecond) -> Option<f64>;

/// Throughput and limit over time, the step marked.
pub fn steps(view: &View<'_>) -> Vec<Plot> {
    let charts: [(&str, &str, Quantity, OfSecond); 2] = [
        ("throughput", "Throughput", Quantity::PerSecond, |second| Some(second.throughput_per_s)),
        ("limit", "Limit", Quantity::Plain, |second| second.limit),
    ];
    charts.into_iter().map(|(id, heading, quantity, of)| over_time(view, id, heading, quantity, of)).collect()
}

fn over_time(view: &View<'_>, id: &str, heading: &str, quantity: Quantity, of: OfSecond) -> Plot {
    let step = &view.plan.step;
    let is_limit = id == "limit";
    let shown = |way: &Way| !(is_limit && *way == Way::Unlimited);
    let traces = Way::ALL.into_iter().filter(shown).map(|way| moment_trace(view, way, of)).collect();
    let axis = |title: &str, quantity| Axis {
        title: title.to_owned(),
        quantity,
        spacing: Spacing::Linear,
        holds: Vec::new(),
    };
    let guide = Guide::Upright {
        x: step.before_s,
        text: format!("{} to {} clients", step.clients.0, step.clients.1),
    };
    let chart = Chart {
        id: format!("step-{id}"),
        title: format!("{heading} over time"),
        description: format!("{heading} second by second before and after the step, mean over runs."),
        size: HALF,
        x: axis("time, s", Quantity::Plain),
        y: axis(if is_limit { "limit" } else { "throughput" }, quantity),
        guides: vec![guide],
        traces,
    };
    let words = if is_limit {
        "How many transactions the guard let run, second by second; bars from the least to the largest run."
    } else {
        "Requests completed second by second, mean over runs; bars from the least to the largest."
    };
    Plot { heading: heading.to_owned(), words: words.to_owned(), notes: Vec::new(), chart, narrow: None }
}

fn moment_trace(view: &View<'_>, way: Way, of: OfSecond) -> Trace {
    let look = look(way);
    let several = view.steps.iter().filter(|step| step.way == way).count() > 1;
    let point = |moment: crate::throttling::summary::Moment| Point {
        x: moment.after_s + view.plan.step.before_s,
        y: moment.mean,
        interval: several.then_some(moment.range),
        tip: format!(
            "{}\n{} after the step\n{}",
            way.words(),
            format::seconds(moment.after_s.max(0.0)),
            format::short(moment.mean)
        ),
        ..Point::default()
    };
    Trace {
        class: format!("s{}", look.hue),
        marker: look.marker,
        dashed: look.dashed,
        points: moments(view.steps, way, of).into_iter().map(point).collect(),
        ..Trace::default()
    }
}
