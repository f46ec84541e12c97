use super::gap::Gap;

/// A number with three digits, or all of those before its point.
pub(super) fn number(value: f64) -> String {
    let digits = match value.abs() {
        large if large >= 100.0 => 0,
        large if large >= 10.0 => 1,
        large if large >= 1.0 => 2,
        large if large >= 0.1 => 3,
        _ => 4,
    };
    let shown = format!("{value:.digits$}");
    // What is no more than a rounded nothing has no sign.
    if shown.bytes().all(|byte| b"-0.".contains(&byte)) { "0".to_owned() } else { shown }
}

/// A difference with its interval: `5.10 ms (4.95 to 5.25)`.
pub(super) fn with_interval(gap: &Gap, unit: &str) -> String {
    format!("{}{unit} ({} to {})", number(gap.mean), number(gap.low), number(gap.high))
}
