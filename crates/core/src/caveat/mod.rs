//! Doubts about a result, each with code, weight, sentence and evidence, made in one place: about the load generator and
//! the machine in `machine`, one run, a cell or the whole in `run`. Constructors that take a measurement
//! return `None` where there is nothing to doubt; [`threshold`] has all the figures that decide it. [`cause`] puts
//! codes together that have one remedy.

mod badness;
mod machine;
mod run;
pub mod threshold;

pub use badness::{CAUSES, Cause, cause};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
pub use threshold::*;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// Good to know; the figures stand.
    Note,
    /// The figures may be off, or wider than they look.
    Doubt,
    /// The measurement itself failed: the figures are about the generator, not the server.
    Invalid,
}

impl Severity {
    pub const GRAVEST_FIRST: [Self; 3] = [Self::Invalid, Self::Doubt, Self::Note];
}

/// A doubt about a result: the same in memory, in a study folder and for programs.
#[derive(Clone, Debug, PartialEq)]
pub struct Caveat {
    /// A short name that never changes, for files and filters: `lag-too-large`. One that a later version wrote may be
    /// any.
    pub code: Cow<'static, str>,
    pub severity: Severity,
    /// One or two full sentences: what was seen, what it means, what to do.
    pub text: String,
    /// The numbers behind it, by name with unit: `lag_mean_s`, `tolerated_s`. Counts have no unit. Empty where nothing was
    /// counted.
    pub evidence: BTreeMap<String, f64>,
}

impl Caveat {
    pub fn new(code: &'static str, severity: Severity, text: impl Into<String>) -> Self {
        Self { code: Cow::Borrowed(code), severity, text: text.into(), evidence: BTreeMap::new() }
    }

    /// Adds a number to the evidence. What is not there or no finite number is left out: it is evidence of nothing, and
    /// JSON has no word for it.
    #[must_use]
    pub fn with(mut self, name: &str, value: impl Into<Option<f64>>) -> Self {
        if let Some(value) = value.into().filter(|value| value.is_finite()) {
            self.evidence.insert(name.to_owned(), value);
        }
        self
    }

    /// The same about one of several: `host a: ` stands before its text.
    #[must_use]
    pub fn of(self, which: &str) -> Self {
        Self { text: format!("{which}{}", self.text), ..self }
    }
}

impl fmt::Display for Caveat {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.text)
    }
}

/// Whether most requests failed, see [`FAILURES_FOUND`].
pub fn most_failed(failed: u64, arrivals: u64) -> bool {
    share(failed, arrivals) > FAILURES_FOUND
}

/// A part as a share of the whole; zero of nothing.
fn share(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

fn plural(count: u64, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}

/// Characters of a server's text that are shown; a statement that it repeats may be as long as it likes.
const TEXT_MAX: usize = 200;

/// Errors that are named; the rest is counted.
const NAMED_MAX: usize = 3;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FailedBy {
    /// Number of the error, as the server gives it; above 2000 it is the client's own, 2013 a lost connection.
    pub code: u16,
    pub count: u64,
    /// The server's own words, in one line; empty where none were kept.
    pub text: String,
}

impl FailedBy {
    pub fn all(failed: &BTreeMap<u16, u64>, texts: &BTreeMap<u16, String>) -> Vec<Self> {
        let of = |(&code, &count): (&u16, &u64)| {
            let text = texts.get(&code).map_or_else(String::new, |text| one_line(text));
            Self { code, count, text }
        };
        let mut errors: Vec<Self> = failed.iter().map(of).collect();
        errors.sort_by_key(|error| (std::cmp::Reverse(error.count), error.code));
        errors
    }

    /// `150 times error 1146 “Table 'shop.item' doesn't exist”, 2 times error 1213`: the most frequent of errors that are
    /// in that order, and how many others there are.
    pub fn words(errors: &[Self]) -> String {
        let (named, others) = errors.split_at(errors.len().min(NAMED_MAX));
        let mut words: Vec<String> = named.iter().map(ToString::to_string).collect();
        if !others.is_empty() {
            let count: u64 = others.iter().map(|error| error.count).sum();
            words.push(format!("{} one of {} other errors", plural(count, "time", "times"), others.len()));
        }
        words.join(", ")
    }
}

impl fmt::Display for FailedBy {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{} error {}", plural(self.count, "time", "times"), self.code)?;
        if self.text.is_empty() { Ok(()) } else { write!(out, " “{}”", self.text) }
    }
}

/// A text of any server in one line of bounded length, without the quotes that it is put into: whoever shows or parts it
/// need not fear it.
fn one_line(text: &str) -> String {
    let plain: String = text
        .chars()
        .take(4 * TEXT_MAX)
        .map(|letter| if letter.is_control() { ' ' } else { letter })
        .collect();
    let words: Vec<&str> = plain.split_whitespace().collect();
    let line = words.join(" ").replace(['“', '”'], "\"");
    match line.char_indices().nth(TEXT_MAX) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::disturbance::Disturbance;
    use crate::stability::{Second, Stability};
    use crate::statistics::BatchMeans;
    use crate::time::Nanos;

    pub(super) fn all() -> Vec<Caveat> {
        let growing: Vec<Second> =
            (1..=30).map(|second| Second { arrivals: 100, completed: 50, in_flight: 50 * second }).collect();
        vec![
            Caveat::lag(Nanos::from_millis(3), Nanos::from_millis(20), true).unwrap(),
            Caveat::lag_tail(Nanos::from_millis(3), Nanos::from_millis(10)).unwrap(),
            Caveat::session_wait(Nanos::from_millis(270), Nanos::from_millis(659), 256).unwrap(),
            Caveat::held_up(Nanos::from_millis(270), Nanos::from_millis(659), 256, Nanos::from_secs(3))
                .unwrap(),
            Caveat::warm_up_backlog(500, 2_000).unwrap(),
            Caveat::fewer_sessions(145, 700, "max_connections is 151 with 6 in use").unwrap(),
            Caveat::generator(97.0).unwrap(),
            Caveat::stability(&Stability::of(&growing, 0)).unwrap(),
            Caveat::stability(&Stability::of(&growing, 1_000)).unwrap(),
            Caveat::stability(&Stability::of(&growing[..1], 0)).unwrap(),
            Caveat::runs(1).unwrap(),
            Caveat::runs(2).unwrap(),
            Caveat::steal(2.5).unwrap(),
            Caveat::other_load(7.0).unwrap(),
            Caveat::throttled(Some(40.0), Some(0.5), Some(3), Some(55.0)).unwrap(),
            Caveat::backlog(90, 3_000).unwrap(),
            Caveat::unanswered(0, 300, Some(0.4)).unwrap(),
            Caveat::no_arrivals(0, Nanos::from_millis(100)).unwrap(),
            Caveat::lower_bound(3, 0, 3_000).unwrap(),
            Caveat::failures(&failed(1), 3_000).unwrap(),
            Caveat::page_cache("fsync"),
            Caveat::shared_cpus(1).unwrap(),
            Caveat::batches(&BatchMeans::of(&[(1, 1.0), (1, 2.0), (1, 3.0)], 3).unwrap()).unwrap(),
            Caveat::reconnects(1).unwrap(),
            Caveat::first_repeat(&[0.02, 0.01, 0.0101, 0.0099]).unwrap(),
            Caveat::not_available("hardware counters"),
            Caveat::runs_left_out(&["c03-r2".into()], 3).unwrap(),
            Caveat::measured_again(&[disturbance(6.9, 1.0), disturbance(2.5, 1.0)]).unwrap(),
            Caveat::rates_not_measured("", &[300.0, 400.5], "the response did not settle").unwrap(),
            Caveat::first_block_rises(),
            Caveat::not_reset(),
            Caveat::incomplete(1, 4, true, "one").unwrap(),
            Caveat::stopped(Nanos::from_secs(7), Nanos::from_secs(30)).unwrap(),
        ]
    }

    fn failed(count: u64) -> Vec<FailedBy> {
        vec![FailedBy { code: 1146, count, text: "Table 'shop.item' doesn't exist".into() }]
    }

    fn disturbance(steal: f64, other_load: f64) -> Disturbance {
        Disturbance { steal: Some(steal), other_load: Some(other_load) }
    }

    #[test]
    fn every_doubt_that_counted_something_has_its_numbers() {
        let sentences_only = ["page-cache", "not-available", "first-block-rises", "no-reset"];
        for caveat in all() {
            assert_eq!(caveat.evidence.is_empty(), sentences_only.contains(&&*caveat.code), "{caveat:?}");
            for (name, value) in &caveat.evidence {
                let is_word =
                    |letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit() || letter == '_';
                assert!(name.chars().all(is_word) && value.is_finite(), "{name} {value}");
                assert!(!name.ends_with("_ms") && !name.ends_with("_us"), "{name}: times are in seconds");
            }
        }
    }

    #[test]
    fn the_evidence_stands_beside_what_would_have_been_tolerated() {
        let number = |caveat: &Caveat, name: &str| caveat.evidence.get(name).copied();
        let late = Caveat::lag(Nanos::from_micros(210), Nanos::from_millis(2), true).unwrap();
        assert_eq!(number(&late, "lag_mean_s"), Some(0.00021));
        assert_eq!(number(&late, "tolerated_s"), Some(0.0001));
        let stolen = Caveat::steal(2.5).unwrap();
        assert_eq!(number(&stolen, "steal_percent"), Some(2.5));
        assert_eq!(number(&stolen, "tolerated_percent"), Some(STEAL_MAX));
        let failures = Caveat::failures(&failed(30), 3_000).unwrap();
        assert_eq!(number(&failures, "error_1146"), Some(30.0));
        let again = Caveat::measured_again(&[Disturbance { steal: Some(6.9), other_load: None }]).unwrap();
        assert_eq!(number(&again, "worst_steal_percent"), Some(6.9));
        assert_eq!(number(&again, "worst_other_load_percent"), None, "nobody saw it");
    }

    #[test]
    fn what_is_no_number_is_no_evidence() {
        let caveat =
            Caveat::new("code", Severity::Note, "Text.").with("a", f64::NAN).with("b", f64::INFINITY);
        assert!(caveat.with("c", None).evidence.is_empty());
    }

    #[test]
    fn only_a_generator_that_failed_makes_a_measurement_invalid() {
        let invalid: Vec<_> =
            all().into_iter().filter(|one| one.severity == Severity::Invalid).map(|one| one.code).collect();
        assert_eq!(invalid, ["lag-too-large", "generator-saturated"]);
        assert!(Severity::Note < Severity::Doubt && Severity::Doubt < Severity::Invalid);
    }

    #[test]
    fn few_failures_weigh_less_than_many() {
        assert_eq!(Caveat::failures(&failed(1), 3_000).unwrap().severity, Severity::Note);
        assert_eq!(Caveat::failures(&failed(30), 3_000).unwrap().severity, Severity::Doubt);
    }

    #[test]
    fn what_is_within_bounds_is_no_caveat() {
        assert_eq!(Caveat::lag(Nanos::from_micros(50), Nanos::from_micros(300), false), None);
        assert_eq!(Caveat::lag_tail(Nanos::from_micros(250), Nanos::from_micros(300)), None);
        assert_eq!(Caveat::lag_tail(Nanos::from_millis(2), Nanos::from_millis(10)), None);
        assert_eq!(Caveat::lag(Nanos::from_millis(1), Nanos::from_millis(20), false), None);
        assert_eq!(Caveat::lag(Nanos::from_millis(1), Nanos::from_millis(50), true), None);
        assert_eq!(Caveat::session_wait(Nanos::from_millis(1), Nanos::from_millis(20), 9), None);
        assert_eq!(Caveat::session_wait(Nanos::from_micros(50), Nanos::from_micros(60), 9), None);
        assert_eq!(Caveat::fewer_sessions(256, 256, "none"), None);
        assert_eq!(Caveat::generator(80.0), None);
        assert_eq!(Caveat::stability(&Stability::Settled), None);
        assert_eq!(Caveat::runs(3), None);
        assert_eq!(Caveat::steal(0.0), None);
        assert_eq!(Caveat::other_load(f64::NAN), None);
        assert_eq!(Caveat::backlog(10, 20), None);
        assert_eq!(Caveat::backlog(20, 10_000), None);
        assert_eq!(Caveat::lower_bound(0, 0, 100), None);
        assert_eq!(Caveat::failures(&[], 0), None);
        assert_eq!(Caveat::shared_cpus(0), None);
        assert_eq!(Caveat::reconnects(0), None);
        assert_eq!(Caveat::throttled(Some(0.2), Some(0.5), None, None), None);
        assert_eq!(Caveat::throttled(Some(40.0), None, Some(0), Some(80.0)), None, "no quota is known");
        assert_eq!(Caveat::measured_again(&[]), None);
        assert_eq!(Caveat::incomplete(4, 4, true, "one"), None);
        assert_eq!(Caveat::stopped(Nanos::from_secs(30), Nanos::from_secs(30)), None);
    }

    #[test]
    fn a_first_repeat_differs_only_beyond_what_the_later_ones_vary_by() {
        assert_eq!(Caveat::first_repeat(&[]), None);
        assert_eq!(Caveat::first_repeat(&[0.5, 0.1, 0.1]), None);
        assert_eq!(Caveat::first_repeat(&[0.0103, 0.01, 0.01, 0.01]), None);
        assert_eq!(Caveat::first_repeat(&[0.02, 0.01, 0.03, 0.015]), None);
        let differs = Caveat::first_repeat(&[0.02, 0.01, 0.01, 0.01]).unwrap();
        assert_eq!((&*differs.code, differs.severity), ("first-repeat-differs", Severity::Doubt));
        let evidence = ["first_s", "later_s"].map(|name| differs.evidence[name]);
        assert!((evidence[0] - 0.02).abs() < 1e-12 && (evidence[1] - 0.01).abs() < 1e-12, "{evidence:?}");
    }

    #[test]
    fn errors_are_told_by_how_often_they_came_with_number_and_words() {
        let failed = BTreeMap::from([(1064, 1), (1146, 150), (1205, 2), (1213, 2), (2013, 1)]);
        let texts = BTreeMap::from([(1146, "Table 'shop.item'\n doesn't exist".to_owned())]);
        let words = FailedBy::words(&FailedBy::all(&failed, &texts));
        assert_eq!(
            words,
            "150 times error 1146 “Table 'shop.item' doesn't exist”, 2 times error 1205, 2 times error 1213, 2 times \
         one of 2 other errors"
        );
        assert_eq!(FailedBy::words(&[]), "");
    }

    #[test]
    fn no_text_of_a_server_is_longer_than_a_line_or_ends_its_own_quotes() {
        let texts = BTreeMap::from([(1, format!("“a” {}\u{1b}[31m", "ä".repeat(10_000)))]);
        let errors = FailedBy::all(&BTreeMap::from([(1, 1)]), &texts);
        assert_eq!(errors[0].text.chars().count(), TEXT_MAX + 1);
        assert!(errors[0].text.starts_with("\"a\" ä") && errors[0].text.ends_with('…'));
        assert_eq!(errors[0].to_string().matches('“').count(), 1);
    }
}
