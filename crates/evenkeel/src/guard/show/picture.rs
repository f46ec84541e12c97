//! The acts as a picture: the chart, and figures around it.

use super::acts::Show;
use super::{chart, text};
use crate::format;
use crate::view::picture::Frame;

impl Show {
    /// The picture, of at most the frame's size.
    pub fn draw(&self, frame: Frame) -> String {
        let below = self.below();
        let mut lines = self.above(frame, below.len());
        lines.extend(below);
        lines.truncate(frame.height.max(1));
        let cut = |line: String| line.chars().take(frame.width).collect::<String>();
        lines.into_iter().map(cut).collect::<Vec<_>>().join("\n")
    }

    /// Only the chart, to stay in the terminal above the summary; each line with its end.
    pub fn chart(&self, frame: Frame) -> String {
        chart::draw(self, frame.width, rows(frame, SUMMARY)).iter().map(|line| format!("{line}\n")).collect()
    }

    fn above(&self, frame: Frame, below: usize) -> Vec<String> {
        let mut lines = vec![
            format!("A flash sale on {}: second {} of {}", self.server, self.len(), self.planned),
            "each transaction: a read, five updates of 200 hot items in any order, an insert".to_owned(),
            String::new(),
        ];
        lines.extend(chart::draw(self, frame.width, rows(frame, lines.len() + below)));
        lines
    }

    /// Figures and the guard's words below the chart.
    fn below(&self) -> Vec<String> {
        let mut lines = vec![String::new()];
        lines.extend(self.acts.iter().map(text::figures));
        lines.push(String::new());
        let last = self.acts.last().and_then(|act| act.samples.last());
        let response =
            last.and_then(|sample| sample.response_s).map_or("-".into(), |s| format::time(s * 1e3));
        lines.push(match last.and_then(|sample| sample.guard.as_ref()) {
            Some(guard) => format!("{}  response {response}", text::guarded(guard)),
            None => format!("no guard  response {response}"),
        });
        lines.extend(last.and_then(|sample| Some(sample.guard.as_ref()?.decision.clone())));
        lines.push("q or Ctrl-C ends it; no server and no file stays behind".to_owned());
        let top = |metrics| format!("more of it in another terminal: evenkeel guard top {metrics}");
        lines.extend(self.metrics.as_ref().map(top));
        lines
    }
}

/// Rows of the chart beside so many other lines, its axis not counted.
fn rows(frame: Frame, others: usize) -> usize {
    frame.height.saturating_sub(others + 1).clamp(3, 16)
}

/// Lines of the summary, and of the command line before and after it.
const SUMMARY: usize = 13;
