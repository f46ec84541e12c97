//! A chart as data: what is on it, and what its axes must hold.

use super::scale::{Quantity, Spacing};

#[derive(Clone, Debug)]
pub struct Chart {
    pub id: String,
    /// What it shows, for those who do not see it.
    pub title: String,
    pub description: String,
    /// Width and height in the units of the drawing; text is 13 of them high.
    pub size: (f64, f64),
    pub x: Axis,
    pub y: Axis,
    pub guides: Vec<Guide>,
    pub traces: Vec<Trace>,
}

#[derive(Clone, Debug)]
pub struct Axis {
    pub title: String,
    pub quantity: Quantity,
    pub spacing: Spacing,
    pub holds: Vec<f64>,
}

impl Axis {
    pub fn new(title: &str, quantity: Quantity, spacing: Spacing) -> Self {
        Self { title: title.to_owned(), quantity, spacing, holds: Vec::new() }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub enum Guide {
    /// A line across; `class` colours it.
    Level { y: f64, text: String, class: String },
    /// A line from top to bottom.
    Upright { x: f64, text: String },
    /// The line y = x of two linear axes.
    Equal,
}

#[derive(Clone, Debug, Default)]
pub struct Trace {
    pub class: String,
    pub marker: Marker,
    pub dashed: bool,
    pub bare: bool,
    /// Text at its right end; empty for none.
    pub end_text: String,
    /// Means, in the order of x.
    pub points: Vec<Point>,
    pub dots: Vec<(f64, f64)>,
}

#[derive(Clone, Debug, Default)]
pub struct Point {
    pub x: f64,
    pub y: f64,
    pub interval: Option<(f64, f64)>,
    pub hollow: bool,
    pub lower_bound: bool,
    /// Text under the pointer, lines parted by `\n`.
    pub tip: String,
}

impl Chart {
    pub(super) fn x_values(&self) -> impl Iterator<Item = f64> + '_ {
        let points = self.traces.iter().flat_map(|trace| trace.points.iter().map(|point| point.x));
        points.chain(self.x.holds.iter().copied())
    }

    /// All that the vertical axis must hold. Intervals are wide where runs are few: they are held from half of their mean up to
    /// twice the largest, and cut beyond.
    pub(super) fn y_values(&self) -> Vec<f64> {
        let points = || self.traces.iter().flat_map(|trace| &trace.points);
        let largest = points().map(|point| point.y).filter(|y| y.is_finite()).fold(0.0, f64::max);
        let mut values = self.y.holds.clone();
        for point in points() {
            values.push(point.y);
            let ends = point.interval.map(|(low, high)| [low.max(point.y / 2.0), high.min(2.0 * largest)]);
            values.extend(ends.into_iter().flatten());
        }
        values.extend(self.traces.iter().flat_map(|trace| &trace.dots).map(|(_, y)| *y));
        values
    }
}

/// Shape of a series' points, so that colour is never the only difference.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Marker {
    #[default]
    Circle,
    Square,
    Triangle,
    Diamond,
}

impl Marker {
    pub fn numbered(number: usize) -> Self {
        [Self::Circle, Self::Square, Self::Triangle, Self::Diamond][number % 4]
    }

    /// The shape around the origin, `r` being the radius of the disc of about the same area.
    pub fn path(self, r: f64) -> String {
        match self {
            Self::Circle => format!(
                "M{:.2} 0a{r:.2} {r:.2} 0 1 0 {:.2} 0a{r:.2} {r:.2} 0 1 0 {:.2} 0z",
                -r,
                2.0 * r,
                -2.0 * r
            ),
            Self::Square => {
                let half = r * 0.89;
                let side = 2.0 * half;
                format!("M{0:.2} {0:.2}h{side:.2}v{side:.2}h{1:.2}z", -half, -side)
            }
            Self::Triangle => {
                let (side, top) = (r * 1.25, r * 1.3);
                format!("M0 {:.2}L{side:.2} {:.2}H{:.2}z", -top, r * 0.85, -side)
            }
            Self::Diamond => {
                let tip = r * 1.28;
                format!("M0 {:.2}L{tip:.2} 0L0 {tip:.2}L{:.2} 0z", -tip, -tip)
            }
        }
    }
}

/// An arrow that rises from the origin: the true value may lie higher.
pub const ARROW_UP: &str = "M0 -9V-23M-4.5 -18L0 -23.5L4.5 -18";
