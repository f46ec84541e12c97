//! Named columns of a table, each a function from a record to a field.

use evenkeel_core::caveat::Caveat;
use evenkeel_lab::csv::field;
use evenkeel_study::store::format::{CountsRecord, EstimateRecord, TimesRecord};
use std::collections::BTreeSet;

type Part<R, V> = (&'static str, fn(&R) -> V);

type Field<'a, T> = Box<dyn Fn(&T) -> String + 'a>;

/// Columns in their order.
pub struct Columns<'a, T>(Vec<(String, Field<'a, T>)>);

impl<T> Default for Columns<'_, T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<'a, T: 'a> Columns<'a, T> {
    /// A text, quoted where it must be. A spreadsheet does not take it for a formula.
    pub fn text(&mut self, name: &str, of: impl Fn(&T) -> String + 'a) {
        self.0.push((name.to_owned(), Box::new(move |row| field(&of(row)))));
    }

    /// A number; empty where there is none.
    pub fn number(&mut self, name: &str, of: impl Fn(&T) -> Option<f64> + 'a) {
        let finite = move |row: &T| of(row).filter(|value| value.is_finite());
        let text = move |row: &T| finite(row).map_or_else(String::new, |value| value.to_string());
        self.0.push((name.to_owned(), Box::new(text)));
    }

    pub fn estimate(&mut self, name: &str, of: impl Fn(&T) -> Option<&EstimateRecord> + Copy + 'a) {
        let values: [Part<EstimateRecord, Option<f64>>; 4] = [
            ("mean", |estimate| Some(estimate.mean)),
            ("se", |estimate| estimate.se),
            ("low", |estimate| estimate.low),
            ("high", |estimate| estimate.high),
        ];
        for (part, value) in values {
            self.number(&format!("{name}_{part}"), move |row| {
                of(row).filter(|estimate| estimate.n > 0).and_then(value)
            });
        }
    }

    /// Seven columns of a distribution; empty where it has no values.
    pub fn times(&mut self, name: &str, of: fn(&T) -> &TimesRecord) {
        let statistics: [Part<TimesRecord, f64>; 7] = [
            ("mean", |times| times.mean_ms),
            ("p50", |times| times.p50_ms),
            ("p90", |times| times.p90_ms),
            ("p95", |times| times.p95_ms),
            ("p99", |times| times.p99_ms),
            ("p999", |times| times.p999_ms),
            ("max", |times| times.max_ms),
        ];
        for (statistic, value) in statistics {
            self.number(&format!("{name}_{statistic}_ms"), move |row| {
                Some(of(row)).filter(|times| times.count > 0).map(value)
            });
        }
    }

    pub fn counts(&mut self, of: fn(&T) -> &CountsRecord) {
        self.text("arrivals", move |row| of(row).arrivals.to_string());
        self.text("completed", move |row| of(row).completed.to_string());
        self.text("failed", move |row| of(row).failed.values().sum::<u64>().to_string());
        self.text("timed_out", move |row| of(row).timed_out.to_string());
        self.text("unsent", move |row| of(row).unsent.to_string());
    }

    pub fn caveats(&mut self, of: fn(&T) -> &Vec<Caveat>) {
        self.text("caveats", move |row| {
            let codes: BTreeSet<&str> = of(row).iter().map(|caveat| &*caveat.code).collect();
            codes.into_iter().collect::<Vec<_>>().join(" ")
        });
    }

    /// The line of names, some of which are from the run's own file, then a line for each row.
    pub fn table(&self, rows: &[T]) -> String {
        let names: Vec<String> = self.0.iter().map(|(name, _)| field(name)).collect();
        let mut out = format!("{}\n", names.join(","));
        for row in rows {
            let fields: Vec<String> = self.0.iter().map(|(_, of)| of(row)).collect();
            out.push_str(&fields.join(","));
            out.push('\n');
        }
        out
    }
}
