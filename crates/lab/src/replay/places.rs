//! Where commands lie and when they went, and their order.

use evenkeel_core::Nanos;

pub(super) const UNKNOWN: u64 = u64::MAX;
pub(super) const UNRANKED: u32 = u32::MAX;
const SECOND: u64 = 1_000_000_000;

/// Where one command lies, and when it went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// Nanoseconds since 1970.
    pub start: u64,
    pub(super) end: u64,
    pub(super) at: u64,
    /// In the order of starts, over all sessions.
    pub number: u32,
    pub(super) rank: u32,
    pub(super) before: u32,
}

impl Place {
    /// Nanoseconds since 1970; `None` where it is not known.
    pub fn end(&self) -> Option<u64> {
        (self.end != UNKNOWN).then_some(self.end)
    }

    /// What its answer took, where that is known.
    pub fn time(&self) -> Option<Nanos> {
        Some(Nanos(self.end()?.saturating_sub(self.start)))
    }

    /// Moves it, with its end.
    fn begin(&mut self, start: u64) {
        let took = self.time().map(|time| time.0);
        self.start = start;
        self.end = took.map_or(UNKNOWN, |took| start.saturating_add(took).min(UNKNOWN - 1));
    }

    /// Its place in the order of ends, over all sessions, where its end is known.
    pub fn rank(&self) -> Option<u32> {
        (self.rank != UNRANKED).then_some(self.rank)
    }
}

/// One session, with its commands in their order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SessionIndex {
    /// Its number in the capture, which a later session may have again.
    pub session: u64,
    pub user: Vec<u8>,
    pub database: Vec<u8>,
    /// It had begun before the recording: what it had set and prepared by then is not known.
    pub is_late: bool,
    /// Which of the logs that are sent at the same time it is from.
    pub log: u32,
    pub commands: Vec<Place>,
}

/// All commands in the order of their starts, and where these are the same in that of the log.
fn places(sessions: &mut [SessionIndex]) -> Vec<&mut Place> {
    let mut all: Vec<&mut Place> = sessions.iter_mut().flat_map(|session| &mut session.commands).collect();
    all.sort_by_key(|place| (place.start, place.at));
    all
}

/// Commands before the first date of a log are as old as that.
pub(super) fn date(sessions: &mut [SessionIndex]) {
    let is_dated = |place: &Place| place.start >= SECOND;
    let all = sessions.iter().flat_map(|session| &session.commands);
    let Some(first) = all.filter(|place| is_dated(place)).map(second_of).min() else { return };
    let all = sessions.iter_mut().flat_map(|session| &mut session.commands);
    all.filter(|place| !is_dated(place)).for_each(|place| place.begin(first));
}

fn second_of(place: &Place) -> u64 {
    place.start / SECOND * SECOND
}

/// Where times are to the second, commands of one second are spread evenly over it, in the order of the log: no burst is sent that
/// nobody has seen. A session asks nothing before it has its answer.
pub(super) fn spread(sessions: &mut [SessionIndex]) {
    let mut all: Vec<&mut Place> = sessions.iter_mut().flat_map(|session| &mut session.commands).collect();
    all.sort_by_key(|place| (second_of(place), place.at));
    for all in all.chunk_by_mut(|one, other| second_of(one) == second_of(other)) {
        let count = all.len() as u64;
        for (number, place) in (0..).zip(all) {
            place.begin(second_of(place).saturating_add(SECOND * number / count));
        }
    }
    for session in sessions {
        let mut next = u64::MAX;
        for place in session.commands.iter_mut().rev() {
            let took = place.time().unwrap_or_default().0;
            place.begin(place.start.min(next.saturating_sub(took)).max(second_of(place)));
            next = place.start;
        }
        let mut last = 0;
        for place in &mut session.commands {
            place.begin(place.start.max(last.min(second_of(place).saturating_add(SECOND - 1))));
            last = place.end().unwrap_or(place.start);
        }
    }
}

/// Numbers commands by their starts and by their ends.
pub(super) fn rank(sessions: &mut [SessionIndex], is_coarse: bool) {
    let mut places = places(sessions);
    for (number, place) in (0..).zip(&mut places) {
        place.number = number;
    }
    // Of times to the second only what certainly ended before the other's second has an order.
    let start = |place: &Place| if is_coarse { second_of(place) } else { place.start };
    let end = |place: &Place| match place.time() {
        Some(time) if is_coarse => second_of(place) + SECOND + time.0,
        _ => place.end,
    };
    places.sort_by_key(|place| end(place));
    let known = places.partition_point(|place| place.end != UNKNOWN);
    for (rank, place) in (0..).zip(&mut places[..known]) {
        place.rank = rank;
    }
    let ends: Vec<u64> = places[..known].iter().map(|place| end(place)).collect();
    for place in places {
        // Not those that ended in the same moment: two of them could wait for each other.
        let start = start(place);
        place.before = ends.partition_point(|end| *end < start) as u32;
    }
}
