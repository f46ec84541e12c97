//! Panics in a history: what they say, and in whose code they were. Only one in the code that runs in production counts as
//! one of a session; one in a model is a defect of the simulation.

use std::cell::RefCell;
use std::panic::{self, AssertUnwindSafe, PanicHookInfo, catch_unwind};
use std::sync::Once;

/// Where the code that runs in production is.
const GUARD: [&str; 3] = ["crates/guard/src/", "crates/os/src/", "crates/wire/src/"];

/// A panic that was caught, with where it happened.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Panic {
    /// The words of the panic.
    pub text: String,
    /// File and line.
    place: String,
}

impl Panic {
    /// Whether it was in code that runs in production.
    pub fn is_of_guard(&self) -> bool {
        GUARD.iter().any(|folder| self.place.contains(folder))
    }

    /// Who panicked, where, and what was said.
    pub fn words(&self) -> String {
        let who = if self.is_of_guard() { "a session" } else { "a model" };
        format!("{who} panicked at {}: {}", self.place, self.text)
    }
}

thread_local! {
    /// The panic of this thread while one is expected; else nobody here wants to know.
    static CAUGHT: RefCell<Option<Panic>> = const { RefCell::new(None) };
}

/// Lets somebody act, and tells his panic. Nothing of it is printed.
pub fn caught<T>(act: impl FnOnce() -> T) -> Result<T, Panic> {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let others = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            if !keep(info) {
                others(info);
            }
        }));
    });
    CAUGHT.set(Some(Panic::default()));
    let ended = catch_unwind(AssertUnwindSafe(act));
    let panic = CAUGHT.take().unwrap_or_default();
    ended.map_err(|_| panic)
}

/// Keeps what is known of a panic that is expected.
fn keep(info: &PanicHookInfo<'_>) -> bool {
    CAUGHT.with_borrow_mut(|caught| {
        let Some(panic) = caught else { return false };
        let payload = info.payload();
        let text = payload.downcast_ref::<String>().map(String::as_str);
        panic.text = text.or_else(|| payload.downcast_ref::<&str>().copied()).unwrap_or_default().to_owned();
        panic.place = info.location().map(|at| format!("{}:{}", at.file(), at.line())).unwrap_or_default();
        true
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_says_what_it_said_and_where() {
        let panic = caught(|| panic!("no such {}", "thing")).unwrap_err();
        assert!(panic.words().starts_with("a model panicked at "), "{}", panic.words());
        assert!(panic.words().contains("panics.rs") && panic.words().ends_with(": no such thing"));
        assert_eq!(caught(|| 7), Ok(7));
    }

    #[test]
    fn only_code_of_production_is_a_sessions() {
        let at = |place: &str| Panic { text: String::new(), place: place.to_owned() }.is_of_guard();
        assert!(at("crates/guard/src/proxy/session/login.rs:7") && at("crates/wire/src/packet.rs:7"));
        assert!(!at("crates/dev/src/sessions/world.rs:7") && !at("crates/core/src/random.rs:7"));
    }
}
