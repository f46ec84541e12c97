//! Flags and keys under the names that they had before: they are still taken, and one line on standard error says what
//! each of them is called now.

use std::collections::BTreeSet;
use std::io::{self, Write};
use std::sync::{Mutex, PoisonError};

/// The name that a key had before, and the one that it has now.
pub type Renamed = (&'static str, &'static str);

/// Old names that were used so far. Each is mentioned once, however often a process reads its configuration again.
static MENTIONED: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());

/// Says on standard error what an old name is called now. Nothing depends on whether anybody reads it.
pub fn mention(old: &str, new: &str) {
    let is_first = MENTIONED.lock().unwrap_or_else(PoisonError::into_inner).insert(old.to_owned());
    if is_first {
        let _ = writeln!(io::stderr(), "{}", line(old, new));
    }
}

/// The value of a flag, which may have been given under its old name.
pub fn either<T: Clone>(new: (&'static str, &Option<T>), old: (&'static str, &Option<T>)) -> Option<T> {
    if old.1.is_some() {
        mention(old.0, new.0);
    }
    new.1.clone().or_else(|| old.1.clone())
}

fn line(old: &str, new: &str) -> String {
    format!("note: {old} is called {new} now; the old name is still taken")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_old_name_gives_its_value_and_the_new_one_is_named() {
        assert_eq!(either(("--new", &None), ("--old", &Some(4))), Some(4));
        assert_eq!(either(("--new", &Some(5)), ("--old", &None)), Some(5));
        assert_eq!(line("--old", "--new"), "note: --old is called --new now; the old name is still taken");
    }
}
