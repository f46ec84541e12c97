//! Keeping text apart.

/// Moves heights so that neighbours are at least `gap` apart and all lie within `low..=high`, as far as
/// there is room, without changing their order and moving as little as a greedy pass does.
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
/// Height of a line of text.
pub const LINE_HEIGHT: f64 = 14.0;

/// Which end of a text lies at its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Anchor {
    /// The text begins at its place.
    Start,
    /// The text has its middle at its place.
    Middle,
    /// The text ends at its place.
    End,
}

impl Anchor {
    /// The value of SVG's `text-anchor`.
    pub fn word(self) -> &'static str {
        match self {
            Self::Start => "start",
            Self::Middle => "middle",
            Self::End => "end",
        }
    }
}

/// Where a text could stand: its anchor on its baseline.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spot {
    /// Horizontal place of the anchor.
    pub x: f64,
    /// Vertical place of the baseline; places count downwards.
    pub y: f64,
    /// Which end lies there.
    pub anchor: Anchor,
}

/// A rectangle on the drawing.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Area {
    /// Left edge, in units of the drawing.
    pub left: f64,
    /// Upper edge; places count downwards.
    pub top: f64,
    /// Right edge, in units of the drawing.
    pub right: f64,
    /// Lower edge; places count downwards.
    pub bottom: f64,
}

impl Area {
    /// What a text covers at a spot.
    pub fn of_text(text: &str, spot: Spot) -> Self {
        let width = CHARACTER * text.chars().count() as f64;
        let left = match spot.anchor {
            Anchor::Start => spot.x,
            Anchor::Middle => spot.x - width / 2.0,
            Anchor::End => spot.x - width,
        };
        Self { left, top: spot.y - LINE_HEIGHT + 3.0, right: left + width, bottom: spot.y + 3.0 }
    }

    /// How much of it lies in another.
    pub fn overlap(&self, other: &Self) -> f64 {
        let width = self.right.min(other.right) - self.left.max(other.left);
        let height = self.bottom.min(other.bottom) - self.top.max(other.top);
        width.max(0.0) * height.max(0.0)
    }

    fn size(&self) -> f64 {
        (self.right - self.left) * (self.bottom - self.top)
    }

    /// Whether a place lies in it.
    pub fn has(&self, (x, y): (f64, f64)) -> bool {
        (self.left..=self.right).contains(&x) && (self.top..=self.bottom).contains(&y)
    }
}

/// Texts that stand already.
#[derive(Debug, Default)]
pub struct Standing(Vec<Area>);

impl Standing {
    /// A text that has no other place.
    pub fn put(&mut self, area: Area) {
        self.0.push(area);
    }

    /// The best of some spots: least over texts that stand already or outside of `room`, then by what `worse` says
    /// of its area, then the first. It stands from now on. `None` where it would lie over another text wherever it stood: the
    /// tip of its point and the table have the figure too.
    pub fn place(
        &mut self,
        text: &str,
        spots: &[Spot],
        room: Area,
        worse: impl Fn(&Area) -> f64,
    ) -> Option<Spot> {
        let over = |area: &Area| self.0.iter().map(|other| area.overlap(other)).sum::<f64>();
        let cost = |spot: &Spot| {
            let area = Area::of_text(text, *spot);
            let over = over(&area);
            let outside = area.size() - area.overlap(&room);
            100.0 * (over + outside) + worse(&area)
        };
        let best = spots.iter().min_by(|one, other| cost(one).total_cmp(&cost(other))).copied()?;
        if over(&Area::of_text(text, best)) > 0.0 {
            return None;
        }
        self.put(Area::of_text(text, best));
        Some(best)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_keep_their_order_and_distance() {
        assert_eq!(apart(&[50.0, 52.0, 10.0], 12.0, 0.0, 100.0), [50.0, 62.0, 10.0]);
        assert_eq!(apart(&[99.0, 99.0, 99.0], 12.0, 0.0, 100.0), [76.0, 88.0, 100.0]);
        assert!(apart(&[], 12.0, 0.0, 100.0).is_empty());
    }

    #[test]
    fn too_many_for_the_room_still_differ() {
        let placed = apart(&[5.0; 12], 12.0, 0.0, 60.0);
        assert!(placed.windows(2).all(|pair| pair[1] - pair[0] >= 12.0 - 1e-9), "{placed:?}");
    }

    #[test]
    fn a_text_takes_the_first_spot_that_is_free_and_within_the_room() {
        let room = Area { left: 0.0, top: 0.0, right: 200.0, bottom: 100.0 };
        let at = |x, y| Spot { x, y, anchor: Anchor::End };
        let mut standing = Standing::default();
        let free = |_: &Area| 0.0;
        assert_eq!(standing.place("first", &[at(100.0, 20.0)], room, free), Some(at(100.0, 20.0)));
        let spots = [at(10.0, 20.0), at(102.0, 22.0), at(100.0, 40.0)];
        assert_eq!(standing.place("second", &spots, room, free), Some(at(100.0, 40.0)));
        assert_eq!(standing.place("third", &[], room, free), None);
        assert_eq!(standing.place("fourth", &[at(101.0, 21.0)], room, free), None, "it lies over the first");
    }
}
