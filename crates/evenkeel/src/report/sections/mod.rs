//! The parts of a report besides its charts, each a function from the study to markup.

mod caveats;
mod cells;
mod environment;
mod guide;
mod headline;
mod outcomes;
mod parts;
mod plans;
mod reduction;
mod server;
mod split;
mod timelines;

pub use caveats::{caveats, evidence};
pub use cells::cells;
pub use environment::{TELLING, environment, settings, spoken};
pub use guide::guide;
pub use headline::{headline, trust_text, verdicts};
pub use outcomes::outcomes;
pub use parts::parts;
pub use plans::plans;
pub use reduction::reduction;
pub use server::server;
pub use split::split;
pub use timelines::timelines;

use super::markup::Text;

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
