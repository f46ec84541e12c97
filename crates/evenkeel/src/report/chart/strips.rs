//! Small charts above one another over the same time, a figure each.

use super::draw::{Anchor, Spot, open, polyline, write_text};
use super::scale::{Quantity, Scale, Spacing};
use std::fmt::Write as _;

#[derive(Clone, Debug)]
pub struct Strips {
    pub id: String,
    pub title: String,
    pub description: String,
    /// Length of the time axis, seconds.
    pub length_s: f64,
    /// From the top.
    pub strips: Vec<Strip>,
    /// Stretches of time that are shaded through all strips, seconds.
    pub shades: Vec<(f64, f64)>,
}

#[derive(Clone, Debug)]
pub struct Strip {
    pub class: &'static str,
    pub title: &'static str,
    pub quantity: Quantity,
    /// Instants in seconds, each with a value, or without where nobody knows it.
    pub points: Vec<(f64, Option<f64>)>,
    pub holds: Vec<f64>,
    pub level: Option<f64>,
}

const WIDTH: f64 = 340.0;
const LEFT: f64 = 50.0;
const RIGHT: f64 = 10.0;
/// Above the plot area of a strip, for its name.
const HEAD: f64 = 26.0;
const HEIGHT: f64 = 46.0;
const STEP: f64 = HEAD + HEIGHT + 6.0;
const FOOT: f64 = 38.0;

impl Strips {
    /// As an `<svg>` element.
    pub fn svg(&self) -> String {
        let height = STEP * self.strips.len() as f64 + FOOT;
        let mut out = open("chart strips", &self.id, (WIDTH, height), [&self.title, &self.description]);
        let time = Scale::exact(0.0, self.length_s.max(1.0), LEFT, WIDTH - RIGHT);
        let bottom = height - FOOT - 6.0;
        self.times(&mut out, &time, bottom);
        for (at, strip) in self.strips.iter().enumerate() {
            strip.draw(&mut out, &time, STEP * at as f64 + HEAD);
        }
        out.push_str("</svg>\n");
        out
    }

    fn times(&self, out: &mut String, time: &Scale, bottom: f64) {
        for (from, until) in &self.shades {
            let (Some(left), Some(right)) = (time.place(*from), time.place(*until)) else { continue };
            let (width, height) = (right - left, bottom - HEAD);
            let _ = writeln!(
                out,
                "<rect class=\"shade\" x=\"{left:.1}\" y=\"{HEAD}\" width=\"{width:.1}\" height=\"{height:.1}\"/>"
            );
        }
        for tick in time.ticks() {
            let Some(x) = time.place(*tick) else { continue };
            let _ = writeln!(out, "<path class=\"grid\" d=\"M{x:.1} {HEAD}V{bottom:.1}\"/>");
            let spot = Spot { x, y: bottom + 16.0, anchor: Anchor::Middle };
            write_text(out, "tick", &time.label(*tick, Quantity::Plain), spot);
        }
        let spot = Spot { x: WIDTH - RIGHT, y: bottom + 32.0, anchor: Anchor::End };
        write_text(out, "axis-title", "time, s", spot);
    }
}

impl Strip {
    fn draw(&self, out: &mut String, time: &Scale, top: f64) {
        let bottom = top + HEIGHT;
        let known = self.points.iter().filter_map(|(_, value)| *value);
        let values = known.chain(self.holds.iter().copied()).chain(self.level);
        let scale = Scale::new(values, Spacing::Linear, bottom, top);
        let unit = scale.unit(self.quantity);
        let title = if unit.is_empty() { self.title.to_owned() } else { format!("{}, {unit}", self.title) };
        write_text(out, "axis-title", &title, Spot { x: 0.0, y: top - 12.0, anchor: Anchor::Start });
        if self.points.iter().all(|(_, value)| value.is_none()) {
            let spot = Spot { x: LEFT, y: top + 12.0, anchor: Anchor::Start };
            write_text(out, "nothing", crate::format::ABSENT, spot);
            return;
        }
        let ticks = scale.ticks();
        for tick in [ticks.first(), ticks.last()].into_iter().flatten() {
            let Some(y) = scale.place(*tick) else { continue };
            let _ = writeln!(out, "<path class=\"grid\" d=\"M{LEFT} {y:.1}H{:.1}\"/>", WIDTH - RIGHT);
            let spot = Spot { x: LEFT - 7.0, y: y + 4.0, anchor: Anchor::End };
            write_text(out, "tick", &scale.label(*tick, self.quantity), spot);
        }
        if let Some(y) = self.level.and_then(|level| scale.place(level)) {
            let _ = writeln!(out, "<path class=\"guide\" d=\"M{LEFT} {y:.1}H{:.1}\"/>", WIDTH - RIGHT);
        }
        self.line(out, time, &scale);
    }

    /// In pieces, as what is not known interrupts it; a value that stands alone is a short dash.
    fn line(&self, out: &mut String, time: &Scale, scale: &Scale) {
        let place = |(at, value): &(f64, Option<f64>)| Some((time.place(*at)?, scale.place((*value)?)?));
        let places: Vec<Option<(f64, f64)>> = self.points.iter().map(place).collect();
        let path: String = places
            .split(Option::is_none)
            .map(|piece| piece.iter().flatten().copied().collect::<Vec<_>>())
            .map(|piece| match piece.as_slice() {
                [(x, y)] => format!("M{:.1} {y:.1}h3", x - 1.5),
                many => polyline(many),
            })
            .collect();
        let _ = writeln!(out, "<path class=\"mean {}\" d=\"{path}\"/>", self.class);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn strips(values: &[Option<f64>]) -> String {
        let points = values.iter().enumerate().map(|(at, value)| (at as f64 + 0.5, *value)).collect();
        let (holds, level) = (Vec::new(), None);
        let strip = Strip { class: "s0", title: "backlog", quantity: Quantity::Plain, points, holds, level };
        Strips {
            id: "a".to_owned(),
            title: "t".to_owned(),
            description: "d".to_owned(),
            length_s: values.len() as f64,
            strips: vec![strip.clone(), strip],
            shades: vec![(1.0, 2.0)],
        }
        .svg()
    }

    #[test]
    fn what_is_not_known_interrupts_the_line_and_nothing_at_all_is_said() {
        let svg = strips(&[Some(1.0), Some(2.0), None, Some(4.0)]);
        assert_eq!(svg.matches("class=\"mean s0\"").count(), 2);
        let path = svg.split("class=\"mean s0\" d=\"").nth(1).unwrap().split('"').next().unwrap();
        assert_eq!(
            (path.matches('M').count(), path.matches('L').count(), path.matches("h3").count()),
            (2, 1, 1)
        );
        let none = strips(&[None, None]);
        assert!(none.contains("not available") && !none.contains("class=\"mean"), "{none}");
    }
}
