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
        "session-wait" => ("wait_mean_s", More),
        "fewer-sessions" | "few-connections" => ("sessions", Less),
        "steal" => ("steal_percent", More),
        "other-load" => ("other_load_percent", More),
        "measured-again" => ("set_aside", More),
        "throttled" => ("held_by_quota_percent", More),
        "queue-unstable" => ("growth", More),
        "nothing-answered" => ("arrivals", More),
        "lower-bound" => ("timed_out", More),
        "backlog-at-end" => ("requests", More),
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

#[cfg(test)]
mod tests {
    use super::super::tests::all;
    use super::*;
    use crate::caveat::cause;

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
}
