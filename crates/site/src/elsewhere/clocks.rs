//! This finds out how far another machine's clock is from ours.
//!
//! A line that is sent and answered brackets the far clock: it was read between our sending and our receiving. The
//! round trip that took least brackets it best; half of it bounds the error. Old ones are left, because clocks drift.

use evenkeel_core::Nanos;
use std::collections::VecDeque;
use std::io;
use std::io::BufRead;

/// Round trips that are kept: clocks drift apart by some 20 us in a second, so that what is a minute old misleads by 1 ms.
const KEPT: usize = 16;

#[derive(Clone, Copy, Debug)]
struct Trip {
    /// Far clock less ours, nanoseconds.
    offset: i128,
    /// Half the round trip.
    bound: Nanos,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Clocks {
    trips: VecDeque<Trip>,
    /// Least far clock minus arrival; only an upper bound of the delay is in it. For one who answers no line.
    heard: Option<i128>,
}

impl Clocks {
    pub(super) fn answered(&mut self, sent: Nanos, far: Nanos, received: Nanos) {
        let middle = i128::from(sent.0) + i128::from(received.0.saturating_sub(sent.0)) / 2;
        if self.trips.len() == KEPT {
            self.trips.pop_front();
        }
        self.trips
            .push_back(Trip { offset: i128::from(far.0) - middle, bound: Nanos((received - sent).0 / 2) });
    }

    /// A line that came by itself.
    pub(super) fn heard(&mut self, far: Nanos, received: Nanos) {
        let offset = i128::from(far.0) - i128::from(received.0);
        // The one that was under way for the shortest time is the nearest.
        self.heard = Some(self.heard.map_or(offset, |before| before.max(offset)));
    }

    /// An instant of the far clock on ours; `None` before anything was heard.
    pub(super) fn ours(&self, far: Nanos) -> Option<Nanos> {
        let offset = self.best().map(|trip| trip.offset).or(self.heard)?;
        u64::try_from(i128::from(far.0) - offset).ok().map(Nanos)
    }

    /// By how much [`Self::ours`] may err; `None` where nothing was answered.
    pub(super) fn bound(&self) -> Option<Nanos> {
        self.best().map(|trip| trip.bound)
    }

    fn best(&self) -> Option<&Trip> {
        self.trips.iter().min_by_key(|trip| trip.bound)
    }
}

/// Bytes after which a line is taken for one without an end.
const ENDLESS_BYTES: usize = 1 << 20;

/// The next line without its end; `None` at the end of the stream. Of a line that is longer than `limit` bytes, the rest is
/// read and thrown away, and it counts as one that says nothing.
/// Errors: the stream's own, and a line of more than a mebibyte: reading on would take time for ever.
pub fn next_line(stream: &mut impl BufRead, limit: usize) -> io::Result<Option<String>> {
    let mut line = Vec::new();
    let (mut too_long, mut read) = (false, 0);
    loop {
        let buffer = match stream.fill_buf() {
            Ok(buffer) => buffer,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        if buffer.is_empty() {
            // What has no end is no line: it was cut.
            return Ok(None);
        }
        let end = buffer.iter().position(|byte| *byte == b'\n');
        let part = &buffer[..end.unwrap_or(buffer.len())];
        too_long |= line.len() + part.len() > limit;
        if !too_long {
            line.extend_from_slice(part);
        }
        let used = end.map_or(buffer.len(), |end| end + 1);
        stream.consume(used);
        read += used;
        if read > ENDLESS_BYTES {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "a line has no end"));
        }
        if end.is_some() {
            let line = if too_long { Vec::new() } else { line };
            return Ok(Some(String::from_utf8_lossy(&line).trim_end_matches('\r').to_owned()));
        }
    }
}

/// What another machine says, short and without control characters, which would play with the reader's terminal.
pub(super) fn plain(text: &str) -> String {
    text.chars().filter(|character| !character.is_control()).take(300).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::BufReader;

    #[test]
    fn the_shortest_round_trip_tells_the_offset_and_its_bound() {
        let mut clocks = Clocks::default();
        assert_eq!((clocks.ours(Nanos(5)), clocks.bound()), (None, None));
        let far = |ours: u64| Nanos(ours + 1_000_000);
        // Lopsided and long, then short: the truth is 1,000,000 ahead.
        clocks.answered(Nanos(1_000), far(1_100), Nanos(9_000));
        clocks.answered(Nanos(20_000), far(20_190), Nanos(20_400));
        clocks.answered(Nanos(30_000), far(31_000), Nanos(39_000));
        let (ours, bound) = (clocks.ours(far(50_000)).expect("known"), clocks.bound().expect("known"));
        assert!(ours.0.abs_diff(50_000) <= bound.0 && bound == Nanos(200), "{ours:?} {bound:?}");
    }

    #[test]
    fn without_answers_the_line_that_was_fastest_tells_and_nobody_knows_how_well() {
        let mut clocks = Clocks::default();
        for (far, received) in [(500, 1_500), (700, 1_400), (900, 2_500)] {
            clocks.heard(Nanos(far), Nanos(received));
        }
        assert_eq!((clocks.ours(Nanos(700)), clocks.bound()), (Some(Nanos(1_400)), None));
    }

    #[test]
    fn old_round_trips_are_left() {
        let mut clocks = Clocks::default();
        clocks.answered(Nanos(0), Nanos(7), Nanos(2));
        (0..KEPT as u64).for_each(|_| clocks.answered(Nanos(0), Nanos(900), Nanos(1_000)));
        assert_eq!(clocks.bound(), Some(Nanos(500)));
    }

    #[test]
    fn clocks_that_cannot_be_do_no_harm() {
        let mut clocks = Clocks::default();
        clocks.answered(Nanos::MAX, Nanos(0), Nanos(0));
        clocks.heard(Nanos::MAX, Nanos(0));
        assert!(clocks.ours(Nanos(0)).is_some() && clocks.ours(Nanos::MAX).is_none());
    }

    #[test]
    fn lines_come_one_by_one_and_long_ones_as_nothing() {
        let text = b"one\r\ntwo is too long\n\nthree\ncut";
        let mut stream = BufReader::with_capacity(4, &text[..]);
        let mut lines = Vec::new();
        while let Some(line) = next_line(&mut stream, 6).expect("readable") {
            lines.push(line);
        }
        assert_eq!(lines, ["one", "", "", "three"]);
    }

    #[test]
    fn an_endless_line_takes_neither_memory_nor_time() {
        let mut stream = BufReader::new(io::repeat(b'x'));
        assert!(next_line(&mut stream, 100).is_err_and(|error| error.to_string().contains("no end")));
    }
}
