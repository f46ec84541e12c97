//! The last words of a process are kept for error messages.

use std::collections::VecDeque;
use std::io::Read;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

const KEPT_BYTES: usize = 2_000;
/// After the end of a process its last words are awaited this long: another thread reads them.
const PATIENCE: Duration = Duration::from_secs(2);

#[derive(Clone, Debug, Default)]
pub(super) struct Tail(Arc<(Mutex<Kept>, Condvar)>);

#[derive(Debug, Default)]
struct Kept {
    bytes: VecDeque<u8>,
    is_over: bool,
}

impl Tail {
    /// Reads to the end, and keeps the end.
    pub(super) fn read(&self, mut stream: impl Read) {
        let mut buffer = [0; 1024];
        while let Ok(count @ 1..) = stream.read(&mut buffer) {
            let mut kept = self.0.0.lock().unwrap_or_else(PoisonError::into_inner);
            kept.bytes.extend(&buffer[..count]);
            let surplus = kept.bytes.len().saturating_sub(KEPT_BYTES);
            kept.bytes.drain(..surplus);
        }
        self.0.0.lock().unwrap_or_else(PoisonError::into_inner).is_over = true;
        self.0.1.notify_all();
    }

    /// What was said so far, in one line.
    pub(super) fn now(&self) -> String {
        words(&self.0.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// The same of a process that has ended: all of it.
    pub(super) fn settled(&self) -> String {
        let kept = self.0.0.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self.0.1.wait_timeout_while(kept, PATIENCE, |kept| !kept.is_over);
        words(&waited.unwrap_or_else(PoisonError::into_inner).0)
    }
}

/// Without control characters, which would play with the reader's terminal.
fn words(kept: &Kept) -> String {
    let bytes: Vec<u8> = kept.bytes.iter().copied().collect();
    let text = String::from_utf8_lossy(&bytes);
    let lines = text.lines().map(|line| line.replace(char::is_control, " ").trim().to_owned());
    let said: Vec<String> = lines.filter(|line| !line.is_empty()).collect();
    if said.is_empty() { "it printed nothing on standard error".to_owned() } else { said.join("; ") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_words_are_kept_and_are_harmless() {
        let tail = Tail::default();
        assert!(tail.now().contains("nothing"));
        tail.read(&b"Warning\x1b[2J\n\nPermission denied\n"[..]);
        assert_eq!(tail.settled(), "Warning [2J; Permission denied");
        tail.read(std::io::repeat(b'x').take(1 << 20));
        assert!(tail.now().len() <= KEPT_BYTES && tail.now().ends_with('x'));
    }
}
