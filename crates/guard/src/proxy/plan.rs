//! What a guard has to know before it starts.

use evenkeel_core::Nanos;
use evenkeel_core::admission::Options;
use evenkeel_core::number_map::NumberMap;
use evenkeel_os::address::Address;
use evenkeel_os::tls::{BackendTls, ClientTls};

/// By what clients share the gate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TenantBy {
    /// The user who logs in.
    #[default]
    User,
    /// The default database at login.
    Database,
}

#[derive(Clone, Debug)]
pub struct Plan {
    pub listen: Vec<Address>,
    pub backend: Address,
    /// Threads that carry sessions, 1 to 64.
    pub threads: usize,
    /// Most transactions that run at a time, at the start.
    pub limit: usize,
    /// Bounds of the queue and of loans.
    pub options: Options,
    pub tenants: TenantBy,
    /// Users whose commands never wait.
    pub administrators: Vec<String>,
    /// Time after which an idle transaction lends its permit.
    pub lend_after: Nanos,
    /// Time after which a session that has had permits without a stand in the queue lends the present one. As long as the
    /// longest patience with one statement, which is the same harm.
    pub tenure_max: Nanos,
    /// Time for a client from its arrival to the end of its login.
    pub login_max: Nanos,
    /// Most clients at a time; as many as open files allow where it is not given.
    pub clients_max: Option<usize>,
    /// Time after which a server whose host does not answer any more is given up.
    pub silence_max: Nanos,
    /// Whether the server learns who the client is, by the PROXY protocol.
    pub proxy_protocol: bool,
    /// Refuses accounts that are bound to hosts: through a guard all clients come from its own.
    pub refuse_host_accounts: bool,
    pub client_tls: ClientTls,
    pub backend_tls: BackendTls,
}

impl Plan {
    /// One without TLS of its own, without bounds, and practically without a limit.
    pub fn new(listen: Address, backend: Address) -> Self {
        Self {
            listen: vec![listen],
            backend,
            threads: 1,
            limit: usize::MAX,
            options: Options::default(),
            tenants: TenantBy::default(),
            administrators: Vec::new(),
            lend_after: Nanos::from_millis(100),
            tenure_max: PATIENCE_MAX,
            login_max: Nanos::from_secs(10),
            clients_max: None,
            silence_max: Nanos::from_secs(15),
            proxy_protocol: false,
            refuse_host_accounts: false,
            client_tls: ClientTls::default(),
            backend_tls: BackendTls::default(),
        }
    }
}

// How long statements of a kind usually take, so that one that takes far longer is known while it runs.
//
// A kind is the digest of a statement: the same text but for its literals. What is kept of it is the longest
// time that one took lately. The maximum and not the mean, because a statement that lends its permit while it
// works is one more at the server: only one that takes longer than its kind ever does may count as stuck.

/// Kinds that are remembered.
const KINDS_MAX: usize = 4_096;
/// A maximum that is not reached again halves in about 180 statements of its kind.
const FADE: f64 = 1.0 - 1.0 / 256.0;
/// A statement has outstayed its kind at this many times the longest of it.
const PATIENCE: f64 = 2.0;
/// Below this, a stall of the machine would pass for a long statement.
const PATIENCE_MIN: Nanos = Nanos::from_millis(100);
/// Whatever is known, and where nothing is: so long a permit stays with a statement that does not end.
pub const PATIENCE_MAX: Nanos = Nanos::from_secs(1);

#[derive(Clone, Copy, Debug)]
struct Kind {
    longest_s: f64,
    epoch: u32,
}

/// The kinds that one thread saw lately.
#[derive(Debug, Default)]
pub struct Kinds {
    known: NumberMap<u64, Kind>,
    epoch: u32,
}

impl Kinds {
    /// A statement of this kind (0: not known) has ended after this time at the server.
    pub fn took(&mut self, digest: u64, time: Nanos) {
        if digest == 0 {
            return;
        }
        let (seconds, epoch) = (time.as_secs_f64(), self.epoch);
        if let Some(kind) = self.known.get_mut(&digest) {
            *kind = Kind { longest_s: (kind.longest_s * FADE).max(seconds), epoch };
        } else if self.make_room() {
            self.known.insert(digest, Kind { longest_s: seconds, epoch: self.epoch });
        }
    }

    /// How long a statement of this kind may be at the server before it has outstayed its kind.
    pub fn patience(&self, digest: u64) -> Nanos {
        let known = self.known.get(&digest);
        known.map_or(PATIENCE_MAX, |kind| {
            Nanos::from_secs_f64(kind.longest_s * PATIENCE).clamp(PATIENCE_MIN, PATIENCE_MAX)
        })
    }

    /// What was not seen since the table was full the last time makes room.
    fn make_room(&mut self) -> bool {
        if self.known.len() >= KINDS_MAX {
            let epoch = self.epoch;
            self.known.retain(|_, kind| kind.epoch == epoch);
            self.epoch = self.epoch.wrapping_add(1);
        }
        self.known.len() < KINDS_MAX
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(millis: u64) -> Nanos {
        Nanos::from_millis(millis)
    }

    #[test]
    fn a_kind_may_take_twice_its_longest_within_bounds() {
        for (took, patience) in [
            (&[1, 2][..], 100),
            (&[50], 100),
            (&[200, 10], 399),
            (&[10, 300], 600),
            (&[500], 1_000),
            (&[9_000], 1_000),
        ] {
            let mut kinds = Kinds::default();
            took.iter().for_each(|millis| kinds.took(7, ms(*millis)));
            let known = kinds.patience(7);
            assert!(known >= ms(patience) - ms(1) && known <= ms(patience), "{took:?}: {known:?}");
        }
    }

    #[test]
    fn one_long_statement_is_forgotten_in_time() {
        let mut kinds = Kinds::default();
        kinds.took(7, ms(400));
        (0..100).for_each(|_| kinds.took(7, ms(1)));
        assert!(kinds.patience(7) > ms(400));
        (0..1_000).for_each(|_| kinds.took(7, ms(1)));
        assert_eq!(kinds.patience(7), ms(100));
    }

    #[test]
    fn the_table_is_bounded_and_kinds_that_are_in_use_stay_while_others_pass() {
        let mut kinds = Kinds::default();
        for digest in 2..40_000 {
            kinds.took(1, ms(200));
            kinds.took(digest, ms(1));
            assert!(kinds.known.len() <= KINDS_MAX);
        }
        assert_eq!([1, 39_999, 2, 0].map(|kind| kinds.patience(kind)), [400, 100, 1_000, 1_000].map(ms));
    }
}
