//! Who may come in: as many clients as there is room for, and a few administrators beyond.

use super::refusal::Refusal;
use super::stats::Stats;
use evenkeel_os::Socket;

/// Descriptors that are kept for what is not a client: 64 scrapers of metrics, files, the monitor's connection.
const RESERVED: usize = 96;
/// Clients beyond the bound that may try to log in, if they are administrators.
const SPARE: usize = 8;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Room {
    Free,
    /// A place that only an administrator may take.
    Spare,
    None,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    TooMany,
    NoDescriptors,
}

/// As many clients as open files allow, each with two, where the operator has not said less.
pub fn bound(asked: Option<usize>, open_files: u64) -> usize {
    let open_files = usize::try_from(open_files).unwrap_or(usize::MAX);
    // Where there are hardly any, a quarter has to do.
    let reserved = RESERVED.min(open_files / 4);
    let possible = (open_files.saturating_sub(reserved) / 2).saturating_sub(SPARE).max(1);
    asked.map_or(possible, |asked| asked.clamp(1, possible))
}

/// Whether there is room for the last one of so many.
pub fn room(clients: u64, bound: usize, administrators: bool) -> Room {
    let clients = usize::try_from(clients).unwrap_or(usize::MAX);
    match () {
        () if clients <= bound => Room::Free,
        () if administrators && clients <= bound + SPARE => Room::Spare,
        () => Room::None,
    }
}

/// Sends a client the reason why it cannot come in, in the words of a server that is full.
pub fn turn_away(client: &Socket, why: Refused, stats: &Stats) {
    let refusal = match why {
        Refused::TooMany => Refusal::TooManyClients,
        Refused::NoDescriptors => Refusal::NoDescriptors,
    };
    let mut out = Vec::new();
    refusal.put(&mut out, 0, false);
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
        assert_eq!(bound(None, 1_024), 456);
        assert_eq!((bound(Some(100), 1_024), bound(Some(1_000), 1_024)), (100, 456));
        assert_eq!((bound(None, 10), bound(None, 128), bound(Some(0), 1_024)), (1, 40, 1));
        assert_eq!(2 * (bound(None, 1_024) + SPARE) + RESERVED, 1_024);
    }

    #[test]
    fn beyond_the_bound_there_is_a_little_room_for_administrators_alone() {
        assert_eq!([4, 5].map(|clients| room(clients, 4, false)), [Room::Free, Room::None]);
        assert_eq!([12, 13].map(|clients| room(clients, 4, true)), [Room::Spare, Room::None]);
    }
}
