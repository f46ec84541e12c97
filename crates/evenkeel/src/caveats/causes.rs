//! What causes doubts, and what to do about each cause.

/// A cause behind one or more kinds of caveats.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cause {
    /// What is wrong, in a few words.
    pub name: &'static str,
    /// Codes of the caveats that it brings about, the most telling first; figures of those that stand together can be
    /// compared.
    pub codes: &'static [&'static [&'static str]],
    /// What to do.
    pub remedy: &'static str,
}

/// All known causes. A caveat of none of them is a cause of its own, with the remedy of its own text.
pub const CAUSES: [Cause; 11] = [
    Cause {
        name: "The generator was late",
        codes: &[
            &["lag-too-large"],
            &["generator-saturated"],
            &["runs-left-out"],
            &["shared-cpus"],
            &["lag-tail"],
        ],
        remedy: "Give the generator CPUs of its own (--generator-cpus; --cpus for a private server), or run it on \
                 another machine.",
    },
    Cause {
        name: "Requests waited for a session",
        codes: &[&["session-wait"], &["fewer-sessions"]],
        remedy: "Allow more sessions (--max-sessions, and what limits them at the server), or take these rates for where \
                 the server ends.",
    },
    Cause {
        name: "Others used the CPUs",
        codes: &[&["steal", "other-load"], &["measured-again"]],
        remedy: "Stop what else runs here, or measure on a machine or at a time with quieter neighbours.",
    },
    Cause {
        name: "The server was throttled",
        codes: &[&["throttled"]],
        remedy: "Lift the quota of its control group (cpu.max, cpu.cfs_quota_us), set the governor to performance, and mend \
                 the cooling; or take the figures for those of a server with these limits.",
    },
    Cause {
        name: "More than the server carries",
        codes: &[&["queue-unstable"], &["lower-bound"], &["backlog-at-end"]],
        remedy: "Take these rates for where the server ends; for how it answers, measure lower ones (--rate).",
    },
    Cause {
        name: "Requests failed",
        codes: &[&["failures"], &["connections-lost"]],
        remedy: "Mend what the errors name (the server's log may say more), and repeat.",
    },
    Cause {
        name: "Runs are short",
        codes: &[&["few-independent-batches"], &["stability-unknown"], &["stopped-early"]],
        remedy: "Measure for longer (--duration).",
    },
    Cause {
        name: "Repeats are few",
        codes: &[&["too-few-runs"]],
        remedy: "Repeat each cell more often (--repeats).",
    },
    Cause {
        name: "Runs did not start alike",
        codes: &[&["first-repeat-differs"], &["no-reset"]],
        remedy: "Have the server restarted before each run (--reset-command), and lengthen the warm-up (--warm-up).",
    },
    Cause {
        name: "The page cache may hide the disk",
        codes: &[&["page-cache"]],
        remedy: "Set innodb_flush_method to O_DIRECT.",
    },
    Cause {
        name: "The sweep found its own way",
        codes: &[&["rates-not-measured"], &["first-block-rises"]],
        remedy: "Have every rate measured, in random order from the start, by --whole-sweep.",
    },
];

/// The cause of a caveat, and how telling its code is there: 0 is the most.
pub fn cause(code: &str) -> Option<(&'static Cause, usize)> {
    CAUSES.iter().find_map(|cause| Some((cause, cause.codes.iter().position(|known| known.contains(&code))?)))
}

/// Codes whose figure is the worse the smaller it is.
const LESS_IS_WORSE: [&str; 2] = ["too-few-runs", "stability-unknown"];

/// How bad a caveat is among those of its code: its first number, which texts of one code have at one place.
pub fn badness(code: &str, text: &str) -> f64 {
    let number = first_number(text).unwrap_or(0.0);
    if LESS_IS_WORSE.contains(&code) { -number } else { number }
}

fn first_number(text: &str) -> Option<f64> {
    let start = text.find(|character: char| character.is_ascii_digit())?;
    let rest = &text[start..];
    let end = rest.find(|character: char| !character.is_ascii_digit() && character != '.');
    rest[..end.unwrap_or(rest.len())].trim_end_matches('.').parse().ok()
}

/// What was seen, without what it means: the first sentence up to its semicolon.
pub fn evidence(text: &str) -> &str {
    let first = sentences(text).into_iter().next().unwrap_or_default();
    parted(first, "; ")[0].trim_end_matches("; ").trim_end_matches('.')
}

/// What to do: the last sentence of several.
pub fn own_remedy(text: &str) -> &str {
    sentences(text).into_iter().skip(1).next_back().unwrap_or_default()
}

/// Sentences without how many runs of a cell share them. A point within a number or a name ends none.
fn sentences(text: &str) -> Vec<&str> {
    let shared = text.rfind(" (in ").filter(|_| text.ends_with(" runs)"));
    parted(&text[..shared.unwrap_or(text.len())], ". ").into_iter().map(str::trim).collect()
}

/// The parts of a text, each with the mark at its end; at least one. A mark between “ and ” is a server's, and parts nothing.
fn parted<'a>(text: &'a str, mark: &str) -> Vec<&'a str> {
    let (mut parts, mut start, mut quoted) = (Vec::new(), 0, false);
    for (at, letter) in text.char_indices() {
        quoted = match letter {
            '“' => true,
            '”' => false,
            _ => quoted,
        };
        if !quoted && at >= start && text[at..].starts_with(mark) {
            parts.push(&text[start..at + mark.len()]);
            start = at + mark.len();
        }
    }
    if start < text.len() || parts.is_empty() {
        parts.push(&text[start..]);
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;
    use evenkeel_core::caveat::Caveat;

    #[test]
    fn a_text_is_parted_into_what_was_seen_and_what_to_do() {
        let text = "The hypervisor took 6.9 % of the CPU time away; the figures depend on the neighbours. Measure \
                    elsewhere. (in 2 of 3 runs)";
        assert_eq!(evidence(text), "The hypervisor took 6.9 % of the CPU time away");
        assert_eq!(own_remedy(text), "Measure elsewhere.");
        assert_eq!((evidence("One."), own_remedy("One.")), ("One", ""));
        assert_eq!((evidence(""), own_remedy("")), ("", ""));
    }

    #[test]
    fn the_words_of_a_server_are_not_parted() {
        let text = "2 failed, by error 1064 “Wrong; see a. b. c (in 2 of 3 runs)”; errors are fast. Mend it. (in 1 of 2 runs)";
        assert_eq!(evidence(text), "2 failed, by error 1064 “Wrong; see a. b. c (in 2 of 3 runs)”");
        assert_eq!(own_remedy(text), "Mend it.");
    }

    #[test]
    fn more_is_worse_but_for_what_there_should_be_more_of() {
        assert!(badness("steal", "took 12.5 % away") > badness("steal", "took 6.9. Then"));
        assert!(badness("too-few-runs", "With 2 runs") > badness("too-few-runs", "With 4 runs"));
        assert_eq!(badness("steal", "nothing"), 0.0);
    }

    #[test]
    fn no_code_has_two_causes_and_each_is_one_that_caveats_have() {
        let codes: Vec<&str> =
            CAUSES.iter().flat_map(|cause| cause.codes).copied().flatten().copied().collect();
        for (at, code) in codes.iter().enumerate() {
            assert!(!codes[..at].contains(code), "{code}");
        }
        for caveat in [Caveat::Steal { percent: 3.0 }, Caveat::TooFewRuns { runs: 2 }, Caveat::NotReset] {
            assert!(cause(caveat.code()).is_some(), "{}", caveat.code());
        }
        let fewer = Caveat::FewerSessions { sessions: 6, asked: 9, limit: String::new() };
        let [(one, first), (other, second)] = ["session-wait", fewer.code()].map(|code| cause(code).unwrap());
        assert!(one == other && first < second, "{one:?} {other:?}");
        assert_eq!(cause("never-heard-of"), None);
    }
}
