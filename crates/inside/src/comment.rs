//! What a statement says to the gate itself: a lane in a comment, or that the plugin goes.

use evenkeel_core::gate::Lane;

/// The lane of a comment at the beginning or the end of a statement: `/* evenkeel: lane=long */`.
pub fn lane_of_comment(text: &[u8]) -> Option<Lane> {
    const ROOM: usize = 64;
    let text = text.trim_ascii();
    let comment = if text.starts_with(b"/*") {
        &text[..text.len().min(ROOM)]
    } else if text.ends_with(b"*/") {
        &text[text.len().saturating_sub(ROOM)..]
    } else {
        return None;
    };
    let says = |words: &[u8]| comment.windows(words.len()).any(|window| window.eq_ignore_ascii_case(words));
    match () {
        () if says(b"evenkeel: lane=long") => Some(Lane::Long),
        () if says(b"evenkeel: lane=short") => Some(Lane::Short),
        () => None,
    }
}

/// Whether it asks for UNINSTALL, which sends the events of idle sessions to nobody: their places would never come back, and who waits
/// for them would wait for ever.
pub fn uninstalls(text: &[u8]) -> bool {
    let verb = text.trim_ascii_start().get(..9).unwrap_or_default();
    verb.eq_ignore_ascii_case(b"uninstall")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_comment_at_either_end_says_the_lane() {
        for (text, lane) in [
            ("/* evenkeel: lane=long */ SELECT 1", Some(Lane::Long)),
            ("SELECT 1 /* Evenkeel: lane=SHORT */ ", Some(Lane::Short)),
            ("SELECT '/* evenkeel: lane=long */' AS a", None),
            ("/* other */ SELECT 1", None),
            ("/*", None),
            ("", None),
        ] {
            assert_eq!(lane_of_comment(text.as_bytes()), lane, "{text}");
        }
    }
}
