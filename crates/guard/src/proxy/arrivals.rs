//! Who may come in: as many clients as there is room for.

use super::refusal::Refusal;
use super::stats::Stats;
use evenkeel_os::Socket;

/// Descriptors that are kept for what is not a client: 64 scrapers of metrics, files, the monitor's connection.
const RESERVED: usize = 96;

/// As many clients as open files allow, each with two, where the operator has not said less.
pub fn bound(asked: Option<usize>, open_files: u64) -> usize {
    let open_files = usize::try_from(open_files).unwrap_or(usize::MAX);
    // Where there are hardly any, a quarter has to do.
    let reserved = RESERVED.min(open_files / 4);
    let possible = (open_files.saturating_sub(reserved) / 2).max(1);
    asked.map_or(possible, |asked| asked.clamp(1, possible))
}

/// Sends a client the reason why it cannot come in, in the words of a server that is full.
pub fn turn_away(client: &Socket, why: &Refusal, stats: &Stats) {
    let mut out = Vec::new();
    why.put(&mut out, 0, false);
    // A new connection has room for a few words; who has left already needs none.
    let _ = client.send(&out);
    client.end();
    stats.clients_refused.add();
    stats.closed.add();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_client_has_two_descriptors_and_others_keep_theirs() {
        assert_eq!(bound(None, 1_024), 464);
        assert_eq!((bound(Some(100), 1_024), bound(Some(1_000), 1_024)), (100, 464));
        assert_eq!((bound(None, 2), bound(None, 128), bound(Some(0), 1_024)), (1, 48, 1));
        assert_eq!(2 * bound(None, 1_024) + RESERVED, 1_024);
    }
}
