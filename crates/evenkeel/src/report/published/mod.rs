//! A published study as a page: what was published beside what was found here.
//!
//! `plots` says what is drawn, `sections` writes the rest.

mod plots;
mod sections;

use super::page;
use crate::published::Published;

pub fn html(view: &Published<'_>) -> String {
    let parts: String = view.plan.parts.iter().map(|part| sections::part(view, part)).collect();
    let body = [
        sections::headline(view),
        sections::caveats(view),
        sections::findings(view),
        sections::why(view),
        parts,
        sections::environment(view),
    ];
    let kind = format!("study of {}", view.plan.kind);
    let title = format!("{} · Evenkeel {kind}", view.plan.id);
    page::document(&title, &page::banner(&kind, &view.plan.id), &body.concat())
}
