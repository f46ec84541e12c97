//! Pieces of pictures on a terminal.

use crate::format::steers;

#[derive(Clone, Copy, Debug)]
pub struct Frame {
    pub width: usize,
    pub height: usize,
}

pub const HISTORY_MAX: usize = 120;

pub fn fit(mut lines: Vec<String>, frame: Frame) -> String {
    lines.truncate(frame.height.max(1));
    let cut = |line: String| line.chars().take(frame.width).collect::<String>();
    lines.into_iter().map(cut).collect::<Vec<_>>().join("\n")
}

/// A name as it may be shown: no commands to the terminal, and not too long.
pub fn name(name: &str, length: usize) -> String {
    name.chars().filter(|letter| !steers(*letter)).take(length).collect()
}

/// Adds a value to the last [`HISTORY_MAX`].
pub fn keep(values: &mut Vec<f64>, value: f64) {
    if values.len() >= HISTORY_MAX {
        values.remove(0);
    }
    values.push(value);
}

/// A time in seconds, in a unit that fits.
pub fn seconds(value: f64) -> String {
    match value {
        value if value >= 1.0 => format!("{value:.1} s"),
        value if value >= 1e-3 => format!("{:.1} ms", value * 1e3),
        value => format!("{:.0} us", value * 1e6),
    }
}

pub fn number(value: f64) -> String {
    match value.abs() {
        size if size >= 1e6 => format!("{:.1} M", value / 1e6),
        size if size >= 1e3 => format!("{:.1} k", value / 1e3),
        size if size >= 0.1 || size == 0.0 => format!("{value:.2}"),
        _ => format!("{value:.6}"),
    }
}

/// Seconds as hours, minutes and seconds.
pub fn up(at_s: f64) -> String {
    let seconds = at_s as u64;
    format!("{}:{:02}:{:02}", seconds / 3_600, seconds / 60 % 60, seconds % 60)
}

/// The last values as bars from zero to their greatest.
pub fn spark(values: &[f64], room: usize) -> String {
    const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let shown = &values[values.len().saturating_sub(room)..];
    let most = shown.iter().copied().fold(0.0, f64::max);
    let bar =
        |value: &f64| if most > 0.0 { BARS[((value / most * 7.0).round() as usize).min(7)] } else { BARS[0] };
    shown.iter().map(bar).collect()
}
