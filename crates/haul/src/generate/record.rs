//! One call as a record of fixed width.

use super::callers::Callers;
use super::duration;
use evenkeel_core::random::Random;
use std::io::Write;

/// The layout of the records, as `evenkeel cdr convert` reads it: 199 bytes and a line feed.
pub const LAYOUT: &str = include_str!("calls.toml");

/// What of a call does not depend on chance, or is drawn before it.
pub(super) struct Call {
    pub seq: u64,
    /// Second of the day at which it begins.
    pub start_s: u32,
    pub day: u32,
}

impl Call {
    pub fn write(&self, callers: &Callers, random: &mut Random, out: &mut Vec<u8>) {
        let (caller, called) = (callers.caller(random), callers.called(random));
        // Answered, nobody answers, busy, failed: a guess at the mix.
        let ends = random.unit();
        let (answered, cause) = match ends {
            _ if ends < 0.68 => (true, 16),
            _ if ends < 0.88 => (false, 19),
            _ if ends < 0.96 => (false, 17),
            _ => (false, 41),
        };
        let rang_s = random.uniform(2, 25);
        let seconds = if answered { duration::draw(random) } else { 0 };
        let start = self.at(0);
        let answer = if answered { self.at(rang_s) } else { String::new() };
        let end = self.at(rang_s + seconds);
        let cell = random.uniform(0, 9_999);
        let (trunk_in, trunk_out) = (random.uniform(1, 99), random.uniform(1, 99));
        let (service, roams) = (random.uniform(1, 5), random.unit() < 0.02);
        let amount =
            if answered { format!("{}.{:02}", seconds / 60, seconds % 60) } else { "0.00".to_owned() };
        // A vector takes all that is written to it.
        let _ = writeln!(
            out,
            "01{:>10}{:<15}{:<15}{:<15}{:<15}{start:<14}{answer:<14}{end:<14}{seconds:>6}{:<10}{:<12}{:<7}{:<7}{cause:<3}{service:<2}{amount:>10}{}{:27}",
            self.seq,
            format!("3468{:08}", caller % 100_000_000),
            format!("3469{:08}", called % 100_000_000),
            format!("21407{caller:010}"),
            format!("35{caller:013}"),
            format!("C{cell:05}"),
            format!("MSC{:02}", cell % 20),
            format!("TI{trunk_in:02}"),
            format!("TO{trunk_out:02}"),
            u8::from(roams),
            "",
        );
    }

    /// The instant so many seconds after it began; a call may end on the next day.
    fn at(&self, after_s: u64) -> String {
        let second = u64::from(self.start_s) + after_s;
        let day = super::dirt::day_after(self.day, i64::try_from(second / 86_400).unwrap_or(0));
        let second = second % 86_400;
        format!("{day:08}{:02}{:02}{:02}", second / 3600, second / 60 % 60, second % 60)
    }
}
