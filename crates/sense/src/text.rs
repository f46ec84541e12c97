//! All parsers share these small steps.

use evenkeel_core::Nanos;
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// The text of a file; `None` where it is missing, forbidden, or the kernel does not support it. Bytes
/// that are no UTF-8 (a process may carry any name) are replaced.
pub(crate) fn read(path: impl AsRef<Path>) -> Option<String> {
    /// Most files of the kernel in one read; std, which believes their size of zero, takes up to ten.
    const FILE_BYTES: usize = 8192;
    let mut bytes = Vec::with_capacity(FILE_BYTES);
    // Behind `take` std does not ask for the size: two system calls less for each file.
    File::open(path).ok()?.take(u64::MAX).read_to_end(&mut bytes).ok()?;
    Some(String::from_utf8(bytes).unwrap_or_else(|bad| String::from_utf8_lossy(bad.as_bytes()).into_owned()))
}

/// The first line of a file, without white space around it; `None` also where it is empty.
pub(crate) fn read_line(path: impl AsRef<Path>) -> Option<String> {
    let text = read(path)?;
    let line = text.lines().next()?.trim();
    (!line.is_empty()).then(|| line.to_owned())
}

/// The number behind a key: `key 12`, `key: 12` or `key:  12 kB`, one to a line.
pub(crate) fn number(text: &str, key: &str) -> Option<u64> {
    text.lines().find_map(|line| {
        let mut words = line.split_ascii_whitespace();
        let word = words.next()?;
        (word.strip_suffix(':').unwrap_or(word) == key).then(|| words.next()?.parse().ok())?
    })
}

/// The text behind a key: `key : text`, one to a line.
pub(crate) fn value<'a>(text: &'a str, key: &str) -> Option<&'a str> {
    text.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        let value = value.trim();
        (name.trim() == key && !value.is_empty()).then_some(value)
    })
}

/// `count` units of time.
pub(crate) fn times(count: u64, unit: Nanos) -> Nanos {
    Nanos(count.saturating_mul(unit.0))
}

/// By how much a counter rose. One that fell is taken for wrapped where it stood in the upper half of
/// 32 bits (what kernels and servers count in), and for started anew, hence unknown, elsewhere.
pub(crate) fn rise(before: u64, after: u64) -> Option<u64> {
    const WRAP: u64 = 1 << 32;
    match after.checked_sub(before) {
        Some(rise) => Some(rise),
        None if (WRAP / 2..WRAP).contains(&before) => Some(after + (WRAP - before)),
        None => None,
    }
}

/// `part` in percent of `whole`; `None` where the whole is nothing, or so near to it that there is no such number.
pub(crate) fn percent(part: Nanos, whole: f64) -> Option<f64> {
    let share = (whole > 0.0 && whole.is_finite()).then(|| 100.0 * part.0 as f64 / whole);
    share.filter(|share| share.is_finite())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_found_by_its_whole_key_only() {
        let text =
            "nonvoluntary_ctxt_switches:\t7\nvoluntary_ctxt_switches:\t3\nMemTotal:  12 kB\nusage_usec 5\n";
        assert_eq!(number(text, "voluntary_ctxt_switches"), Some(3));
        assert_eq!(number(text, "MemTotal"), Some(12));
        assert_eq!(number(text, "usage_usec"), Some(5));
        assert_eq!(number(text, "usage"), None);
        assert_eq!(number("usage_usec\n", "usage_usec"), None);
    }

    #[test]
    fn a_counter_that_fell_has_wrapped_or_started_anew() {
        assert_eq!(rise(5, 9), Some(4));
        assert_eq!(rise(u64::from(u32::MAX), 4), Some(5));
        assert_eq!(rise(1000, 4), None);
        assert_eq!(rise(u64::MAX, 0), None);
    }

    #[test]
    fn a_share_of_next_to_nothing_is_none_and_not_infinite() {
        assert_eq!(percent(Nanos(5), 10.0), Some(50.0));
        for whole in [0.0, -1.0, f64::NAN, f64::INFINITY, 1e-308] {
            assert_eq!(percent(Nanos::from_secs(1), whole), None, "{whole}");
        }
    }
}
