//! What stands behind the traces: grid, axes, guides.

use super::Guide;
use super::draw::{Frame, LINE_HEIGHT, polyline};
use crate::report::markup::Text;
use std::fmt::Write as _;

/// Width of a character of the guides' text, about.
const TEXT_WIDTH: f64 = 7.0;

impl Frame<'_> {
    /// Areas behind all else.
    pub fn shades(&self, out: &mut String) {
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

    /// Grid lines, ticks and the titles of the axes.
    pub fn grid(&self, out: &mut String) {
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
    pub fn guides(&self, out: &mut String, texts: &mut String) {
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
        let width = TEXT_WIDTH * text.chars().count() as f64;
        let is_met = |from: f64, to: f64| self.is_met((from, to), (text_y - LINE_HEIGHT, text_y + 4.0));
        let at_left = (self.left, self.left + 8.0 + width);
        let at_right = (self.right - 8.0 - width, self.right);
        if is_met(at_left.0, at_left.1) && !is_met(at_right.0, at_right.1) {
            guide_text(texts, class, (self.right - 8.0, text_y), "end", text);
        } else {
            guide_text(texts, class, (self.left + 8.0, text_y), "start", text);
        }
    }

    /// Whether a line between means passes through a box.
    fn is_met(&self, (left, right): (f64, f64), (top, bottom): (f64, f64)) -> bool {
        let within = |(x, y): (f64, f64)| (left..=right).contains(&x) && (top..=bottom).contains(&y);
        self.chart.traces.iter().any(|trace| {
            let places: Vec<_> =
                trace.points.iter().filter_map(|point| self.place(point.x, point.y)).collect();
            let crosses = places.windows(2).any(|pair| {
                let ((x0, y0), (x1, y1)) = (pair[0], pair[1]);
                (0..=32)
                    .map(f64::from)
                    .any(|step| within((x0 + (x1 - x0) * step / 32.0, y0 + (y1 - y0) * step / 32.0)))
            });
            crosses || places.into_iter().any(within)
        })
    }

    fn upright(&self, out: &mut String, texts: &mut String, value: f64, text: &str) {
        let Some(x) = self.x.place(value).filter(|_| self.x.holds(value)) else { return };
        guide_line(out, "accent", &format!("M{x:.1} {:.1}V{:.1}", self.top, self.bottom));
        guide_text(texts, "accent", (x - 7.0, self.top + 2.0 * LINE_HEIGHT + 4.0), "end", text);
    }

    fn equal(&self, out: &mut String, texts: &mut String, text: &str) {
        let held = self.x.steps(65).filter(|value| self.y.holds(*value));
        let places: Vec<_> = held.filter_map(|value| self.place(value, value)).collect();
        // Two thirds along, where the line still lies under the traces and the text beside it is free.
        let Some((x, y)) = places.get(places.len() * 2 / 3) else { return };
        guide_line(out, "", &polyline(&places));
        guide_text(texts, "", (x + 12.0, y + 12.0), "start", text);
    }

    /// A word in the middle, where no cell has a value.
    pub fn nothing(&self, out: &mut String) {
        let (x, y) = ((self.left + self.right) / 2.0, (self.top + self.bottom) / 2.0);
        guide_text(out, "nothing", (x, y), "middle", crate::format::ABSENT);
    }
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
