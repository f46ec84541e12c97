//! Metrics of what runs: one table gives the page for Prometheus (text format 0.0.4) and the status in JSON.

use evenkeel_core::Nanos;
use evenkeel_core::histogram::Histogram;
use serde_json::Value;
use std::fmt::Write;

/// A figure of a `T`.
pub struct Metric<T> {
    pub kind: &'static str,
    /// As Prometheus has it: with its unit at the end, and `_total` where it only grows.
    pub name: &'static str,
    /// In JSON; empty where it follows from the name.
    pub key: &'static str,
    pub help: &'static str,
    /// A number, a flag, or null: not available. Several numbers are `{label: {value of the label: number}}`.
    pub value: fn(&T) -> Value,
}

/// A table of metrics: kind, name, key where the name does not give it, help, value. The kind `json` is for the JSON only.
macro_rules! metrics {
    ($table:ident: |$of:ident: $type:ty|
     $($kind:ident $name:literal $(as $key:literal)? $($help:literal)? => $value:expr;)*) => {
        const $table: &[$crate::view::metric::Metric<$type>] = &[$($crate::view::metric::Metric {
            kind: stringify!($kind),
            name: $name,
            key: concat!($($key)?),
            help: concat!($($help)?),
            value: |$of: &$type| serde_json::Value::from($value),
        }),*];
    };
}
pub(crate) use metrics;

/// The JSON of a `T`. `start` is how the names of its metrics begin, and their keys do not.
pub fn object<T>(metrics: &[Metric<T>], start: &str, of: &T) -> Value {
    let key = |metric: &Metric<T>| match metric.key {
        "" => {
            let name = metric.name.strip_prefix(start).unwrap_or(metric.name);
            let name = name.strip_suffix("_total").unwrap_or(name);
            name.replace("_seconds", "_s").replace("_per_second", "_per_s")
        }
        key => key.to_owned(),
    };
    metrics.iter().map(|metric| (key(metric), (metric.value)(of))).collect()
}

/// The page for Prometheus.
pub struct Text {
    text: String,
    prefix: &'static str,
}

impl Text {
    /// Names begin with `prefix`.
    pub fn new(prefix: &'static str) -> Self {
        Self { text: String::new(), prefix }
    }

    pub fn add<T>(&mut self, metrics: &[Metric<T>], of: &T) {
        self.each(metrics, std::slice::from_ref(of), |_| String::new());
    }

    /// Metrics of each of these, told apart by a label. One that none of them has is left out.
    pub fn each<T>(&mut self, metrics: &[Metric<T>], each: &[T], label: impl Fn(&T) -> String) {
        for Metric { kind, name, help, value, .. } in metrics.iter().filter(|metric| metric.kind != "json") {
            let numbers: Vec<_> = each.iter().flat_map(|one| numbers(&value(one), label(one))).collect();
            if !numbers.is_empty() {
                self.head(name, kind, help);
            }
            numbers.iter().for_each(|(label, number)| self.value(name, label, *number));
        }
    }

    /// The histograms of one metric, each with its label.
    pub fn histograms(&mut self, name: &str, help: &str, bounds: &[Nanos], each: &[(String, &Histogram)]) {
        self.head(name, "histogram", help);
        let bucket = format!("{name}_bucket");
        for (label, histogram) in each {
            let comma = if label.is_empty() { "" } else { "," };
            for bound in bounds {
                let label = format!("{label}{comma}le=\"{}\"", bound.as_secs_f64());
                self.value(&bucket, &label, histogram.at_most(*bound) as f64);
            }
            self.value(&bucket, &format!("{label}{comma}le=\"+Inf\""), histogram.count() as f64);
            self.value(&format!("{name}_sum"), label, histogram.sum());
            self.value(&format!("{name}_count"), label, histogram.count() as f64);
        }
    }

    pub fn done(self) -> String {
        self.text
    }

    fn head(&mut self, name: &str, kind: &str, help: &str) {
        let prefix = self.prefix;
        // A String takes everything.
        let _ = writeln!(self.text, "# HELP {prefix}{name} {help}\n# TYPE {prefix}{name} {kind}");
    }

    fn value(&mut self, name: &str, label: &str, number: f64) {
        let prefix = self.prefix;
        let _ = match label {
            "" => writeln!(self.text, "{prefix}{name} {number}"),
            _ => writeln!(self.text, "{prefix}{name}{{{label}}} {number}"),
        };
    }
}

/// The numbers of a value with their labels; `own` is that of a value without labels.
fn numbers(value: &Value, own: String) -> Vec<(String, f64)> {
    let Value::Object(labels) = value else {
        let number = value.as_bool().map(f64::from).or_else(|| value.as_f64());
        return number.map(|number| (own, number)).into_iter().collect();
    };
    let mut found = Vec::new();
    for (name, numbers) in labels {
        let numbers = numbers.as_object().into_iter().flatten();
        found.extend(numbers.filter_map(|(of, number)| Some((label(name, of), number.as_f64()?))));
    }
    found
}

pub fn label(name: &str, of: &str) -> String {
    format!("{name}=\"{}\"", of.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n"))
}

#[cfg(test)]
pub mod tests {
    /// Every metric is described before its first value, and once; every value is a number.
    pub fn check(text: &str) {
        let mut described: Vec<&str> = Vec::new();
        for line in text.lines() {
            if let Some(rest) = line.strip_prefix("# TYPE ") {
                let name = rest.split(' ').next().expect("a name");
                assert!(!described.contains(&name), "{line}");
                described.push(name);
            } else if !line.starts_with('#') {
                let name = line.split(['{', ' ']).next().expect("a name");
                let known = |end: &str| name.strip_suffix(end).is_some_and(|name| described.contains(&name));
                assert!(["", "_bucket", "_sum", "_count"].into_iter().any(known), "{line}");
                assert!(line.rsplit(' ').next().expect("a value").parse::<f64>().is_ok(), "{line}");
            }
        }
    }
}
