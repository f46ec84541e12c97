//! Logins captured from MySQL 9.7, played again on both sides of a guard: every packet arrives as it was sent.

use super::proxy::{Proxy, eventually, tcp};
use evenkeel_guard::proxy::Plan;
use evenkeel_wire::relay::hello::ServerHello;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread::JoinHandle;

/// Packets in their order: whether it is the server's, and its bytes.
fn packets(mut bytes: &[u8]) -> Vec<(bool, Vec<u8>)> {
    let mut found = Vec::new();
    // The client's capabilities come first.
    bytes = &bytes[8..];
    while let [direction, a, b, c, d, rest @ ..] = bytes {
        let (packet, later) = rest.split_at(u32::from_le_bytes([*a, *b, *c, *d]) as usize);
        found.push((*direction != 0, packet.to_vec()));
        bytes = later;
    }
    found
}

/// Says what one side said, and hears of the other what it heard.
fn play(mut stream: TcpStream, script: &[(bool, Vec<u8>)], as_server: bool) {
    for (of_server, packet) in script {
        if *of_server == as_server {
            stream.write_all(packet).expect("the other side reads");
            continue;
        }
        let mut heard = vec![0; packet.len()];
        stream.read_exact(&mut heard).expect("the other side speaks");
        assert_eq!(&heard, packet, "heard as server: {as_server}");
    }
    // The client leaves first.
    if as_server {
        assert!(matches!(stream.read(&mut [0; 8]), Ok(0) | Err(_)));
    }
}

fn server(script: Vec<(bool, Vec<u8>)>) -> (String, JoinHandle<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("an address").to_string();
    (address, std::thread::spawn(move || play(listener.accept().expect("a connection").0, &script, true)))
}

/// The greeting as a guard without a certificate passes it on.
fn restricted(packet: &[u8]) -> Vec<u8> {
    let mut hello = ServerHello::parse(packet[4..].to_vec()).expect("a greeting");
    hello.restrict(false);
    [&packet[..4], hello.payload()].concat()
}

#[test]
fn logins_of_a_mysql_server_pass_packet_for_packet() {
    let logins: [(&[u8], u64); 3] = [
        (include_bytes!("../../../../wire/tests/relay/corpus/mysql-login-fast"), 1),
        (include_bytes!("../../../../wire/tests/relay/corpus/mysql-login-rsa"), 1),
        (include_bytes!("../../../../wire/tests/relay/corpus/mysql-login-refused"), 0),
    ];
    for (bytes, accepted) in logins {
        let mut script = packets(bytes);
        let (address, served) = server(script.clone());
        let proxy = Proxy::of(Plan::new(tcp("127.0.0.1:0"), tcp(&address)));
        script[0].1 = restricted(&script[0].1);
        play(TcpStream::connect(&proxy.address).expect("the guard listens"), &script, false);
        served.join().expect("the server heard what was said");
        assert_eq!(proxy.guard.stats().logins.get(), accepted);
        eventually("the end", || proxy.guard.stats().closed.get() == 1);
        proxy.stop();
    }
}
