//! A published study as a page: what was published beside what was found here.
//!
//! `plots` says what is drawn, `sections` writes the rest.

mod plots;
mod sections;

use super::chart::Marker;
use super::page;
use super::study::Look;
use crate::published::Published;

/// The page of a study in any state.
pub fn html(view: &Published<'_>) -> String {
    let parts: String = view.plan.parts.iter().map(|part| sections::part(view, part)).collect();
    let body = [
        sections::headline(view),
        sections::findings(view),
        parts,
        sections::caveats(view),
        sections::environment(view),
    ];
    let kind = format!("study of {}", view.plan.kind);
    let title = format!("{} · Evenkeel {kind}", view.plan.id);
    page::document(&title, &page::banner(&kind, &view.plan.id), &body.concat())
}

/// Our own way has the same look in all studies.
const OURS: &str = "evenkeel";
/// Of the others, one after the other.
const OTHERS: [(usize, Marker, bool); 5] = [
    (1, Marker::Square, false),
    (5, Marker::Diamond, true),
    (3, Marker::Triangle, false),
    (2, Marker::Square, false),
    (4, Marker::Diamond, false),
];

/// Hue, shape and line of a level: the same in all charts of a part.
fn look(place: usize, level: &str) -> Look {
    if level == OURS {
        return Look { hue: 0, marker: Marker::Circle, dashed: false };
    }
    let (hue, marker, dashed) = OTHERS[place % OTHERS.len()];
    Look { hue, marker, dashed }
}
