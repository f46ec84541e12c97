//! Where events go: a live line, plain lines, or JSON.

use super::{ProgressEvent, line};
use crate::format::plain;
use evenkeel_site::server::on_lock_wait;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::{self, Write};
use std::sync::Arc;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// A line that changes in place, and a line that stays for each finished run: for a terminal.
    Live,
    /// Only the lines that stay: where stderr is not a terminal.
    Lines,
    Json,
    /// Nothing but warnings.
    Quiet,
}

/// Parts of the bar: its length is fixed, and events tell the share that is done.
const BAR_LENGTH: u64 = 1000;

const TEMPLATE: &str = "{bar:10.cyan/dim} {wide_msg}";

/// Shows events on stderr. Dropping it clears the live line.
pub struct View {
    bar: Option<ProgressBar>,
    out: Box<dyn Write + Send>,
    mode: Mode,
    last_step: String,
}

impl View {
    /// A view on stderr. As long as it is there, it shows also that a statement waits for a lock of others.
    pub fn new(mode: Mode) -> Self {
        let bar = (mode == Mode::Live).then(bar);
        let live = bar.clone();
        on_lock_wait(Some(Arc::new(move |text: &str| {
            let event = ProgressEvent::Warning { text: text.to_owned() };
            match &live {
                Some(bar) => show_live(bar, &event),
                None => write_line(&mut io::stderr(), mode, &event, &mut String::new()),
            }
        })));
        Self { bar, out: Box::new(io::stderr()), mode, last_step: String::new() }
    }

    /// A view that writes text elsewhere; `Live` becomes `Lines`.
    #[cfg(test)]
    pub fn to(mode: Mode, out: Box<dyn Write + Send>) -> Self {
        Self { bar: None, out, mode, last_step: String::new() }
    }

    /// Shows an event. A stderr that cannot be written to does not stop a measurement: the event is lost.
    pub fn show(&mut self, event: &ProgressEvent) {
        match &self.bar {
            Some(bar) => show_live(bar, event),
            None => write_line(&mut self.out, self.mode, event, &mut self.last_step),
        }
    }
}

impl Drop for View {
    fn drop(&mut self) {
        on_lock_wait(None);
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

fn write_line(out: &mut dyn Write, mode: Mode, event: &ProgressEvent, last_step: &mut String) {
    let text = match mode {
        Mode::Json => serde_json::to_string(event).ok(),
        Mode::Quiet => line::lasting(event).filter(|_| matches!(event, ProgressEvent::Warning { .. })),
        Mode::Live | Mode::Lines => plain_line(event, last_step),
    };
    if let Some(text) = text {
        let _ = writeln!(out, "{}", plain(&text));
    }
}

/// What lasts, and each new step or table once.
fn plain_line(event: &ProgressEvent, last_step: &mut String) -> Option<String> {
    let step = match event {
        ProgressEvent::Step { text } => text.clone(),
        ProgressEvent::Populating { table, .. } => format!("populating {table}"),
        ProgressEvent::Converting { step, .. } => step.clone(),
        // Where lines stay, one for each tenth.
        ProgressEvent::Rebuilding { table, share: Some(share), .. } => {
            format!("rebuilding {table}: {} %", (share * 10.0).floor() * 10.0)
        }
        _ => return line::lasting(event),
    };
    if *last_step == step {
        return None;
    }
    last_step.clone_from(&step);
    Some(step)
}

fn bar() -> ProgressBar {
    let bar = ProgressBar::with_draw_target(Some(BAR_LENGTH), ProgressDrawTarget::stderr());
    // The style is constant and tested; without it the bar would show its default form.
    if let Ok(style) = ProgressStyle::with_template(TEMPLATE) {
        bar.set_style(style.progress_chars("━╸─"));
    }
    bar
}

fn show_live(bar: &ProgressBar, event: &ProgressEvent) {
    if let Some(text) = line::lasting(event) {
        bar.println(plain(&text));
    }
    if let Some(share) = line::share(event) {
        bar.set_position((share * BAR_LENGTH as f64) as u64);
    }
    if let Some(text) = line::live(event) {
        bar.set_message(plain(&text));
    }
    if matches!(event, ProgressEvent::Finished { .. }) {
        bar.finish_and_clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use evenkeel_study::profile::RunPlace;
    use std::sync::{Arc, Mutex};

    /// A writer that can be read after it was given away.
    #[derive(Clone, Default)]
    struct Kept(Arc<Mutex<Vec<u8>>>);

    impl Write for Kept {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().write(bytes)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn events() -> Vec<ProgressEvent> {
        let run =
            RunPlace { number: 1, total: 2, series: "x".to_owned(), rate_per_s: 10.0, repeat: 1, attempt: 1 };
        let step = ProgressEvent::Step { text: "starting server a".to_owned() };
        let running = ProgressEvent::Running {
            run: run.clone(),
            phase: "measure".to_owned(),
            tau_ms: Some(1.0),
            theta_percent: None,
            left_s: None,
        };
        let finished = ProgressEvent::RunFinished {
            run,
            tau_ms: Some(1.0),
            p95_ms: Some(2.0),
            lower_bound: false,
            throughput_per_s: 10.0,
            theta_percent: Some(12.0),
            stability: "settled".to_owned(),
            caveats: Vec::new(),
        };
        let warning = ProgressEvent::Warning { text: "the disk is nearly full".to_owned() };
        let end = ProgressEvent::Finished { runs: 1, complete: false, ended: None, written: None };
        vec![step.clone(), step, running.clone(), running, finished, warning, end]
    }

    fn shown(mode: Mode) -> String {
        let kept = Kept::default();
        let mut view = View::to(mode, Box::new(kept.clone()));
        events().iter().for_each(|event| view.show(event));
        let bytes = kept.0.lock().unwrap().clone();
        String::from_utf8(bytes).unwrap()
    }

    #[test]
    fn without_a_terminal_each_finished_run_is_a_line_and_quiet_still_warns() {
        let expected = "starting server a\n\
                        1/2 x 10/s repeat 1  response 1.00 ms  p95 2.00 ms  CPU use 12 %  throughput 10/s\n\
                        warning: the disk is nearly full\n";
        assert_eq!(shown(Mode::Lines), expected);
        assert_eq!(shown(Mode::Quiet), "warning: the disk is nearly full\n");
    }

    #[test]
    fn json_has_an_object_for_every_event() {
        let text = shown(Mode::Json);
        let names: Vec<String> = text
            .lines()
            .map(|line| {
                serde_json::from_str::<serde_json::Value>(line).unwrap()["event"].as_str().unwrap().to_owned()
            })
            .collect();
        assert_eq!(names, ["step", "step", "running", "running", "run-finished", "warning", "finished"]);
    }

    #[test]
    fn the_form_of_the_bar_is_valid_and_events_move_it() {
        assert!(ProgressStyle::with_template(TEMPLATE).is_ok());
        let bar = bar();
        bar.set_draw_target(ProgressDrawTarget::hidden());
        events()[..5].iter().for_each(|event| show_live(&bar, event));
        assert_eq!(bar.position(), BAR_LENGTH / 2);
        assert_eq!(bar.message(), "1/2 x 10/s repeat 1  response 1.00 ms");
    }
}
