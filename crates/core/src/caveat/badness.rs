use super::Caveat;

#[derive(Clone, Copy)]
enum Worse {
    More,
    Less,
}

/// The number of the evidence by which doubts of a code are compared. Codes that stand together in
/// [`CAUSES`](super::CAUSES) have figures of one unit.
fn figure(code: &str) -> Option<(&'static str, Worse)> {
    use Worse::{Less, More};
    Some(match code {
        "lag-too-large" => ("lag_mean_s", More),
        "generator-saturated" => ("busiest_thread_percent", More),
        "runs-left-out" => ("left_out", More),
        "shared-cpus" => ("cpus", More),
        "lag-tail" => ("lag_p99_s", More),
        "session-wait" | "server-held-up" => ("wait_mean_s", More),
        "fewer-sessions" | "few-connections" => ("sessions", Less),
        "steal" => ("steal_percent", More),
        "other-load" => ("other_load_percent", More),
        "measured-again" => ("set_aside", More),
        "throttled" => ("held_by_quota_percent", More),
        "queue-unstable" => ("growth", More),
        "nothing-answered" => ("arrivals", More),
        "lower-bound" => ("timed_out", More),
        "backlog-at-end" | "warm-up-backlog" => ("requests", More),
        "failures" => ("failed", More),
        "connections-lost" => ("reconnects", More),
        "few-independent-batches" => ("independent_batches", Less),
        "stability-unknown" | "stopped-early" | "no-arrivals" => ("measured_s", Less),
        "too-few-runs" => ("runs", Less),
        "first-repeat-differs" => ("first_s", More),
        "rates-not-measured" => ("rates", More),
        _ => return None,
    })
}

impl Caveat {
    /// How bad it is among those of its code and of those that stand together with it in [`CAUSES`](super::CAUSES): more is
    /// worse. `None` where its evidence does not say.
    pub fn badness(&self) -> Option<f64> {
        let (name, worse) = figure(&self.code)?;
        let figure = *self.evidence.get(name)?;
        Some(match worse {
            Worse::More => figure,
            Worse::Less => -figure,
        })
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cause {
    pub name: &'static str,
    /// Codes of the caveats that it brings about, the most telling first; figures of those that stand together can be
    /// compared.
    pub codes: &'static [&'static [&'static str]],
    pub remedy: &'static str,
}

/// All known causes. A caveat of none of them is a cause of its own, with the remedy of its own text.
pub const CAUSES: [Cause; 15] = [
    Cause {
        name: "The generator was late",
        codes: &[
            &["lag-too-large"],
            &["generator-saturated"],
            &["runs-left-out"],
            &["shared-cpus"],
            &["lag-tail"],
        ],
        remedy: "Give the generator CPUs of its own (--generator-cpus; --at cpus=0 for a private server), or run it on \
                 another machine.",
    },
    Cause {
        name: "Requests waited for a session",
        codes: &[&["session-wait"], &["fewer-sessions"]],
        remedy: "Allow more sessions (--max-sessions, and the server's own limits), or read these rates as \
                 the server's limit.",
    },
    Cause {
        name: "The server stalled all sessions",
        codes: &[&["server-held-up"]],
        remedy: "See what its statements waited for (a lock, the disk, a CPU); more sessions do not help.",
    },
    Cause {
        name: "The connections may be the limit, not the server",
        codes: &[&["few-connections"]],
        remedy: "Allow more by --max-sessions and measure again; these rates do not show the server's limit.",
    },
    Cause {
        name: "Others used the CPUs",
        codes: &[&["steal", "other-load"], &["measured-again"]],
        remedy: "Stop other programs here, or measure on a machine or at a time with quieter neighbours.",
    },
    Cause {
        name: "Requests took more CPU time in some runs than in others",
        codes: &[&["cpu-varies"]],
        remedy: "CPU speed changed between runs (on a virtual machine this need not show as stolen time), or runs met too few \
                 costly requests: measure at a quieter time, or with a longer --duration.",
    },
    Cause {
        name: "The server was throttled",
        codes: &[&["throttled"]],
        remedy: "Raise the quota of its control group (cpu.max, cpu.cfs_quota_us), set the governor to \
                 performance, and check the cooling. Or read the figures as those of a server with these limits.",
    },
    Cause {
        name: "Nothing was answered in time",
        codes: &[&["nothing-answered"]],
        remedy: "Raise --timeout above the time that a request takes, or see what requests wait for at the server.",
    },
    Cause {
        name: "More than the server carries",
        codes: &[&["queue-unstable"], &["lower-bound"], &["backlog-at-end"]],
        remedy: "Read these rates as the server's limit; for response times, measure lower ones (--rate).",
    },
    Cause {
        name: "Requests failed",
        codes: &[&["failures"], &["connections-lost"]],
        remedy: "Fix what the errors name (the server's log may say more), and repeat.",
    },
    Cause {
        name: "Runs are short",
        codes: &[&["few-independent-batches"], &["stability-unknown"], &["stopped-early"], &["no-arrivals"]],
        remedy: "Measure for longer (--duration).",
    },
    Cause {
        name: "Repeats are few",
        codes: &[&["too-few-runs"]],
        remedy: "Repeat each cell more often (--repeats), or give the whole profile more time (--within).",
    },
    Cause {
        name: "Runs did not start from the same state",
        codes: &[&["first-repeat-differs"], &["no-reset"], &["warm-up-backlog"]],
        remedy: "Restart the server before each run (--reset-command; for a private one omit --no-reset), \
                 and lengthen the warm-up (--warm-up).",
    },
    Cause {
        name: "The page cache may hide the disk",
        codes: &[&["page-cache"]],
        remedy: "Set innodb_flush_method to O_DIRECT.",
    },
    Cause {
        name: "The first runs went up through the rates",
        codes: &[&["rates-not-measured"], &["first-block-rises"]],
        remedy: "Measure every rate in random order from the start with --whole-sweep.",
    },
];

/// The cause of a caveat, and how telling its code is there: 0 is the most.
pub fn cause(code: &str) -> Option<(&'static Cause, usize)> {
    CAUSES.iter().find_map(|cause| Some((cause, cause.codes.iter().position(|known| known.contains(&code))?)))
}

#[cfg(test)]
mod tests {
    use super::super::tests::all;
    use super::*;
    use crate::caveat::Caveat;

    #[test]
    fn every_doubt_of_a_known_cause_that_counted_something_can_be_compared_with_others_of_its_kind() {
        for caveat in all() {
            let counted = cause(&caveat.code).is_some() && !caveat.evidence.is_empty();
            assert_eq!(caveat.badness().is_some(), counted, "{caveat:?}");
        }
    }

    #[test]
    fn more_is_worse_but_for_what_there_should_be_more_of() {
        assert!(Caveat::steal(12.5).unwrap().badness() > Caveat::steal(6.9).unwrap().badness());
        assert!(Caveat::other_load(12.5).unwrap().badness() > Caveat::steal(6.9).unwrap().badness());
        assert!(Caveat::runs(1).unwrap().badness() > Caveat::runs(2).unwrap().badness());
        assert!(Caveat::not_reset().badness() < Caveat::runs(2).unwrap().badness());
    }

    #[test]
    fn no_code_has_two_causes_and_each_is_one_that_caveats_have() {
        let codes: Vec<&str> =
            CAUSES.iter().flat_map(|cause| cause.codes).copied().flatten().copied().collect();
        for (at, code) in codes.iter().enumerate() {
            assert!(!codes[..at].contains(code), "{code}");
        }
        let few = [Caveat::steal(3.0), Caveat::runs(2), Some(Caveat::not_reset())];
        for caveat in few.into_iter().flatten() {
            assert!(cause(&caveat.code).is_some(), "{}", caveat.code);
        }
        let fewer = Caveat::fewer_sessions(6, 9, "").unwrap();
        let [(one, first), (other, second)] = ["session-wait", &fewer.code].map(|code| cause(code).unwrap());
        assert!(one == other && first < second, "{one:?} {other:?}");
        assert_eq!(cause("never-heard-of"), None);
    }
}
