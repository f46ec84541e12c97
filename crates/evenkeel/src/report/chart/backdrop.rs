//! What stands behind the traces: grid, axes, guides.

use super::data::Guide;
use super::draw::{Anchor, Area, Frame, LINE_HEIGHT, Spot, Standing, polyline, write_text};
use std::fmt::Write as _;

impl Frame<'_> {
    /// Grid lines, ticks and the titles of the axes.
    pub fn grid(&self, out: &mut String) {
        let (left, right, top, bottom) = (self.left, self.right, self.top, self.bottom);
        for tick in self.y.ticks() {
            let Some(y) = self.y.place(*tick) else { continue };
            let _ = writeln!(out, "<path class=\"grid\" d=\"M{left:.1} {y:.1}H{right:.1}\"/>");
            let spot = Spot { x: left - 8.0, y: y + 4.0, anchor: Anchor::End };
            write_text(out, "tick", &self.y.label(*tick, self.chart.y.quantity), spot);
        }
        let mut free = f64::NEG_INFINITY;
        for tick in self.x.ticks() {
            let Some(x) = self.x.place(*tick) else { continue };
            let _ = writeln!(out, "<path class=\"axis\" d=\"M{x:.1} {bottom:.1}v5\"/>");
            // Where ticks lie close together, not each has its text.
            let label = self.x.label(*tick, self.chart.x.quantity);
            let spot = Spot { x, y: bottom + 18.0, anchor: Anchor::Middle };
            let area = Area::of_text(&label, spot);
            if area.left >= free {
                free = area.right;
                write_text(out, "tick", &label, spot);
            }
        }
        let _ = writeln!(out, "<path class=\"axis\" d=\"M{left:.1} {bottom:.1}H{right:.1}\"/>");
        let titles = [
            (&self.chart.y, &self.y, Spot { x: 0.0, y: top - 24.0, anchor: Anchor::Start }),
            (&self.chart.x, &self.x, Spot { x: right, y: self.chart.size.1 - 6.0, anchor: Anchor::End }),
        ];
        for (axis, scale, spot) in titles {
            let title = match scale.unit(axis.quantity) {
                "" => axis.title.clone(),
                unit => format!("{}, {unit}", axis.title),
            };
            write_text(out, "axis-title", &title, spot);
        }
    }

    pub fn guides(&self, out: &mut String) {
        for guide in &self.chart.guides {
            let (class, places) = match guide {
                Guide::Level { y, class, .. } if self.y.holds(*y) => {
                    (class.as_str(), self.y.place(*y).map(|y| vec![(self.left, y), (self.right, y)]))
                }
                Guide::Upright { x, .. } if self.x.holds(*x) => {
                    ("accent", self.x.place(*x).map(|x| vec![(x, self.top), (x, self.bottom)]))
                }
                Guide::Equal => {
                    let end = self.x.high().min(self.y.high());
                    ("", [0.0, end].map(|value| self.place(value, value)).into_iter().collect())
                }
                Guide::Level { .. } | Guide::Upright { .. } => continue,
            };
            let path = polyline(&places.unwrap_or_default());
            let _ = writeln!(out, "<path class=\"guide {class}\" d=\"{path}\"/>");
        }
    }

    /// Their texts, where other texts leave room.
    pub fn guide_texts(&self, out: &mut String, standing: &mut Standing) {
        let room = Area { left: self.left, top: self.top, right: self.right, bottom: self.bottom };
        for guide in &self.chart.guides {
            let (class, text, spots) = match guide {
                Guide::Level { y, text, class } if self.y.holds(*y) => {
                    (class.as_str(), text, self.beside_level(*y))
                }
                Guide::Upright { x, text } if self.x.holds(*x) => ("accent", text, self.beside_upright(*x)),
                _ => continue,
            };
            if let Some(spot) = standing.place(text, spots, room) {
                write_text(out, &format!("guide-text {class}"), text, spot);
            }
        }
    }

    /// Above the line at its left and right end, then below it.
    fn beside_level(&self, value: f64) -> Vec<Spot> {
        let ends = [(self.left + 8.0, Anchor::Start), (self.right - 8.0, Anchor::End)];
        let heights = self.y.place(value).into_iter().flat_map(|y| [y - 6.0, y + LINE_HEIGHT]);
        heights.flat_map(|y| ends.map(|(x, anchor)| Spot { x, y, anchor })).collect()
    }

    /// At its left and right, from the top down.
    fn beside_upright(&self, value: f64) -> Vec<Spot> {
        let Some(x) = self.x.place(value) else { return Vec::new() };
        let lines = ((self.bottom - self.top) / LINE_HEIGHT) as usize;
        let heights = (1..lines).map(|line| self.top + LINE_HEIGHT * line as f64 + 4.0);
        let sides = [(x - 7.0, Anchor::End), (x + 7.0, Anchor::Start)];
        heights.flat_map(|y| sides.map(|(x, anchor)| Spot { x, y, anchor })).collect()
    }
}
