//! Commits per second over time, as columns of eighths of a block.

use super::acts::Show;
use crate::format;

/// From nothing to a whole block.
const EIGHTHS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
/// Columns of a label: `12,500/s`.
const LABEL: usize = 9;
/// A sample is drawn at most so wide.
const WIDEST: usize = 4;

/// `rows` lines of columns, and the axis with the marks of the acts.
pub fn draw(show: &Show, width: usize, rows: usize) -> Vec<String> {
    let room = width.saturating_sub(LABEL + 2).max(1);
    let scale = Scale::new(show.planned.max(show.len()), room);
    let columns = columns(show, &scale);
    let top = round_up(columns.iter().copied().fold(1.0, f64::max));
    let mut lines: Vec<String> = (0..rows).rev().map(|row| line(row, rows, top, &columns)).collect();
    lines.push(axis(show, &scale, room));
    lines
}

/// How samples and columns belong together: several samples in one column, or several columns for one.
struct Scale {
    samples: usize,
    columns: usize,
}

impl Scale {
    fn new(samples: usize, room: usize) -> Self {
        let samples = samples.max(1);
        Self { samples, columns: room.min(samples * (room / samples).clamp(1, WIDEST)) }
    }

    fn column(&self, sample: usize) -> usize {
        sample * self.columns / self.samples
    }

    fn samples_of(&self, column: usize) -> std::ops::Range<usize> {
        let from = column * self.samples / self.columns;
        from..((column + 1) * self.samples / self.columns).max(from + 1)
    }
}

fn columns(show: &Show, scale: &Scale) -> Vec<f64> {
    let samples: Vec<_> = show.acts.iter().flat_map(|act| &act.samples).collect();
    let rate = |column| {
        let all = samples.get(scale.samples_of(column)).unwrap_or_default();
        let seconds: f64 = all.iter().map(|sample| sample.seconds).sum();
        let commits: u64 = all.iter().map(|sample| sample.commits).sum();
        if seconds > 0.0 { commits as f64 / seconds } else { 0.0 }
    };
    (0..scale.column(samples.len())).map(rate).collect()
}

fn line(row: usize, rows: usize, top: f64, columns: &[f64]) -> String {
    let label = match row + 1 {
        highest if highest == rows => format!("{}/s", format::fixed(top, 0)),
        half if 2 * half == rows => format!("{}/s", format::fixed(top / 2.0, 0)),
        _ => String::new(),
    };
    let eighth = |rate: &f64| {
        let height = (rate / top * (8 * rows) as f64).round() as usize;
        // What is there at all is seen.
        let height = height.max(usize::from(*rate > 0.0));
        EIGHTHS[height.saturating_sub(8 * row).min(8)]
    };
    let drawn: String = columns.iter().map(eighth).collect();
    format!("{label:>LABEL$} │{}", drawn.trim_end())
}

/// Each act's mark stands where it begins.
fn axis(show: &Show, scale: &Scale, room: usize) -> String {
    let mut axis = vec!['─'; room];
    let mut sample = 0;
    for act in &show.acts {
        let mark = format!("┬ {} ", act.mark);
        for (place, letter) in mark.chars().enumerate() {
            if let Some(slot) = axis.get_mut(scale.column(sample) + place) {
                *slot = letter;
            }
        }
        sample += act.samples.len();
    }
    format!("{:>LABEL$} └{}", "0/s", axis.into_iter().collect::<String>())
}

/// To half of a power of ten, so that the labels are round and the chart does not jump with each sample.
fn round_up(most: f64) -> f64 {
    let step = 10_f64.powf(most.log10().floor()) / 2.0;
    (most / step).ceil() * step
}
