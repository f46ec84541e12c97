//! What stands behind the traces: grid, axes, guides.

use super::data::Guide;
use super::draw::{Frame, polyline, write_text};
use super::labels::{Anchor, Area, LINE_HEIGHT, Spot, Standing};
use crate::report::markup::Text;
use std::fmt::Write as _;

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
        let mut free = f64::NEG_INFINITY;
        for tick in self.x.ticks() {
            let (Some(x), label) = (self.x.place(*tick), self.x.label(*tick, self.chart.x.quantity)) else {
                continue;
            };
            let _ = write!(out, "<path class=\"axis\" d=\"M{x:.1} {bottom:.1}v5\"/>");
            // Where ticks lie close together, not each has its text.
            let spot = Spot { x, y: bottom + 18.0, anchor: Anchor::Middle };
            let area = Area::of_text(&label, spot);
            if area.left >= free {
                free = area.right;
                write_text(out, "tick", &label, spot);
            }
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

    /// Lines behind the traces.
    pub fn guides(&self, out: &mut String) {
        for guide in &self.chart.guides {
            match guide {
                Guide::Level { y, class, .. } => {
                    let Some(y) = self.y.place(*y).filter(|_| self.y.holds(*y)) else { continue };
                    guide_line(out, class, &format!("M{:.1} {y:.1}H{:.1}", self.left, self.right));
                }
                Guide::Upright { x, .. } => {
                    let Some(x) = self.x.place(*x).filter(|_| self.x.holds(*x)) else { continue };
                    guide_line(out, "accent", &format!("M{x:.1} {:.1}V{:.1}", self.top, self.bottom));
                }
                Guide::Equal { .. } => guide_line(out, "", &polyline(&self.equal())),
                Guide::ShadeAbove { .. } | Guide::ShadeBeyond { .. } => {}
            }
        }
    }

    /// Their texts before the traces, where these leave room.
    pub fn guide_texts(&self, out: &mut String, standing: &mut Standing) {
        for guide in &self.chart.guides {
            let (class, text, spots) = match guide {
                Guide::Level { y, text, class } if self.y.holds(*y) => {
                    (class.as_str(), text, self.beside_level(*y))
                }
                Guide::Upright { x, text } if self.x.holds(*x) => ("accent", text, self.beside_upright(*x)),
                Guide::ShadeBeyond { x, text } => ("shade-text", text, self.in_shade(*x)),
                Guide::Equal { text } => ("", text, self.beside_equal()),
                Guide::Level { .. } | Guide::Upright { .. } | Guide::ShadeAbove { .. } => continue,
            };
            self.text(out, standing, &format!("guide-text {class}"), text, &spots);
        }
    }

    fn beside_level(&self, value: f64) -> Vec<Spot> {
        let Some(y) = self.y.place(value) else { return Vec::new() };
        let at = |x, y, anchor| Spot { x, y, anchor };
        let (left, right) = (self.left + 8.0, self.right - 8.0);
        let places = [(left, Anchor::Start), (right, Anchor::End), ((left + right) / 2.0, Anchor::Middle)];
        // Where traces lie along the line, it is read better a little further away.
        let heights = (0..LEVEL_LINES).flat_map(|line| {
            let away = LINE_HEIGHT * f64::from(line);
            [y - 6.0 - away, y + LINE_HEIGHT + away]
        });
        heights.flat_map(|y| places.map(|(x, anchor)| at(x, y, anchor))).collect()
    }

    fn beside_upright(&self, value: f64) -> Vec<Spot> {
        let Some(x) = self.x.place(value) else { return Vec::new() };
        let lines = ((self.bottom - self.top) / LINE_HEIGHT) as usize;
        let heights = (1..lines).map(|line| self.top + LINE_HEIGHT * line as f64 + 4.0);
        let sides =
            |y| [(x - 7.0, Anchor::End), (x + 7.0, Anchor::Start)].map(|(x, anchor)| Spot { x, y, anchor });
        heights.flat_map(sides).collect()
    }

    fn in_shade(&self, value: f64) -> Vec<Spot> {
        let lines = ((self.bottom - self.top) / LINE_HEIGHT) as usize;
        let heights = (0..lines).map(|line| self.bottom - 10.0 - LINE_HEIGHT * line as f64);
        let left = self.x.place(value).unwrap_or(self.left) + 8.0;
        let sides = |y| {
            [(self.right - 8.0, Anchor::End), (left, Anchor::Start)].map(|(x, anchor)| Spot { x, y, anchor })
        };
        heights.flat_map(sides).collect()
    }

    /// The line on which both axes have the same value.
    pub fn equal(&self) -> Vec<(f64, f64)> {
        let held = self.x.steps(65).filter(|value| self.y.holds(*value));
        held.filter_map(|value| self.place(value, value)).collect()
    }

    fn beside_equal(&self) -> Vec<Spot> {
        let places = self.equal();
        // From two thirds along, where the line mostly lies under the traces and the text beside it is free.
        let shares = [0.66, 0.5, 0.35, 0.8];
        let along = shares.iter().filter_map(|share| places.get((places.len() as f64 * share) as usize));
        along
            .flat_map(|(x, y)| [(x + 12.0, y + 12.0, Anchor::Start), (x - 12.0, y - 8.0, Anchor::End)])
            .map(|(x, y, anchor)| Spot { x, y, anchor })
            .collect()
    }

    /// A word in the middle, where no cell has a value.
    pub fn nothing(&self, out: &mut String) {
        let (x, y) = ((self.left + self.right) / 2.0, (self.top + self.bottom) / 2.0);
        let spot = Spot { x, y, anchor: Anchor::Middle };
        write_text(out, "guide-text nothing", crate::format::ABSENT, spot);
    }
}

/// A text stands so many lines away from its level at most.
const LEVEL_LINES: u32 = 4;

fn guide_line(out: &mut String, class: &str, path: &str) {
    let _ = writeln!(out, "<path class=\"guide {class}\" d=\"{path}\"/>");
}

#[cfg(test)]
mod tests {
    use crate::report::chart::{Axis, Chart, Guide, Point, Quantity, Spacing, Trace};

    #[test]
    fn a_level_in_the_midst_of_a_trace_is_named_where_the_trace_leaves_room() {
        let axis = |holds: &[f64]| Axis {
            title: "axis".to_owned(),
            quantity: Quantity::Plain,
            spacing: Spacing::Linear,
            holds: holds.to_vec(),
        };
        let around =
            |at: u32| Point { x: f64::from(at), y: 50.0 + 4.0 * f64::from(at % 3), ..Point::default() };
        let chart = Chart {
            id: "one".to_owned(),
            title: "one".to_owned(),
            description: "one".to_owned(),
            size: (510.0, 320.0),
            x: axis(&[]),
            y: axis(&[0.0, 100.0]),
            guides: vec![Guide::Level { y: 54.0, text: "threshold".to_owned(), class: String::new() }],
            traces: vec![Trace { points: (0..60).map(around).collect(), ..Trace::default() }],
        };
        let svg = chart.svg();
        let number = |text: &str| text.split(['"', 'H', ' ']).next().unwrap().parse::<f64>().unwrap();
        let line = svg.split("class=\"guide \" d=\"M").nth(1).unwrap().split_once(' ').unwrap().1;
        let text = svg.split(">threshold<").next().unwrap().rsplit(" y=\"").next().unwrap();
        let away = number(text) - number(line);
        // The trace spreads over 15 units on both sides, and the text stands on its baseline.
        assert!(!(-15.0..=25.0).contains(&away), "the text stands {away} below the line");
    }
}
