//! The parts of a report besides its charts, each a function from the study to markup.

mod cells;
mod environment;
mod headline;
mod server;
mod timelines;

use super::legend::Text;
use crate::format::ABSENT;
pub use cells::{cells, plans};
pub use environment::{TELLING, environment, list, settings, spoken};
pub use headline::{caveats, caveats_of, evidence, headline, trust_text, unbroken, verdicts};
pub use server::server;
pub use timelines::{outcomes, timelines};

/// The words of a report, for one who sees it for the first time.
pub const GUIDE: &str = include_str!("../guide.html");

/// A section of the page with its heading and a sentence below it.
pub fn section(id: &str, heading: &str, words: &str, inner: &str) -> String {
    let words =
        if words.is_empty() { String::new() } else { format!("<p class=\"words\">{}</p>", Text(words)) };
    format!("<section id=\"{id}\"><h2>{}</h2>{words}\n{inner}</section>\n", Text(heading))
}

/// A table that scrolls aside where the page is narrow.
pub fn table(caption: &str, head: &str, body: &str) -> String {
    format!(
        "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"{0}\"><table><caption>{0}</caption>\
         <thead><tr>{head}</tr></thead>\n{body}</table></div>\n",
        Text(caption)
    )
}

/// The head of a column, with its unit below; empty for none.
pub fn head(name: &str, unit: &str) -> String {
    let unit = if unit.is_empty() { String::new() } else { format!("<small>{}</small>", Text(unit)) };
    format!("<th scope=\"col\">{}{unit}</th>", Text(name))
}

pub fn field(text: &str) -> String {
    let class = if text == ABSENT { " class=\"absent\"" } else { "" };
    format!("<td{class}>{}</td>", Text(text))
}

pub fn row(name: &str, fields: &str) -> String {
    format!("<tr><th scope=\"row\">{}</th>{fields}</tr>\n", Text(name))
}
