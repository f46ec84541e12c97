//! Tests get what kernels have written from here, whole and damaged: no parser may panic on any of it.

use evenkeel_core::random::{Random, Seed};

/// What is captured under this name.
pub(crate) fn captured(name: &str) -> &'static str {
    let mut all = include_str!("captured.txt").split("\n=== ");
    all.find_map(|part| part.strip_prefix(name)?.strip_prefix('\n')).expect("it is captured")
}

/// Hands `check` a thousand damaged copies of a captured text: cut off, with bytes replaced, lines
/// doubled, and numbers too large for any type. The seed is fixed, so a failure repeats.
pub(crate) fn damaged<T>(text: &str, check: impl Fn(&str) -> T) {
    check("");
    check(text);
    let mut random = Random::new(Seed(0x5e45e));
    for _ in 0..1000 {
        let mut bytes = text.as_bytes().to_vec();
        for _ in 0..random.uniform(1, 6) {
            damage(&mut bytes, &mut random);
        }
        check(&String::from_utf8_lossy(&bytes));
    }
}

fn damage(bytes: &mut Vec<u8>, random: &mut Random) {
    let at = random.uniform(0, bytes.len() as u64) as usize;
    match random.uniform(0, 4) {
        0 => bytes.truncate(at),
        1 => bytes.insert(at, random.bits() as u8),
        2 => drop(bytes.splice(at..at, b"99999999999999999999999 ".iter().copied())),
        3 => drop(bytes.splice(at..at, b"18446744073709551615".iter().copied())),
        _ => {
            const MARKS: &[u8] = b" \n\t:()-,=.\0\xff\\/";
            let mark = MARKS[random.uniform(0, MARKS.len() as u64 - 1) as usize];
            bytes.splice(at.min(bytes.len())..at, [mark; 2]);
        }
    }
}
