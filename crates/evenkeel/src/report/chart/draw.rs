//! Putting a chart together.

use super::labels::apart;
use super::marks::ARROW_UP;
use super::scale::Scale;
use super::{Chart, Guide, Point, Trace};
use crate::report::markup::Text;
use std::fmt::Write as _;

const LEFT: f64 = 58.0;
const RIGHT: f64 = 18.0;
/// Room for text at the right ends of lines.
const RIGHT_WITH_TEXT: f64 = 56.0;
const TOP: f64 = 40.0;
const BOTTOM: f64 = 46.0;
const LINE_HEIGHT: f64 = 14.0;
const POINT_RADIUS: f64 = 4.4;
const DOT_RADIUS: f64 = 2.2;
/// How far runs of one cell are drawn from their place, to either side.
const ASIDE: f64 = 9.0;

/// The plot area and its scales.
struct Frame<'a> {
    chart: &'a Chart,
    x: Scale,
    y: Scale,
    left: f64,
    right: f64,
    top: f64,
    bottom: f64,
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
        frame.left,
        frame.top,
        frame.right - frame.left,
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

    fn place(&self, x: f64, y: f64) -> Option<(f64, f64)> {
        Some((self.x.place(x)?, self.y.place(y)?))
    }

    fn shades(&self, out: &mut String) {
        for guide in &self.chart.guides {
            let (left, bottom) = match guide {
                Guide::ShadeAbove { y } => (Some(self.left), self.y.place(*y)),
                Guide::ShadeBeyond { x, .. } => (self.x.place(*x), Some(self.bottom)),
                _ => continue,
            };
            let (Some(left), Some(bottom)) = (left, bottom) else { continue };
            let (width, height) = (self.right - left, bottom - self.top);
            let _ = writeln!(
                out,
                "<rect class=\"shade\" x=\"{left:.1}\" y=\"{:.1}\" width=\"{width:.1}\" height=\"{height:.1}\"/>",
                self.top
            );
        }
    }

    fn grid(&self, out: &mut String) {
        let (left, right, top, bottom) = (self.left, self.right, self.top, self.bottom);
        for tick in self.y.ticks() {
            let (Some(y), label) = (self.y.place(*tick), self.y.label(*tick, self.chart.y.quantity)) else {
                continue;
            };
            let _ = writeln!(
                out,
                "<path class=\"grid\" d=\"M{left:.1} {y:.1}H{right:.1}\"/>\
                 <text class=\"tick\" x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
                left - 8.0,
                y + 4.0,
                Text(&label)
            );
        }
        for tick in self.x.ticks() {
            let (Some(x), label) = (self.x.place(*tick), self.x.label(*tick, self.chart.x.quantity)) else {
                continue;
            };
            let _ = writeln!(
                out,
                "<path class=\"axis\" d=\"M{x:.1} {bottom:.1}v5\"/>\
                 <text class=\"tick\" x=\"{x:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>",
                bottom + 18.0,
                Text(&label)
            );
        }
        let _ = writeln!(out, "<path class=\"axis\" d=\"M{left:.1} {bottom:.1}H{right:.1}\"/>");
        self.axis_titles(out, top);
    }

    fn axis_titles(&self, out: &mut String, top: f64) {
        let with_unit = |title: &str, unit: &str| {
            if unit.is_empty() { title.to_owned() } else { format!("{title}, {unit}") }
        };
        let y = with_unit(&self.chart.y.title, self.y.unit(self.chart.y.quantity));
        let x = with_unit(&self.chart.x.title, self.x.unit(self.chart.x.quantity));
        let _ = writeln!(
            out,
            "<text class=\"axis-title\" x=\"0\" y=\"{:.1}\">{}</text>\
             <text class=\"axis-title\" x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
            top - 24.0,
            Text(&y),
            self.right,
            self.chart.size.1 - 6.0,
            Text(&x)
        );
    }

    /// Lines go behind the traces into `out`; their texts into `texts`, to stand before the traces.
    fn guides(&self, out: &mut String, texts: &mut String) {
        for guide in &self.chart.guides {
            match guide {
                Guide::Level { y, text, class } => self.level(out, texts, *y, text, class),
                Guide::Upright { x, text } => self.upright(out, texts, *x, text),
                Guide::ShadeBeyond { text, .. } => {
                    let at = (self.right - 8.0, self.bottom - 10.0);
                    guide_text(texts, "shade-text", at, "end", text);
                }
                Guide::Equal { text } => self.equal(out, texts, text),
                Guide::ShadeAbove { .. } => {}
            }
        }
    }

    fn level(&self, out: &mut String, texts: &mut String, value: f64, text: &str, class: &str) {
        let Some(y) = self.y.place(value).filter(|_| self.y.holds(value)) else { return };
        guide_line(out, class, &format!("M{:.1} {y:.1}H{:.1}", self.left, self.right));
        // Near the ceiling the text goes below the line.
        let text_y = if y - self.top < LINE_HEIGHT + 4.0 { y + LINE_HEIGHT } else { y - 6.0 };
        guide_text(texts, class, (self.left + 8.0, text_y), "start", text);
    }

    fn upright(&self, out: &mut String, texts: &mut String, value: f64, text: &str) {
        let Some(x) = self.x.place(value).filter(|_| self.x.holds(value)) else { return };
        guide_line(out, "accent", &format!("M{x:.1} {:.1}V{:.1}", self.top, self.bottom));
        guide_text(texts, "accent", (x - 7.0, self.top + 12.0), "end", text);
    }

    fn equal(&self, out: &mut String, texts: &mut String, text: &str) {
        let held = self.x.steps(65).filter(|value| self.y.holds(*value));
        let places: Vec<_> = held.filter_map(|value| self.place(value, value)).collect();
        // Two thirds along, where the line still lies under the traces and the text beside it is free.
        let Some((x, y)) = places.get(places.len() * 2 / 3) else { return };
        guide_line(out, "", &polyline(&places));
        guide_text(texts, "", (x + 12.0, y + 12.0), "start", text);
    }

    fn trace(&self, out: &mut String, trace: &Trace) {
        let _ = writeln!(out, "<g class=\"trace {}\">", trace.class);
        for dot in &trace.dots {
            if let Some((x, y)) = self.place(dot.x, dot.y).filter(|_| self.y.holds(dot.y)) {
                let x = (x + dot.aside * ASIDE).clamp(self.left, self.right + ASIDE);
                let _ = write!(out, "<circle class=\"dot\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{DOT_RADIUS}\"/>");
            }
        }
        self.lines(out, trace);
        let _ = write!(out, "<g clip-path=\"url(#{}-c)\">", self.chart.id);
        for point in &trace.points {
            self.error_bar(out, point);
        }
        out.push_str("</g>\n");
        for point in &trace.points {
            self.point(out, trace, point);
        }
        out.push_str("</g>\n");
    }

    /// The line through the means: dotted where it leads to or from a hollow one.
    fn lines(&self, out: &mut String, trace: &Trace) {
        let (mut whole, mut dotted) = (String::new(), String::new());
        for pair in trace.points.windows(2) {
            let places = pair.iter().filter_map(|point| self.place(point.x, point.y)).collect::<Vec<_>>();
            if places.len() == 2 {
                let path = if pair[0].hollow || pair[1].hollow { &mut dotted } else { &mut whole };
                path.push_str(&polyline(&places));
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
        let _ = write!(
            out,
            "<g class=\"{class}\" transform=\"translate({x:.1} {y:.1})\"><title>{}</title>\
             <circle class=\"reach\" r=\"12\"/><path d=\"{}\"/>",
            Text(&point.tip),
            trace.marker.path(POINT_RADIUS)
        );
        if point.lower_bound {
            let _ = write!(out, "<path class=\"arrow\" d=\"{ARROW_UP}\"/>");
        }
        out.push_str("</g>\n");
    }

    /// A word in the middle, where no cell has a value.
    fn nothing(&self, out: &mut String) {
        let (x, y) = ((self.left + self.right) / 2.0, (self.top + self.bottom) / 2.0);
        guide_text(out, "nothing", (x, y), "middle", crate::format::ABSENT);
    }

    fn point_texts(&self, out: &mut String) {
        let mut texts = Vec::new();
        for point in self.chart.traces.iter().flat_map(|trace| &trace.points) {
            if let Some((x, y)) = self.place(point.x, point.y).filter(|_| !point.text.is_empty()) {
                texts.push((x, y, &point.text));
            }
        }
        let heights: Vec<f64> = texts.iter().map(|(_, y, _)| y + 4.0).collect();
        let heights = apart(&heights, LINE_HEIGHT, self.top + 4.0, self.bottom - 4.0);
        for ((x, _, text), y) in texts.into_iter().zip(heights) {
            let _ = writeln!(
                out,
                "<text class=\"point-text\" x=\"{:.1}\" y=\"{y:.1}\" text-anchor=\"end\">{}</text>",
                x - 12.0,
                Text(text)
            );
        }
    }

    fn end_texts(&self, out: &mut String) {
        let mut ends = Vec::new();
        for trace in self.chart.traces.iter().filter(|trace| !trace.end_text.is_empty()) {
            let last = trace.points.iter().filter_map(|point| self.place(point.x, point.y)).next_back();
            ends.extend(last.map(|(x, y)| (x, y, trace)));
        }
        let heights: Vec<f64> = ends.iter().map(|(_, y, _)| y + 4.0).collect();
        let heights = apart(&heights, LINE_HEIGHT, self.top, self.bottom);
        for ((x, _, trace), y) in ends.into_iter().zip(heights) {
            let _ = writeln!(
                out,
                "<text class=\"end-text {}\" x=\"{:.1}\" y=\"{y:.1}\">{}</text>",
                trace.class,
                x + 11.0,
                Text(&trace.end_text)
            );
        }
    }
}

fn polyline(places: &[(f64, f64)]) -> String {
    let mut path = String::new();
    for (at, (x, y)) in places.iter().enumerate() {
        let _ = write!(path, "{}{x:.1} {y:.1}", if at == 0 { 'M' } else { 'L' });
    }
    path
}

fn guide_line(out: &mut String, class: &str, path: &str) {
    let _ = writeln!(out, "<path class=\"guide {class}\" d=\"{path}\"/>");
}

fn guide_text(out: &mut String, class: &str, (x, y): (f64, f64), anchor: &str, text: &str) {
    if !text.is_empty() {
        let _ = writeln!(
            out,
            "<text class=\"guide-text {class}\" x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\">{}</text>",
            Text(text)
        );
    }
}
