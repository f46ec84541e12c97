//! Heat maps: a value for each row and column, the darker the more. They keep their size, so that all that is written in them can
//! be read on a narrow screen, where they scroll.

use super::draw::{Anchor, CHARACTER, LINE_HEIGHT, Spot, open, write_text};
use crate::report::legend::Text;
use std::fmt::Write as _;

#[derive(Clone, Debug)]
pub struct Heat {
    pub id: String,
    pub title: String,
    pub description: String,
    /// Whether what is dark is bad.
    pub is_trouble: bool,
    pub columns: Vec<String>,
    pub rows: Vec<(String, Vec<Option<Place>>)>,
}

#[derive(Clone, Debug)]
pub struct Place {
    pub text: String,
    /// Its interval.
    pub within: String,
    pub tip: String,
    /// From 0 to 1.
    pub shade: f64,
    pub is_marked: bool,
}

/// With more columns the intervals stand in the tips alone.
const COLUMNS_WITH_INTERVALS: usize = 8;
const PLACE_MIN: f64 = 44.0;
const GAP: f64 = 3.0;
/// Width of the name of a row, which has several lines above it.
const NAME_MAX: f64 = 150.0;
/// Around a text.
const MARGIN: f64 = 14.0;
/// So dark is what has no shade, percent: it is a place all the same.
const PALEST: f64 = 7.0;

impl Heat {
    /// As an `<svg>` element.
    pub fn svg(&self) -> String {
        let has_within = self.columns.len() <= COLUMNS_WITH_INTERVALS;
        let places = || self.rows.iter().flat_map(|(_, places)| places.iter().flatten());
        let words = self.columns.iter().flat_map(|name| name.split(' '));
        let texts = places().map(|place| place.text.as_str());
        let within = places().map(|place| place.within.as_str()).filter(|_| has_within);
        let width = (longest(words.chain(texts).chain(within)) + MARGIN).max(PLACE_MIN);
        let names: Vec<Vec<String>> = self.rows.iter().map(|(name, _)| wrapped(name, NAME_MAX)).collect();
        let lines = names.iter().map(Vec::len).max().unwrap_or(0);
        let height = if has_within { 46.0_f64 } else { 28.0 }.max(LINE_HEIGHT * lines as f64 + GAP);
        let left = longest(names.iter().flatten().map(String::as_str)) + MARGIN;
        let heads: Vec<Vec<String>> = self.columns.iter().map(|name| wrapped(name, width - GAP)).collect();
        let top = LINE_HEIGHT * heads.iter().map(Vec::len).max().unwrap_or(0) as f64 + 8.0;
        let size = (left + width * self.columns.len() as f64, top + height * self.rows.len() as f64);
        let class = if self.is_trouble { "chart heat trouble" } else { "chart heat" };
        let mut out = open(class, &self.id, size, [&self.title, &self.description]);
        out = out.replacen("<svg ", &format!("<svg style=\"width:{:.0}px\" ", size.0), 1);
        let middle = |column: usize| left + width * (column as f64 + 0.5);
        for (column, lines) in heads.iter().enumerate() {
            for (above, line) in lines.iter().rev().enumerate() {
                let y = top - 8.0 - LINE_HEIGHT * above as f64;
                write_text(&mut out, "tick", line, Spot { x: middle(column), y, anchor: Anchor::Middle });
            }
        }
        for (row, (lines, (_, places))) in names.iter().zip(&self.rows).enumerate() {
            let y = top + height * row as f64;
            let spot = Spot { x: 0.0, y: y + height / 2.0 + 3.0, anchor: Anchor::Start };
            for (below, line) in lines.iter().enumerate() {
                let lift = LINE_HEIGHT * ((lines.len() - 1) as f64 / 2.0 - below as f64);
                write_text(&mut out, "tick", line, Spot { y: spot.y - lift, ..spot });
            }
            for (column, place) in places.iter().enumerate() {
                let (x, size) = (middle(column), (width - GAP, height - GAP));
                match place {
                    Some(place) => place.draw(&mut out, (x, y), size, has_within),
                    None => write_text(&mut out, "tick", "-", Spot { x, anchor: Anchor::Middle, ..spot }),
                }
            }
        }
        out.push_str("</svg>\n");
        out
    }
}

impl Place {
    fn draw(&self, out: &mut String, (x, y): (f64, f64), (width, height): (f64, f64), has_within: bool) {
        let mark = if self.is_marked { " marked" } else { "" };
        let shade = PALEST + (100.0 - PALEST) * self.shade.clamp(0.0, 1.0);
        let _ = writeln!(
            out,
            "<g class=\"point{mark}\"><title>{}</title><rect style=\"--shade:{shade:.0}%\" x=\"{:.1}\" y=\"{y:.1}\" \
             width=\"{width:.1}\" height=\"{height:.1}\" rx=\"4\"/>",
            Text(&self.tip),
            x - width / 2.0
        );
        let middle = y + height / 2.0 + 4.0;
        let lift = if has_within && !self.within.is_empty() { LINE_HEIGHT / 2.0 } else { 0.0 };
        write_text(out, "value", &self.text, Spot { x, y: middle - lift, anchor: Anchor::Middle });
        if lift > 0.0 {
            write_text(
                out,
                "within",
                &self.within,
                Spot { x, y: middle + lift + 1.0, anchor: Anchor::Middle },
            );
        }
        out.push_str("</g>\n");
    }
}

fn longest<'a>(texts: impl Iterator<Item = &'a str>) -> f64 {
    CHARACTER * texts.map(|text| text.chars().count()).max().unwrap_or(0) as f64
}

/// In lines of this width at most, as far as words allow.
fn wrapped(text: &str, width: f64) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split(' ') {
        match lines.last_mut() {
            Some(line) if CHARACTER * (line.chars().count() + 1 + word.chars().count()) as f64 <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    fn heat(columns: usize) -> Heat {
        let place = |value: usize| Place {
            text: value.to_string(),
            within: "0.901 to 1.38".to_owned(),
            tip: format!("tip {value}"),
            shade: value as f64 / columns as f64,
            is_marked: value == 1,
        };
        let places = (0..columns).map(|value| Some(value).filter(|value| *value != 2).map(place)).collect();
        Heat {
            id: "a".to_owned(),
            title: "t".to_owned(),
            description: "d".to_owned(),
            is_trouble: true,
            columns: (0..columns).map(|at| format!("b's select number {at}")).collect(),
            rows: vec![("a's read".to_owned(), places)],
        }
    }

    #[test]
    fn every_value_has_a_place_with_its_interval_and_what_matters_a_frame() {
        let svg = heat(4).svg();
        assert_eq!((svg.matches("<rect").count(), svg.matches("0.901 to 1.38").count()), (3, 3), "{svg}");
        assert_eq!((svg.matches("point marked").count(), svg.matches(">-<").count()), (1, 1), "{svg}");
        assert!(svg.contains("--shade:7%") && svg.contains("tip 3"), "{svg}");
    }

    #[test]
    fn many_columns_have_their_intervals_in_tips_and_labels_stay_within_their_columns() {
        let svg = heat(12).svg();
        assert!(!svg.contains("class=\"within\""), "{svg}");
        assert_eq!(wrapped("b's select number 3", 80.0), ["b's select", "number 3"]);
        assert_eq!(wrapped("one", 1.0), ["one"]);
    }
}
