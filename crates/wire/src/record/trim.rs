//! Which blanks pad a value; they are taken away eight bytes at a time.

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trim {
    Both,
    /// Before the value: it is aligned to the right.
    Left,
    /// Behind the value: it is aligned to the left.
    Right,
    None,
}

const BLANKS: [u8; 8] = [b' '; 8];

pub(super) fn trimmed(value: &[u8], trim: Trim) -> &[u8] {
    let value = match trim {
        Trim::Left | Trim::Both => without_first(value),
        Trim::Right | Trim::None => value,
    };
    match trim {
        Trim::Right | Trim::Both => without_last(value),
        Trim::Left | Trim::None => value,
    }
}

fn without_first(mut value: &[u8]) -> &[u8] {
    while let Some((BLANKS, rest)) = value.split_first_chunk::<8>().map(|(head, rest)| (*head, rest)) {
        value = rest;
    }
    let blanks = value.iter().take_while(|byte| **byte == b' ').count();
    &value[blanks..]
}

fn without_last(mut value: &[u8]) -> &[u8] {
    while let Some((rest, BLANKS)) = value.split_last_chunk::<8>().map(|(rest, tail)| (rest, *tail)) {
        value = rest;
    }
    let blanks = value.iter().rev().take_while(|byte| **byte == b' ').count();
    &value[..value.len() - blanks]
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn trimming_by_words_is_trimming_by_bytes(value in "[ x]{0,40}") {
            let bytes = value.as_bytes();
            prop_assert_eq!(trimmed(bytes, Trim::Both), value.trim_matches(' ').as_bytes());
            prop_assert_eq!(trimmed(bytes, Trim::Left), value.trim_start_matches(' ').as_bytes());
            prop_assert_eq!(trimmed(bytes, Trim::Right), value.trim_end_matches(' ').as_bytes());
            prop_assert_eq!(trimmed(bytes, Trim::None), bytes);
        }
    }
}
