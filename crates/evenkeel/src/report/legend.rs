//! What colours, shapes and lines mean.

use super::chart::{ARROW_UP, Marker};
use super::markup::Text;
use super::study::{Look, Study};

/// A piece of a series' line with its marker.
pub fn swatch(look: Look) -> String {
    let dash = if look.dashed { " dashed" } else { "" };
    format!(
        "<svg class=\"swatch s{}\" viewBox=\"0 0 28 12\" aria-hidden=\"true\"><path class=\"mean{dash}\" d=\"M0 6H28\"/>\
         <path class=\"fill\" transform=\"translate(14 6)\" d=\"{}\"/></svg>",
        look.hue,
        look.marker.path(4.4)
    )
}

/// Names of the series; nothing with one series.
pub fn series(study: &Study<'_>) -> String {
    if !study.has_several() {
        return String::new();
    }
    let items: String = study
        .plan
        .series
        .iter()
        .enumerate()
        .map(|(at, series)| format!("<li>{}{}</li>\n", swatch(study.look(at)), Text(&series.label)))
        .collect();
    format!("<ul class=\"legend\">\n{items}</ul>\n")
}

/// What the marks mean.
pub fn marks() -> String {
    let disc = Marker::Circle.path(4.4);
    let item = |drawing: String, text: &str| {
        format!(
            "<li><svg class=\"swatch\" viewBox=\"0 0 28 26\" aria-hidden=\"true\">{drawing}</svg>{text}</li>\n"
        )
    };
    let bar = format!(
        "<path class=\"error-bar\" d=\"M14 3V23M10 3h8M10 23h8\"/><path class=\"fill\" transform=\"translate(14 13)\" d=\"{disc}\"/>"
    );
    let dots = "<circle class=\"dot\" cx=\"7\" cy=\"15\" r=\"2.4\"/><circle class=\"dot\" cx=\"14\" cy=\"10\" r=\"2.4\"/>\
                <circle class=\"dot\" cx=\"21\" cy=\"14\" r=\"2.4\"/>";
    let hollow = format!("<g class=\"point hollow\" transform=\"translate(14 13)\"><path d=\"{disc}\"/></g>");
    let arrow = format!("<path class=\"arrow\" transform=\"translate(14 29)\" d=\"{ARROW_UP}\"/>");
    format!(
        "<ul class=\"legend marks\">\n{}{}{}{}</ul>\n",
        item(bar, "mean with 95 % interval"),
        item(dots.to_owned(), "single runs"),
        item(hollow, "queue not settled"),
        item(arrow, "lower bound")
    )
}
