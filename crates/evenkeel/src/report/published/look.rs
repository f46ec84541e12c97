//! How the levels of a factor look in charts.

use crate::report::chart::Marker;
use crate::report::study::Look;

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
pub fn look(place: usize, level: &str) -> Look {
    if level == OURS {
        return Look { hue: 0, marker: Marker::Circle, dashed: false };
    }
    let (hue, marker, dashed) = OTHERS[place % OTHERS.len()];
    Look { hue, marker, dashed }
}
