//! A chart as data: what is on it, and what its axes must hold.

use super::marks::Marker;
use super::scale::{Quantity, Spacing};

/// A chart, ready to be drawn.
#[derive(Clone, Debug)]
pub struct Chart {
    /// Unique on the page; letters, digits and hyphens.
    pub id: String,
    /// What it shows, for those who do not see it.
    pub title: String,
    /// What there is to see, in a sentence.
    pub description: String,
    /// Width and height in the units of the drawing; text is 13 of them high.
    pub size: (f64, f64),
    /// Horizontal axis, with what it counts.
    pub x: Axis,
    /// Vertical axis, with what it counts.
    pub y: Axis,
    /// Lines and areas behind the traces.
    pub guides: Vec<Guide>,
    /// Series of points, the later ones drawn above.
    pub traces: Vec<Trace>,
}

/// One axis of a chart: its title and its values.
#[derive(Clone, Debug)]
pub struct Axis {
    /// Text; the unit follows it.
    pub title: String,
    /// What is counted.
    pub quantity: Quantity,
    /// How values spread.
    pub spacing: Spacing,
    /// Values that the axis holds besides those of the traces.
    pub holds: Vec<f64>,
}

/// What helps to judge the traces.
#[derive(Clone, Debug, PartialEq)]
pub enum Guide {
    /// A level with its text at the left; `class` colours it.
    Level { y: f64, text: String, class: String },
    /// All above a level.
    ShadeAbove { y: f64 },
    /// A value of x with its text at the top.
    Upright { x: f64, text: String },
    /// All beyond a value of x, with its text at the bottom.
    ShadeBeyond { x: f64, text: String },
    /// The line y = x.
    Equal { text: String },
}

/// One series of points.
#[derive(Clone, Debug, Default)]
pub struct Trace {
    /// Classes of the style sheet.
    pub class: String,
    /// Shape of its points.
    pub marker: Marker,
    /// Whether its line is dashed.
    pub dashed: bool,
    /// Whether it is a line alone, without a mark at each point.
    pub bare: bool,
    /// Text at its right end; empty for none.
    pub end_text: String,
    /// Means, in the order of x.
    pub points: Vec<Point>,
    /// Single runs, a dot for each.
    pub dots: Vec<Dot>,
}

/// A mean with its interval.
#[derive(Clone, Debug, Default)]
pub struct Point {
    /// Value on the horizontal axis.
    pub x: f64,
    /// Value on the vertical axis.
    pub y: f64,
    /// Interval, where there is one.
    pub interval: Option<(f64, f64)>,
    /// Whether it is drawn hollow and its line dotted.
    pub hollow: bool,
    /// Whether the true value may lie higher.
    pub lower_bound: bool,
    /// Text beside it; empty for none.
    pub text: String,
    /// Text under the pointer, lines parted by `\n`.
    pub tip: String,
}

/// A single run.
#[derive(Clone, Copy, Debug, Default)]
pub struct Dot {
    /// Value on the horizontal axis.
    pub x: f64,
    /// Value on the vertical axis.
    pub y: f64,
    /// How far to move it aside, so that runs do not hide each other; from -1 to 1.
    pub aside: f64,
}

/// How many times the largest settled mean a hollow point may be, to have its place on a linear axis.
const FAR: f64 = 4.0;

impl Chart {
    /// All that the horizontal axis must hold.
    pub(super) fn x_values(&self) -> impl Iterator<Item = f64> + '_ {
        let points = self.traces.iter().flat_map(|trace| trace.points.iter().map(|point| point.x));
        points.chain(self.x.holds.iter().copied())
    }

    /// All that the vertical axis must hold. Two things are held only so far that they do not press the rest
    /// onto the floor, and are cut off beyond: intervals, which are wide where runs are few, up to twice the
    /// largest mean; and, unless the axis is logarithmic, hollow points, whose height says little, where they lie
    /// above four times the largest of the others.
    pub(super) fn y_values(&self) -> Vec<f64> {
        let keeps_all = self.y.spacing == Spacing::Logarithmic;
        let (hollow, settled): (Vec<&Point>, Vec<&Point>) =
            self.traces.iter().flat_map(|trace| &trace.points).partition(|point| point.hollow && !keeps_all);
        let largest = settled.iter().map(|point| point.y).filter(|y| y.is_finite()).fold(0.0, f64::max);
        let cut = if largest > 0.0 { largest } else { f64::INFINITY };
        let mut values: Vec<f64> = self.y.holds.clone();
        values.extend(settled.iter().map(|point| point.y));
        values.extend(settled.iter().filter_map(|point| point.interval).map(|(_, high)| high.min(2.0 * cut)));
        let held = |y: f64| if y > FAR * cut { 1.5 * cut } else { y };
        values.extend(hollow.iter().map(|point| held(point.y)));
        if keeps_all {
            let lows = settled.iter().filter_map(|point| Some((point.interval?.0, point.y / 2.0)));
            values.extend(lows.map(|(low, least)| low.max(least)));
        }
        let dots = self.traces.iter().flat_map(|trace| &trace.dots);
        values.extend(dots.map(|dot| if keeps_all { dot.y } else { held(dot.y) }));
        values
    }
}
