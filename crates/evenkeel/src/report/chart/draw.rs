//! Putting a chart together.

use super::Chart;
use super::scale::Scale;
use crate::report::markup::Text;
use std::fmt::Write as _;

const LEFT: f64 = 58.0;
const RIGHT: f64 = 18.0;
/// Room for text at the right ends of lines.
const RIGHT_WITH_TEXT: f64 = 56.0;
const TOP: f64 = 40.0;
const BOTTOM: f64 = 46.0;
/// Intervals are cut above and below the plot area; at its sides they keep the width of their ends.
const CLIP_ASIDE: f64 = 6.0;
/// Height of a line of text.
pub const LINE_HEIGHT: f64 = 14.0;

/// The plot area and its scales.
pub struct Frame<'a> {
    /// What is drawn.
    pub chart: &'a Chart,
    /// Horizontal scale.
    pub x: Scale,
    /// Vertical scale.
    pub y: Scale,
    /// Edges of the plot area.
    pub left: f64,
    /// Right edge.
    pub right: f64,
    /// Upper edge.
    pub top: f64,
    /// Lower edge.
    pub bottom: f64,
}

pub fn svg(chart: &Chart) -> String {
    let frame = Frame::new(chart);
    let (id, (width, height)) = (&chart.id, chart.size);
    let mut out = format!(
        "<svg class=\"chart\" viewBox=\"0 0 {width} {height}\" role=\"img\" aria-labelledby=\"{id}-t {id}-d\">\n\
         <title id=\"{id}-t\">{}</title><desc id=\"{id}-d\">{}</desc>\n\
         <clipPath id=\"{id}-c\"><rect x=\"{:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{:.1}\"/></clipPath>\n",
        Text(&chart.title),
        Text(&chart.description),
        frame.left - CLIP_ASIDE,
        frame.top,
        frame.right - frame.left + 2.0 * CLIP_ASIDE,
        frame.bottom - frame.top
    );
    frame.shades(&mut out);
    frame.grid(&mut out);
    let mut texts = String::new();
    frame.guides(&mut out, &mut texts);
    for trace in &chart.traces {
        frame.trace(&mut out, trace);
    }
    out.push_str(&texts);
    if chart.traces.iter().all(|trace| trace.points.is_empty()) {
        frame.nothing(&mut out);
    }
    frame.point_texts(&mut out);
    frame.end_texts(&mut out);
    out.push_str("</svg>\n");
    out
}

impl<'a> Frame<'a> {
    fn new(chart: &'a Chart) -> Self {
        let with_text = chart.traces.iter().any(|trace| !trace.end_text.is_empty());
        let (left, top) = (LEFT, TOP);
        let right = chart.size.0 - if with_text { RIGHT_WITH_TEXT } else { RIGHT };
        let bottom = chart.size.1 - BOTTOM;
        let x = Scale::new(chart.x_values(), chart.x.spacing, left, right);
        let y = Scale::new(chart.y_values().into_iter(), chart.y.spacing, bottom, top);
        Self { chart, x, y, left, right, top, bottom }
    }

    /// Where a point lies; `None` where it has no place.
    pub fn place(&self, x: f64, y: f64) -> Option<(f64, f64)> {
        Some((self.x.place(x)?, self.y.place(y)?))
    }
}

/// A path through places.
pub fn polyline(places: &[(f64, f64)]) -> String {
    let mut path = String::new();
    for (at, (x, y)) in places.iter().enumerate() {
        let _ = write!(path, "{}{x:.1} {y:.1}", if at == 0 { 'M' } else { 'L' });
    }
    path
}
