//! Putting a chart together.

use super::data::{ARROW_UP, Chart, Point, Trace};
use super::scale::Scale;
use crate::format::ABSENT;
use crate::report::legend::Text;
use std::fmt::Write as _;

const LEFT: f64 = 58.0;
const RIGHT: f64 = 18.0;
/// Between the right end of a line and its text.
pub const END_GAP: f64 = 11.0;
const TOP: f64 = 40.0;
const BOTTOM: f64 = 46.0;
/// Intervals are cut above and below the plot area; at its sides they keep the width of their ends.
const CLIP_ASIDE: f64 = 6.0;

/// The plot area, whose places count downwards, and its scales.
pub struct Frame<'a> {
    pub chart: &'a Chart,
    pub x: Scale,
    pub y: Scale,
    pub left: f64,
    pub right: f64,
    pub top: f64,
    pub bottom: f64,
}

impl Chart {
    /// The chart as an `<svg>` element.
    pub fn svg(&self) -> String {
        let (chart, frame) = (self, Frame::new(self));
        let mut out = open("chart", &chart.id, chart.size, [&chart.title, &chart.description]);
        let _ = writeln!(
            out,
            "<clipPath id=\"{}-c\"><rect x=\"{:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{:.1}\"/></clipPath>",
            chart.id,
            frame.left - CLIP_ASIDE,
            frame.top,
            frame.right - frame.left + 2.0 * CLIP_ASIDE,
            frame.bottom - frame.top
        );
        frame.grid(&mut out);
        frame.guides(&mut out);
        for trace in &chart.traces {
            frame.trace(&mut out, trace);
        }
        if chart.traces.iter().all(|trace| trace.points.is_empty()) {
            let (x, y) = ((frame.left + frame.right) / 2.0, (frame.top + frame.bottom) / 2.0);
            write_text(&mut out, "nothing", ABSENT, Spot { x, y, anchor: Anchor::Middle });
        }
        let mut standing = Standing::default();
        frame.end_texts(&mut out, &mut standing);
        frame.guide_texts(&mut out, &mut standing);
        out.push_str("</svg>\n");
        out
    }
}

impl<'a> Frame<'a> {
    fn new(chart: &'a Chart) -> Self {
        let longest = chart.traces.iter().map(|trace| trace.end_text.chars().count()).max().unwrap_or(0);
        let of_texts = if longest > 0 { END_GAP + CHARACTER * longest as f64 + 4.0 } else { 0.0 };
        let (left, top) = (LEFT, TOP);
        let right = chart.size.0 - of_texts.max(RIGHT);
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

/// The begin of a drawing, with its title and description for those who do not see it.
pub fn open(class: &str, id: &str, (width, height): (f64, f64), [title, description]: [&str; 2]) -> String {
    format!(
        "<svg class=\"{class}\" viewBox=\"0 0 {width} {height}\" role=\"img\" aria-labelledby=\"{id}-t {id}-d\">\n\
         <title id=\"{id}-t\">{}</title><desc id=\"{id}-d\">{}</desc>\n",
        Text(title),
        Text(description)
    )
}

pub fn write_text(out: &mut String, class: &str, text: &str, spot: Spot) {
    // What begins at its place needs no word for it.
    let anchor = match spot.anchor {
        Anchor::Start => "",
        Anchor::Middle => " text-anchor=\"middle\"",
        Anchor::End => " text-anchor=\"end\"",
    };
    let _ = writeln!(
        out,
        "<text class=\"{class}\" x=\"{:.1}\" y=\"{:.1}\"{anchor}>{}</text>",
        spot.x,
        spot.y,
        Text(text)
    );
}

pub fn polyline(places: &[(f64, f64)]) -> String {
    let mut path = String::new();
    for (at, (x, y)) in places.iter().enumerate() {
        let _ = write!(path, "{}{x:.1} {y:.1}", if at == 0 { 'M' } else { 'L' });
    }
    path
}

/// Moves heights so that neighbours are at least `gap` apart and all lie within `low..=high`, as far as there is room, without
/// changing their order.
pub fn apart(heights: &[f64], gap: f64, low: f64, high: f64) -> Vec<f64> {
    let mut order: Vec<usize> = (0..heights.len()).collect();
    order.sort_by(|a, b| heights[*a].total_cmp(&heights[*b]));
    let mut placed = heights.to_vec();
    let mut floor = low;
    for &at in &order {
        placed[at] = placed[at].max(floor);
        floor = placed[at] + gap;
    }
    let mut ceiling = high;
    for &at in order.iter().rev() {
        placed[at] = placed[at].min(ceiling);
        ceiling = placed[at] - gap;
    }
    placed
}

/// Width of a character, about; a little more than fonts have it.
pub const CHARACTER: f64 = 6.9;
pub const LINE_HEIGHT: f64 = 14.0;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Anchor {
    Start,
    Middle,
    End,
}

/// Where a text could stand: its anchor on its baseline.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spot {
    pub x: f64,
    pub y: f64,
    pub anchor: Anchor,
}

/// A rectangle on the drawing, whose places count downwards.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Area {
    pub left: f64,
    pub top: f64,
    pub right: f64,
    pub bottom: f64,
}

impl Area {
    pub fn of_text(text: &str, spot: Spot) -> Self {
        let width = CHARACTER * text.chars().count() as f64;
        let left = match spot.anchor {
            Anchor::Start => spot.x,
            Anchor::Middle => spot.x - width / 2.0,
            Anchor::End => spot.x - width,
        };
        Self { left, top: spot.y - LINE_HEIGHT + 3.0, right: left + width, bottom: spot.y + 3.0 }
    }

    fn meets(&self, other: &Self) -> bool {
        self.left < other.right
            && other.left < self.right
            && self.top < other.bottom
            && other.top < self.bottom
    }

    fn lies_in(&self, room: &Self) -> bool {
        self.left >= room.left
            && self.right <= room.right
            && self.top >= room.top
            && self.bottom <= room.bottom
    }
}

#[derive(Debug, Default)]
pub struct Standing(Vec<Area>);

impl Standing {
    /// A text that has no other place.
    pub fn put(&mut self, area: Area) {
        self.0.push(area);
    }

    /// The first spot within `room` where a text lies over no other; it stands from now on. None for an empty text.
    pub fn place(&mut self, text: &str, spots: Vec<Spot>, room: Area) -> Option<Spot> {
        let is_free = |spot: &Spot| {
            let area = Area::of_text(text, *spot);
            area.lies_in(&room) && self.0.iter().all(|other| !area.meets(other))
        };
        let spot = spots.into_iter().find(is_free).filter(|_| !text.is_empty())?;
        self.put(Area::of_text(text, spot));
        Some(spot)
    }
}

const POINT_RADIUS: f64 = 4.4;
const DOT_RADIUS: f64 = 2.2;

impl Frame<'_> {
    pub fn trace(&self, out: &mut String, trace: &Trace) {
        let _ = writeln!(out, "<g class=\"trace {}\">", trace.class);
        for (x, y) in trace.dots.iter().filter(|(_, y)| self.y.holds(*y)) {
            if let Some((x, y)) = self.place(*x, *y) {
                let _ = write!(out, "<circle class=\"dot\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{DOT_RADIUS}\"/>");
            }
        }
        let _ = write!(out, "<g clip-path=\"url(#{}-c)\">", self.chart.id);
        let place = |point: &Point| self.place(point.x, point.y);
        let places: Vec<(f64, f64)> = trace.points.iter().filter_map(place).collect();
        if places.len() > 1 {
            let dashed = if trace.dashed { " dashed" } else { "" };
            let _ = writeln!(out, "<path class=\"mean{dashed}\" d=\"{}\"/>", polyline(&places));
        }
        for point in &trace.points {
            self.error_bar(out, point);
        }
        out.push_str("</g>\n");
        for point in trace.points.iter().filter(|_| !trace.bare) {
            self.point(out, trace, point);
        }
        out.push_str("</g>\n");
    }

    fn error_bar(&self, out: &mut String, point: &Point) {
        let Some((low, high)) = point.interval else { return };
        let (Some(x), Some(low), Some(high)) = (self.x.place(point.x), self.y.place(low), self.y.place(high))
        else {
            return;
        };
        let _ = write!(
            out,
            "<path class=\"error-bar\" d=\"M{x:.1} {low:.1}V{high:.1}M{0:.1} {low:.1}h8M{0:.1} {high:.1}h8\"/>",
            x - 4.0
        );
    }

    fn point(&self, out: &mut String, trace: &Trace, point: &Point) {
        let Some((x, y)) = self.place(point.x, point.y) else { return };
        let class = if point.hollow { "point hollow" } else { "point" };
        let arrow = match point.lower_bound {
            true => format!("<path class=\"arrow\" d=\"{ARROW_UP}\"/>"),
            false => String::new(),
        };
        let _ = writeln!(
            out,
            "<g class=\"{class}\" transform=\"translate({x:.1} {y:.1})\"><title>{}</title>\
             <circle class=\"reach\" r=\"12\"/><path d=\"{}\"/>{arrow}</g>",
            Text(&point.tip),
            trace.marker.path(POINT_RADIUS)
        );
    }

    /// Texts at the right ends of lines, kept apart.
    pub fn end_texts(&self, out: &mut String, standing: &mut Standing) {
        let named = self.chart.traces.iter().filter(|trace| !trace.end_text.is_empty());
        let end =
            |trace: &Trace| trace.points.iter().filter_map(|point| self.place(point.x, point.y)).next_back();
        let ends: Vec<_> = named.filter_map(|trace| Some((trace, end(trace)?))).collect();
        let heights: Vec<f64> = ends.iter().map(|(_, (_, y))| y + 4.0).collect();
        let heights = apart(&heights, LINE_HEIGHT, self.top, self.bottom);
        for ((trace, (x, _)), y) in ends.into_iter().zip(heights) {
            let spot = Spot { x: x + END_GAP, y, anchor: Anchor::Start };
            standing.put(Area::of_text(&trace.end_text, spot));
            write_text(out, &format!("end-text {}", trace.class), &trace.end_text, spot);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_keep_their_order_and_distance_also_where_they_are_too_many_for_the_room() {
        assert_eq!(apart(&[50.0, 52.0, 10.0], 12.0, 0.0, 100.0), [50.0, 62.0, 10.0]);
        assert_eq!(apart(&[99.0, 99.0, 99.0], 12.0, 0.0, 100.0), [76.0, 88.0, 100.0]);
        let placed = apart(&[5.0; 12], 12.0, 0.0, 60.0);
        assert!(placed.windows(2).all(|pair| pair[1] - pair[0] >= 12.0 - 1e-9), "{placed:?}");
    }
}
