//! The header by which a proxy tells a server where its client is: the PROXY protocol, version 2.
//!
//! It goes before everything else on the connection. MariaDB takes it from the networks in
//! `proxy_protocol_networks`, and from then on the client's address is that of the header: for `USER()`, for accounts
//! that are bound to hosts, in the process list and the log.

use std::net::{IpAddr, SocketAddr};

const SIGNATURE: [u8; 12] = *b"\r\n\r\n\0\r\nQUIT\n";
/// Version 2, and the connection is the proxy's own.
const LOCAL: u8 = 0x20;
/// Version 2, and the connection is for the client that follows.
const PROXY: u8 = 0x21;
const UNSPECIFIED: u8 = 0x00;
const TCP_OVER_V4: u8 = 0x11;
const TCP_OVER_V6: u8 = 0x21;

/// Appends the header for a client: its own address and the one that it reached. Without them, as for the client of a
/// unix socket, the server is told that the connection is the proxy's own, and it stays what it is without a header.
pub fn put_proxy_header(out: &mut Vec<u8>, from: Option<(SocketAddr, SocketAddr)>) {
    out.extend_from_slice(&SIGNATURE);
    let Some((client, reached)) = from else { return put(out, LOCAL, UNSPECIFIED, &[]) };
    let ports = [client.port().to_be_bytes(), reached.port().to_be_bytes()].concat();
    // A socket that takes both kinds shows IPv4 clients inside of IPv6, where no account would know them.
    match (client.ip().to_canonical(), reached.ip().to_canonical()) {
        (IpAddr::V4(client), IpAddr::V4(reached)) => {
            put(out, PROXY, TCP_OVER_V4, &[&client.octets()[..], &reached.octets(), &ports].concat());
        }
        (client, reached) => {
            put(out, PROXY, TCP_OVER_V6, &[&octets(client)[..], &octets(reached), &ports].concat());
        }
    }
}

fn put(out: &mut Vec<u8>, command: u8, family: u8, addresses: &[u8]) {
    out.extend_from_slice(&[command, family]);
    out.extend_from_slice(&(addresses.len() as u16).to_be_bytes());
    out.extend_from_slice(addresses);
}

/// In the form of IPv6, which can hold both.
fn octets(ip: IpAddr) -> [u8; 16] {
    match ip {
        IpAddr::V4(v4) => v4.to_ipv6_mapped().octets(),
        IpAddr::V6(v6) => v6.octets(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(from: Option<(&str, &str)>) -> Vec<u8> {
        let mut out = b"before".to_vec();
        put_proxy_header(&mut out, from.map(|(client, to)| (client.parse().unwrap(), to.parse().unwrap())));
        assert_eq!(&out[..18], b"before\x0d\x0a\x0d\x0a\x00\x0d\x0aQUIT\x0a");
        out.split_off(18)
    }

    #[test]
    fn a_client_is_told_by_both_addresses_and_ports() {
        let ipv4 = b"\x21\x11\x00\x0c\xcb\x00\x71\x07\xc6\x33\x64\x01\x15\xb3\x0c\xea";
        assert_eq!(header(Some(("203.0.113.7:5555", "198.51.100.1:3306"))), ipv4);
        assert_eq!(header(Some(("[::ffff:203.0.113.7]:5555", "[::ffff:198.51.100.1]:3306"))), ipv4);
        let (client, reached) =
            (b"\x20\x01\x0d\xb8\0\0\0\0\0\0\0\0\0\0\0\x07", b"\x20\x01\x0d\xb8\0\0\0\0\0\0\0\0\0\0\0\x01");
        let ipv6 = [&b"\x21\x21\x00\x24"[..], client, reached, b"\x15\xb3\x0c\xea"].concat();
        assert_eq!(header(Some(("[2001:db8::7]:5555", "[2001:db8::1]:3306"))), ipv6);
        assert_eq!(header(None), b"\x20\x00\x00\x00", "the connection is the proxy's own");
    }
}
