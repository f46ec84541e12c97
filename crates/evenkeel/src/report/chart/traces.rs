//! The series themselves.

use super::data::{Point, Trace};
use super::draw::{END_GAP, Frame, polyline, write_text};
use super::labels::{Anchor, Area, LINE_HEIGHT, Spot, Standing, apart};
use super::marks::ARROW_UP;
use crate::report::markup::Text;
use std::fmt::Write as _;

const POINT_RADIUS: f64 = 4.4;
const DOT_RADIUS: f64 = 2.2;
/// How far below the upper edge the arrow of a point begins that lies beyond it.
const BEYOND: f64 = 26.0;
/// How far runs of one cell are drawn from their place, to either side.
const ASIDE: f64 = 9.0;

impl Frame<'_> {
    /// One series: runs, line, intervals, means.
    pub fn trace(&self, out: &mut String, trace: &Trace) {
        let _ = writeln!(out, "<g class=\"trace {}\">", trace.class);
        for dot in &trace.dots {
            if let Some((x, y)) = self.place(dot.x, dot.y).filter(|_| self.y.holds(dot.y)) {
                let x = (x + dot.aside * ASIDE).clamp(self.left, self.right + ASIDE);
                let _ = write!(out, "<circle class=\"dot\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{DOT_RADIUS}\"/>");
            }
        }
        let _ = write!(out, "<g clip-path=\"url(#{}-c)\">", self.chart.id);
        self.lines(out, trace);
        for point in &trace.points {
            self.error_bar(out, point);
        }
        out.push_str("</g>\n");
        for point in trace.points.iter().filter(|_| !trace.bare) {
            self.point(out, trace, point);
        }
        out.push_str("</g>\n");
    }

    /// The line through the means: dotted where it leads to or from a hollow one.
    fn lines(&self, out: &mut String, trace: &Trace) {
        let (mut whole, mut dotted) = (String::new(), String::new());
        for pair in trace.points.windows(2) {
            // A line that leaves the scale is cut there and does not run along the edge.
            let place = |point: &Point| Some((self.x.place(point.x)?, self.y.place_beyond(point.y)?));
            let places = pair.iter().filter_map(place).collect::<Vec<_>>();
            if places.len() == 2 {
                let path = if pair[0].hollow || pair[1].hollow { &mut dotted } else { &mut whole };
                // Where a piece goes on from the one before, dashes go on too.
                let piece = polyline(&places);
                let (start, rest) = piece.split_at(piece.find('L').unwrap_or(0));
                match path.ends_with(&start.replacen('M', "L", 1)) || *path == start {
                    true => path.push_str(rest),
                    false => path.push_str(&piece),
                }
            }
        }
        let class = if trace.dashed { "mean dashed" } else { "mean" };
        if !whole.is_empty() {
            let _ = writeln!(out, "<path class=\"{class}\" d=\"{whole}\"/>");
        }
        if !dotted.is_empty() {
            let _ = writeln!(out, "<path class=\"mean dotted\" d=\"{dotted}\"/>");
        }
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
        // Above the scale there is no place for it, and an arrow says that it lies higher; below it, nothing does.
        let (shape, y) = match (self.y.holds(point.y), self.y.passes(point.y)) {
            (true, _) => (format!("<path d=\"{}\"/>", trace.marker.path(POINT_RADIUS)), y),
            (false, true) => (format!("<path class=\"arrow\" d=\"{ARROW_UP}\"/>"), y + BEYOND),
            (false, false) => return,
        };
        let _ = write!(
            out,
            "<g class=\"{class}\" transform=\"translate({x:.1} {y:.1})\"><title>{}</title>\
             <circle class=\"reach\" r=\"12\"/>{shape}",
            Text(&point.tip)
        );
        if point.lower_bound && self.y.holds(point.y) {
            let _ = write!(out, "<path class=\"arrow\" d=\"{ARROW_UP}\"/>");
        }
        out.push_str("</g>\n");
    }

    /// Texts beside points, where they stand free.
    pub fn point_texts(&self, out: &mut String, standing: &mut Standing) {
        for point in self.chart.traces.iter().flat_map(|trace| &trace.points) {
            if let Some((x, y)) = self.place(point.x, point.y) {
                self.text(out, standing, "point-text", &point.text, &beside((x, y)));
            }
        }
    }

    /// Texts at the right ends of lines, kept apart.
    pub fn end_texts(&self, out: &mut String, standing: &mut Standing) {
        let mut ends = Vec::new();
        for trace in self.chart.traces.iter().filter(|trace| !trace.end_text.is_empty()) {
            // A point that has no place on the scale is not where the line ends.
            let shown = trace.points.iter().filter(|point| self.y.holds(point.y) || self.y.passes(point.y));
            let last = shown.filter_map(|point| self.place(point.x, point.y)).next_back();
            ends.extend(last.map(|(x, y)| (x, y, trace)));
        }
        // Where a line ends before others do, these may go on beside its text.
        let last = ends.iter().map(|(x, ..)| *x).fold(self.left, f64::max);
        let is_inside = |x: f64| x < last - END_GAP;
        let (inside, ends): (Vec<_>, Vec<_>) =
            ends.into_iter().partition(|(x, _, trace)| trace.bare || is_inside(*x));
        let heights: Vec<f64> = ends.iter().map(|(_, y, _)| y + 4.0).collect();
        let heights = apart(&heights, LINE_HEIGHT, self.top, self.bottom);
        for ((x, _, trace), y) in ends.into_iter().zip(heights) {
            let spot = Spot { x: x + END_GAP, y, anchor: Anchor::Start };
            standing.put(Area::of_text(&trace.end_text, spot));
            write_text(out, &format!("end-text {}", trace.class), &trace.end_text, spot);
        }
        let room = Area { right: self.chart.size.0, ..self.area() };
        for (x, y, trace) in inside {
            let worse = |area: &Area| self.met(area);
            if let Some(spot) = standing.place(&trace.end_text, &at_end((x, y)), room, worse) {
                write_text(out, &format!("end-text {}", trace.class), &trace.end_text, spot);
            }
        }
    }
}

/// Spots for the text of a line's end: behind it, below and above it.
fn at_end((x, y): (f64, f64)) -> Vec<Spot> {
    let behind =
        [0.0, 1.0, -1.0].map(|line| (x + END_GAP * 0.75, y + 4.0 + line * LINE_HEIGHT, Anchor::Start));
    let along = [1.2, -0.7, 2.2, -1.7].map(|line| (x, y + 4.0 + line * LINE_HEIGHT, Anchor::End));
    behind.into_iter().chain(along).map(|(x, y, anchor)| Spot { x, y, anchor }).collect()
}

/// Spots for the text of a point: at its left, at its right, then further up and down.
fn beside((x, y): (f64, f64)) -> Vec<Spot> {
    let steps = [0.0, -1.0, 1.0, -2.0, 2.0, -3.0, 3.0, -4.0, 4.0].map(|line| y + 4.0 + line * LINE_HEIGHT);
    let sides =
        |y| {
            [(x - 12.0, Anchor::End), (x + 12.0, Anchor::Start), (x, Anchor::Middle)]
                .map(|(x, anchor)| Spot { x, y, anchor })
        };
    // The middle of a text over its own point would hide it.
    let is_free = |spot: &Spot| spot.anchor != Anchor::Middle || (spot.y - y - 4.0).abs() > LINE_HEIGHT;
    steps.into_iter().flat_map(sides).filter(is_free).collect()
}
