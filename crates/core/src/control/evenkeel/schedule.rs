//! Which probe is due when: seldom where nothing changes.

use super::grid::Offset;

/// Longest time between two probes of one offset, seconds.
const GAP_MAX_S: f64 = 60.0;
/// Shortest, in units of the test's own length.
const GAP_MIN: f64 = 6.0;

/// When each offset is due.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Schedule {
    due: [f64; Offset::ALL.len()],
    gap: [f64; Offset::ALL.len()],
}

impl Schedule {
    fn place(offset: Offset) -> usize {
        Offset::ALL.iter().position(|&other| other == offset).unwrap_or(0)
    }

    /// It was not good: later again, each time twice as late.
    pub fn refuse(&mut self, offset: Offset, now: f64, took_s: f64) {
        let place = Self::place(offset);
        self.gap[place] = (2.0 * self.gap[place]).max(GAP_MIN * took_s).min(GAP_MAX_S);
        self.due[place] = now + self.gap[place];
    }

    /// It was good: everything is open again but the way back.
    pub fn accept(&mut self, offset: Offset, now: f64, took_s: f64) {
        *self = Self::default();
        for back in Offset::ALL.into_iter().filter(|other| other.is_up() != offset.is_up()) {
            let place = Self::place(back);
            self.gap[place] = GAP_MIN * took_s;
            self.due[place] = now + self.gap[place];
        }
    }

    /// The first that is due and leads somewhere.
    pub fn next(&self, limit: u32, most: u32, least: u32, now: f64) -> Option<(Offset, u32)> {
        Offset::ALL.into_iter().filter(|&offset| self.due[Self::place(offset)] <= now).find_map(|offset| {
            let to = offset.from(limit, most)?;
            (to >= least).then_some((offset, to))
        })
    }

    /// Seconds until the next is due.
    pub fn next_s(&self, limit: u32, most: u32, now: f64) -> f64 {
        let open = Offset::ALL.into_iter().filter(|offset| offset.from(limit, most).is_some());
        open.map(|offset| (self.due[Self::place(offset)] - now).max(0.0)).fold(GAP_MAX_S, f64::min)
    }
}
