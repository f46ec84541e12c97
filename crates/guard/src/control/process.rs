//! Finds the process of the backend, where it runs on this machine.

use evenkeel_core::Nanos;
use evenkeel_core::admission::Interval;
use evenkeel_os::process::peer_process;
use evenkeel_sense::far::listener;
use evenkeel_sense::status::{StatusReading, StatusUse};
use std::net::{IpAddr, SocketAddr};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ServerAddress {
    Unix(PathBuf),
    Tcp(SocketAddr),
}

/// The process that listens there; `None` where it is on another host, gone, or hidden from us (a namespace of its own;
/// another user who has several servers here, where we may not see whose socket it is).
pub fn find(address: &ServerAddress) -> Option<u32> {
    match address {
        ServerAddress::Unix(path) => peer_process(&UnixStream::connect(path).ok()?).ok(),
        ServerAddress::Tcp(address) if is_local(address.ip()) => listener(address.port()),
        ServerAddress::Tcp(_) => None,
    }
}

/// Loopback, or an address that this machine can bind: its own.
fn is_local(ip: IpAddr) -> bool {
    ip.is_loopback() || std::net::UdpSocket::bind((ip, 0)).is_ok()
}

/// A reading older than this is not available any more.
const FRESH: Nanos = Nanos::from_secs(5);

/// The latest reading of the server's status. Clones share it.
#[derive(Clone, Debug, Default)]
pub struct LatestStatus(Arc<Mutex<Option<(Nanos, StatusReading)>>>);

impl LatestStatus {
    pub fn new() -> Self {
        Self::default()
    }

    /// Puts the reading of this instant, by the clock of the guard; `None` where the server did not answer.
    pub fn put(&self, now: Nanos, reading: Option<StatusReading>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = reading.map(|reading| (now, reading));
    }

    fn get(&self) -> Option<(Nanos, StatusReading)> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

#[derive(Debug)]
pub struct ServerStatus {
    latest: LatestStatus,
    last: Option<(Nanos, StatusReading)>,
    in_flight_s: f64,
    share: Option<f64>,
    fresh: bool,
}

impl ServerStatus {
    pub fn new(latest: LatestStatus) -> Self {
        Self { latest, last: None, in_flight_s: 0.0, share: None, fresh: false }
    }

    pub fn is_fresh(&self) -> bool {
        self.fresh
    }

    /// Share of in-flight time that was spent in row-lock waits, between the two last readings. Finished
    /// waits are counted in milliseconds by the server; where nothing finishes, those that wait now over
    /// those in flight say more, and the larger of the two counts.
    pub fn lock_wait_share(&mut self, now: Nanos, interval: &Interval) -> Option<f64> {
        self.in_flight_s += interval.in_flight_mean * (interval.end - interval.start).as_secs_f64();
        let current = self.latest.get();
        self.fresh = current.as_ref().is_some_and(|(at, _)| now - *at <= FRESH);
        if !self.fresh {
            (self.last, self.share) = (None, None);
            return None;
        }
        let is_new = self.last.as_ref().map(|(at, _)| *at) != current.as_ref().map(|(at, _)| *at);
        if is_new {
            let before = std::mem::replace(&mut self.last, current);
            self.share = match (&before, &self.last) {
                (Some((then, one)), Some((now, other))) => {
                    share(&StatusUse::between(one, other, *now - *then), self.in_flight_s, interval)
                }
                _ => None,
            };
            self.in_flight_s = 0.0;
        }
        self.share
    }
}

fn share(used: &StatusUse, in_flight_s: f64, interval: &Interval) -> Option<f64> {
    let waited_s = used.counter("Innodb_row_lock_time")? as f64 / 1e3;
    let finished = if in_flight_s > 0.0 { waited_s / in_flight_s } else { 0.0 };
    let waiting = used.gauge("Innodb_row_lock_current_waits").unwrap_or(0) as f64;
    let present = if interval.in_flight_mean >= 1.0 { waiting / interval.in_flight_mean } else { 0.0 };
    Some(finished.max(present).min(1.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;
    use std::os::unix::net::UnixListener;

    #[test]
    fn a_listener_of_this_process_is_found_by_its_port_and_by_its_path() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address");
        assert_eq!(find(&ServerAddress::Tcp(address)), Some(std::process::id()));
        drop(listener);
        assert_eq!(find(&ServerAddress::Tcp(address)), None);
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("s");
        let _listener = UnixListener::bind(&path).expect("a socket");
        assert_eq!(find(&ServerAddress::Unix(path)), Some(std::process::id()));
        assert_eq!(find(&ServerAddress::Unix(folder.path().join("none"))), None);
    }

    fn status(uptime: u64, lock_ms: u64, waits: u64) -> StatusReading {
        let rows = [
            ("Uptime", uptime.to_string()),
            ("Innodb_row_lock_time", lock_ms.to_string()),
            ("Innodb_row_lock_current_waits", waits.to_string()),
        ];
        StatusReading::new(rows.iter().map(|(name, value)| (*name, value.as_str())))
    }

    fn interval(from_s: u64) -> Interval {
        Interval {
            start: Nanos::from_secs(from_s),
            end: Nanos::from_secs(from_s + 1),
            in_flight_mean: 4.0,
            ..Interval::default()
        }
    }

    #[test]
    fn lock_waits_are_a_share_of_the_time_in_flight() {
        let latest = LatestStatus::new();
        let mut server = ServerStatus::new(latest.clone());
        latest.put(Nanos::from_secs(1), Some(status(10, 1_000, 0)));
        assert_eq!(server.lock_wait_share(Nanos::from_secs(1), &interval(0)), None);
        latest.put(Nanos::from_secs(2), Some(status(11, 3_000, 0)));
        assert_eq!(server.lock_wait_share(Nanos::from_secs(2), &interval(1)), Some(0.5));
        // Between readings the last share holds.
        assert_eq!(server.lock_wait_share(Nanos::from_millis(2_100), &interval(2)), Some(0.5));
    }

    #[test]
    fn where_no_wait_ends_those_that_wait_now_count() {
        let latest = LatestStatus::new();
        let mut server = ServerStatus::new(latest.clone());
        latest.put(Nanos::from_secs(1), Some(status(10, 0, 3)));
        server.lock_wait_share(Nanos::from_secs(1), &interval(0));
        latest.put(Nanos::from_secs(2), Some(status(11, 0, 3)));
        assert_eq!(server.lock_wait_share(Nanos::from_secs(2), &interval(1)), Some(0.75));
    }

    #[test]
    fn a_server_that_does_not_answer_or_lacks_the_counter_is_not_available() {
        let latest = LatestStatus::new();
        let mut server = ServerStatus::new(latest.clone());
        for second in 1..4 {
            latest.put(Nanos::from_secs(second), Some(StatusReading::new([("Uptime", "9")])));
            assert_eq!(server.lock_wait_share(Nanos::from_secs(second), &interval(second)), None);
        }
        assert!(server.is_fresh());
        assert_eq!(server.lock_wait_share(Nanos::from_secs(60), &interval(59)), None);
        assert!(!server.is_fresh());
        latest.put(Nanos::from_secs(61), None);
        assert_eq!(server.lock_wait_share(Nanos::from_secs(61), &interval(60)), None);
    }
}
