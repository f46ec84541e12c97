//! What colours, shapes and lines mean.

use super::markup::Text;
use super::study::{Look, Study};

pub const MARKS: &str = include_str!("marks.html");

pub fn swatch(look: Look) -> String {
    let dash = if look.dashed { " dashed" } else { "" };
    format!(
        "<svg class=\"swatch s{}\" viewBox=\"0 0 28 12\" aria-hidden=\"true\"><path class=\"mean{dash}\" d=\"M0 6H28\"/>\
         <path class=\"fill\" transform=\"translate(14 6)\" d=\"{}\"/></svg>",
        look.hue,
        look.marker.path(4.4)
    )
}

pub fn legend<'a>(lines: impl Iterator<Item = (Look, &'a str)>) -> String {
    let items: String =
        lines.map(|(look, words)| format!("<li>{}{}</li>\n", swatch(look), Text(words))).collect();
    format!("<ul class=\"legend\">\n{items}</ul>\n")
}

/// Names of the series; nothing with one series.
pub fn series(study: &Study) -> String {
    if !study.has_several() {
        return String::new();
    }
    let names = study.plan.series.iter().enumerate();
    legend(names.map(|(at, series)| (study.look(at), series.label.as_str())))
}
