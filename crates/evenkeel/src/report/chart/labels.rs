//! Keeping text apart.

/// Moves heights so that neighbours are at least `gap` apart and all lie within `low..=high`, as far as there is room, without
/// changing their order.
pub fn apart(heights: &[f64], gap: f64, low: f64, high: f64) -> Vec<f64> {
    let mut order: Vec<usize> = (0..heights.len()).collect();
    order.sort_by(|a, b| heights[*a].total_cmp(&heights[*b]));
    let mut placed = heights.to_vec();
    let mut floor = low;
    for &at in &order {
        placed[at] = placed[at].max(floor);
        floor = placed[at] + gap;
    }
    let mut ceiling = high;
    for &at in order.iter().rev() {
        placed[at] = placed[at].min(ceiling);
        ceiling = placed[at] - gap;
    }
    placed
}

/// Width of a character, about; a little more than fonts have it.
pub const CHARACTER: f64 = 6.9;
pub const LINE_HEIGHT: f64 = 14.0;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Anchor {
    Start,
    Middle,
    End,
}

/// Where a text could stand: its anchor on its baseline.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spot {
    pub x: f64,
    pub y: f64,
    pub anchor: Anchor,
}

/// A rectangle on the drawing, whose places count downwards.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Area {
    pub left: f64,
    pub top: f64,
    pub right: f64,
    pub bottom: f64,
}

impl Area {
    pub fn of_text(text: &str, spot: Spot) -> Self {
        let width = CHARACTER * text.chars().count() as f64;
        let left = match spot.anchor {
            Anchor::Start => spot.x,
            Anchor::Middle => spot.x - width / 2.0,
            Anchor::End => spot.x - width,
        };
        Self { left, top: spot.y - LINE_HEIGHT + 3.0, right: left + width, bottom: spot.y + 3.0 }
    }

    fn meets(&self, other: &Self) -> bool {
        self.left < other.right
            && other.left < self.right
            && self.top < other.bottom
            && other.top < self.bottom
    }

    fn lies_in(&self, room: &Self) -> bool {
        self.left >= room.left
            && self.right <= room.right
            && self.top >= room.top
            && self.bottom <= room.bottom
    }
}

#[derive(Debug, Default)]
pub struct Standing(Vec<Area>);

impl Standing {
    /// A text that has no other place.
    pub fn put(&mut self, area: Area) {
        self.0.push(area);
    }

    /// The first spot within `room` where a text lies over no other; it stands from now on. None for an empty text.
    pub fn place(&mut self, text: &str, spots: Vec<Spot>, room: Area) -> Option<Spot> {
        let is_free = |spot: &Spot| {
            let area = Area::of_text(text, *spot);
            area.lies_in(&room) && self.0.iter().all(|other| !area.meets(other))
        };
        let spot = spots.into_iter().find(is_free).filter(|_| !text.is_empty())?;
        self.put(Area::of_text(text, spot));
        Some(spot)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_keep_their_order_and_distance_also_where_they_are_too_many_for_the_room() {
        assert_eq!(apart(&[50.0, 52.0, 10.0], 12.0, 0.0, 100.0), [50.0, 62.0, 10.0]);
        assert_eq!(apart(&[99.0, 99.0, 99.0], 12.0, 0.0, 100.0), [76.0, 88.0, 100.0]);
        let placed = apart(&[5.0; 12], 12.0, 0.0, 60.0);
        assert!(placed.windows(2).all(|pair| pair[1] - pair[0] >= 12.0 - 1e-9), "{placed:?}");
    }
}
