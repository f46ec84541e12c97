//! Histories of guarded sessions: what runs in production, between model clients and a model server.

use super::flags::Args;
use crate::command::Session;
use crate::failure::Stopped;
use crate::out;
use anyhow::Result;
use evenkeel_guard::proxy::simulation::{Violation, play, tell};
use serde_json::{Value, json};
use std::process::ExitCode;

/// What was played.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Played {
    /// Of the first history.
    seed: u64,
    histories: u64,
    steps: u64,
    /// The first thing that must never happen, and did; nothing was played behind it.
    violation: Option<Violation>,
}

/// Plays so many histories from a seed on, up to the first violation: exit code 1 for one.
///
/// # Errors
/// It was stopped, or nothing can be printed.
pub fn show(session: &Session, args: &Args, count: u64) -> Result<ExitCode> {
    let first = args.seed.unwrap_or(1);
    let mut played = Played { seed: first, ..Played::default() };
    let mut story = Vec::new();
    for seed in (first..).take(usize::try_from(count)?) {
        if session.stop.is_set() {
            return Err(Stopped(format!("after {} of {count} histories", played.histories)).into());
        }
        let (told, ended) = if args.story { tell(seed) } else { (Vec::new(), play(seed)) };
        story.extend(told);
        played.add(ended);
        if played.violation.is_some() {
            break;
        }
    }
    let text = match args.json {
        true => format!("{}\n", as_json(&played, args.story.then_some(story))),
        false => story.into_iter().map(|line| line + "\n").collect::<String>() + &as_text(&played),
    };
    out::write(&text)?;
    Ok(ExitCode::from(u8::from(played.violation.is_some())))
}

impl Played {
    fn add(&mut self, ended: Result<u64, Violation>) {
        self.histories += 1;
        self.steps += ended.as_ref().map_or_else(|violation| violation.step, |steps| *steps);
        self.violation = ended.err();
    }
}

fn as_text(played: &Played) -> String {
    let Played { seed, histories, steps, violation } = played;
    match violation {
        None => {
            format!("{histories} histories from seed {seed}, {steps} steps: nothing that must never happen\n")
        }
        Some(violation) => format!(
            "{histories} histories from seed {seed}, {steps} steps: {violation}\n\
             replay: evenkeel simulate --sessions 1 --seed {} --story\n",
            violation.seed
        ),
    }
}

fn as_json(played: &Played, story: Option<Vec<String>>) -> Value {
    let violation = played.violation.as_ref();
    json!({
        "seed": played.seed, "histories": played.histories, "steps": played.steps,
        "violation": violation.map(|found| json!({"seed": found.seed, "step": found.step, "what": found.what})),
        "story": story,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_violation_says_how_to_see_it_again() {
        let mut played = Played { seed: 5, ..Played::default() };
        played.add(Ok(100));
        played.add(Err(Violation { seed: 6, step: 11, what: "a session panicked".to_owned() }));
        let text = as_text(&played);
        assert!(
            text.starts_with("2 histories from seed 5, 111 steps: seed 6, step 11: a session panicked\n"),
            "{text}"
        );
        assert!(text.contains("evenkeel simulate --sessions 1 --seed 6 --story"), "{text}");
        assert_eq!(as_json(&played, None)["violation"]["step"], 11);
    }

    #[test]
    fn histories_without_a_violation_count_their_steps() {
        let mut played = Played { seed: 5, ..Played::default() };
        played.add(Ok(100));
        played.add(Ok(50));
        assert_eq!((played.histories, played.steps, &played.violation), (2, 150, &None));
        assert!(as_text(&played).contains("2 histories from seed 5, 150 steps"));
    }
}
