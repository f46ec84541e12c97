//! What a network carries between two places: iperf3, with a server of its own for each pair.

use super::place::{Place, Started};
use crate::published::{PublishedError, Result, While, joined};
use evenkeel_core::Nanos;
use evenkeel_os::Stop;
use evenkeel_os::clock::monotonic;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::net::{Ipv4Addr, TcpListener};
use std::process::Command;
use std::sync::Barrier;
use std::thread::sleep;
use std::time::Duration;

/// Data go from the client to the server.
#[derive(Clone, Copy, Debug)]
pub struct Pair<'a> {
    pub server: &'a Place,
    pub client: &'a Place,
}

/// What both ends counted. Mbit/s are 1,000,000 bits of data per second.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Flow {
    pub sent_mbit_per_s: f64,
    pub received_mbit_per_s: f64,
    /// Segments that were sent again.
    pub retransmits: u64,
    /// CPU time of the client, percent of one CPU.
    pub client_cpu_percent: f64,
    pub server_cpu_percent: f64,
    /// How long the client sent.
    pub seconds: f64,
    /// How long the server received.
    pub received_seconds: f64,
}

/// For a server until it listens, and for a client beside the time that it sends.
const LISTENS_WITHIN: Nanos = Nanos::from_secs(20);
const AROUND: Duration = Duration::from_secs(60);
/// Of a socket that listens, in /proc/PID/net/tcp.
const LISTENS: &str = "00000000:0000 0A";

/// Has all pairs send at the same time, for so many seconds; a flow for each pair.
/// Errors: iperf3 is not installed, or a client cannot reach its server.
pub fn at_once(pairs: &[Pair<'_>], seconds: u32, stop: &Stop) -> Result<Option<Vec<Flow>>> {
    let listening = |pair: &Pair<'_>| serve(pair.server, pair.server.address_from(pair.client));
    let servers = pairs.iter().map(listening).collect::<Result<Vec<_>>>()?;
    let together = Barrier::new(pairs.len());
    let flow = |(pair, (_, port)): (&Pair<'_>, &(Started, u16))| {
        let address = pair.server.address_from(pair.client);
        let words = format!("-4 -J -i 0 -c {address} -p {port} -t {seconds}");
        let mut client = Command::new("iperf3");
        client.args(words.split(' '));
        together.wait();
        let patience = Duration::from_secs(u64::from(seconds)) + AROUND;
        let Some(said) = pair.client.run(&mut client, patience, stop)? else { return Ok(None) };
        let flow = read(&serde_json::from_str(&said)?);
        flow.map(Some).ok_or_else(|| PublishedError::wrong("iperf3 says nothing of one end"))
    };
    std::thread::scope(|scope| {
        let flow = &flow;
        let sending: Vec<_> = pairs.iter().zip(&servers).map(|of| scope.spawn(move || flow(of))).collect();
        sending.into_iter().map(joined).collect()
    })
}

/// Starts a server for one client on an address of a place, and waits until it listens; with its port.
pub(crate) fn serve(place: &Place, address: Ipv4Addr) -> Result<(Started, u16)> {
    let free = TcpListener::bind((Ipv4Addr::UNSPECIFIED, 0)).and_then(|free| free.local_addr());
    let port = free.doing(|| "looking for a free port")?.port();
    let (on, port_is) = (address.to_string(), port.to_string());
    let words = ["-4", "-s", "-1", "-i", "0", "-B", &on, "-p", &port_is];
    let mut server = place.start(Command::new("iperf3").args(words))?;
    let (sockets, until) = (format!("/proc/{}/net/tcp", server.pid()), monotonic() + LISTENS_WITHIN);
    let listens = format!(":{port:04X} {LISTENS}");
    // Those of its network namespace.
    while !std::fs::read_to_string(&sockets).is_ok_and(|text| text.contains(&listens)) {
        if !server.runs() || monotonic() > until {
            return Err(PublishedError::wrong(format!("no iperf3 listens on port {port}")));
        }
        sleep(Duration::from_millis(5));
    }
    Ok((server, port))
}

/// What a client says of both ends.
fn read(said: &Value) -> Option<Flow> {
    let end = &said["end"];
    let mbit = |way: &str| Some(end[way]["bits_per_second"].as_f64()? / 1e6);
    let cpu = |side: &str| end["cpu_utilization_percent"][side].as_f64();
    Some(Flow {
        sent_mbit_per_s: mbit("sum_sent")?,
        received_mbit_per_s: mbit("sum_received")?,
        retransmits: end["sum_sent"]["retransmits"].as_u64()?,
        client_cpu_percent: cpu("host_total")?,
        server_cpu_percent: cpu("remote_total")?,
        seconds: end["sum_sent"]["seconds"].as_f64()?,
        received_seconds: end["sum_received"]["seconds"].as_f64()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_pairs_at_once_have_a_server_each_and_both_ends_figures() {
        if !evenkeel_os::tools::is_there("iperf3") {
            return;
        }
        let host = Place::host("/");
        let pair = Pair { server: &host, client: &host };
        let flows = at_once(&[pair, pair], 1, &Stop::default()).unwrap().unwrap();
        assert_eq!(flows.len(), 2);
        for flow in flows {
            assert!(flow.sent_mbit_per_s > 1.0 && flow.received_mbit_per_s > 1.0, "{flow:?}");
            assert!(flow.client_cpu_percent > 0.0 && (0.9..10.0).contains(&flow.seconds), "{flow:?}");
        }
    }
}
