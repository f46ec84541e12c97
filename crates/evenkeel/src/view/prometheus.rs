//! Metrics as Prometheus reads them (text format 0.0.4).

use evenkeel_core::Nanos;
use evenkeel_core::histogram::Histogram;
use std::fmt::Write;

/// A metric of each of some things: name, kind, help, value.
pub type Column<T> = (&'static str, &'static str, &'static str, fn(&T) -> f64);

pub struct Text {
    text: String,
    prefix: &'static str,
}

impl Text {
    /// Names begin with `prefix`.
    pub fn new(prefix: &'static str) -> Self {
        Self { text: String::new(), prefix }
    }

    /// Describes a metric before its first value.
    pub fn head(&mut self, name: &str, kind: &str, help: &str) {
        let prefix = self.prefix;
        // A String takes everything.
        let _ = writeln!(self.text, "# HELP {prefix}{name} {help}\n# TYPE {prefix}{name} {kind}");
    }

    /// A value; `labels` as `name="value",...`, escaped.
    pub fn value(&mut self, name: &str, labels: &str, value: f64) {
        let prefix = self.prefix;
        let _ = match labels {
            "" => writeln!(self.text, "{prefix}{name} {value}"),
            _ => writeln!(self.text, "{prefix}{name}{{{labels}}} {value}"),
        };
    }

    pub fn gauge(&mut self, name: &str, help: &str, value: f64) {
        self.head(name, "gauge", help);
        self.value(name, "", value);
    }

    /// What only grows.
    pub fn counter(&mut self, name: &str, help: &str, value: f64) {
        self.head(name, "counter", help);
        self.value(name, "", value);
    }

    /// Metrics of each of these, told apart by a label.
    pub fn table<T>(&mut self, each: &[T], label: impl Fn(&T) -> String, columns: &[Column<T>]) {
        for (name, kind, help, value) in columns {
            self.head(name, kind, help);
            for one in each {
                self.value(name, &label(one), value(one));
            }
        }
    }

    /// The buckets, sum and count of a histogram that was described.
    pub fn histogram(&mut self, name: &str, labels: &str, histogram: &Histogram, bounds: &[Nanos]) {
        let comma = if labels.is_empty() { "" } else { "," };
        let bucket = format!("{name}_bucket");
        for bound in bounds {
            let labels = format!("{labels}{comma}le=\"{}\"", bound.as_secs_f64());
            self.value(&bucket, &labels, histogram.at_most(*bound) as f64);
        }
        self.value(&bucket, &format!("{labels}{comma}le=\"+Inf\""), histogram.count() as f64);
        self.value(&format!("{name}_sum"), labels, histogram.sum());
        self.value(&format!("{name}_count"), labels, histogram.count() as f64);
    }

    pub fn done(self) -> String {
        self.text
    }
}

pub fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
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
