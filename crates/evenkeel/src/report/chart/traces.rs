//! The series themselves.

use super::data::{ARROW_UP, Point, Trace};
use super::draw::{Anchor, Area, END_GAP, Frame, LINE_HEIGHT, Spot, Standing, apart, polyline, write_text};
use crate::report::legend::Text;
use std::fmt::Write as _;

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
