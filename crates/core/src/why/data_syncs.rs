use super::case::Case;
use super::verdict::{Ruling, Seen, Suspect, Verdict};
use super::with_interval;

/// Requests queue for syncs that are under way for more of the time than this, percent.
const QUEUE_MIN: f64 = 50.0;

impl Case<'_> {
    /// Requests wait for flushes where they need a free page, or a page that is being written. No counter has these waits: where slow syncs
    /// made requests take several times as long, `Innodb_buffer_pool_wait_free` of MariaDB 10.11 stayed at 0. Known is only how much
    /// of a sync a request may meet, which was up to five times what it then waited, so that this stands back where another cause is known.
    pub(super) fn data_syncs(&self, is_explained: bool) -> Verdict {
        let longer = self.gap(|seen| seen.data_sync_ms);
        let text = |part: &_| {
            let each = longer.map_or_else(
                || "Data files were seldom synced".to_owned(),
                |each| {
                    let each = with_interval(&each, " ms");
                    format!("A sync of a data file takes {each} longer at {}", self.scale.slow)
                },
            );
            format!("{each}, and a request may wait {} more for a sync under way", with_interval(part, " ms"))
        };
        let missing = "how long syncs of data files take was not measured: set performance_schema=ON, and let the account read it";
        let verdict =
            self.scale.verdict(Suspect::DataSyncs, "data_sync_ms_met", self.gap(met_ms), text, missing);
        let is_busy = self.of_slow(|seen| seen.data_sync_percent).is_some_and(|busy| busy >= QUEUE_MIN);
        match (verdict.ruling, longer) {
            (Ruling::NotTheCause, Some(longer)) if is_busy && self.scale.differs && longer.low > 0.0 => {
                verdict.but(
                    Ruling::Undecided,
                    "Syncs are under way for half of the time or more, so that requests may queue for them.",
                )
            }
            (Ruling::Cause, Some(longer)) if longer.high <= 0.0 => {
                verdict.but(Ruling::NotTheCause, "There are more syncs, and none takes longer.")
            }
            (Ruling::Cause, longer) if longer.is_none_or(|longer| longer.low <= 0.0) => {
                verdict.but(Ruling::Undecided, "Whether a sync takes longer is not known.")
            }
            (Ruling::Cause, _) if is_explained => {
                verdict.but(Ruling::Undecided, "Its effect cannot be separated from the known cause.")
            }
            _ => verdict,
        }
    }
}

/// How much of a sync a request meets that comes at any moment: what one takes, by the share of the time in which one is under way.
fn met_ms(seen: &Seen) -> Option<f64> {
    let percent = seen.data_sync_percent?;
    if percent > 0.0 { Some(seen.data_sync_ms? * percent / 100.0) } else { Some(0.0) }
}
