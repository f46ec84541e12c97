//! The addresses and sockets at which the disks of a configuration are served.

use crate::config::share::{ShareConfig, TlsConfig};
use anyhow::{Context, Result};
use evenkeel_share::{Address, ListenAddress, ServerConfig, server_tls};
use std::net::IpAddr;
use std::sync::Arc;

/// All of them: those of all disks first, then those of single disks.
pub fn of(config: &ShareConfig) -> Result<Vec<ListenAddress>> {
    let host = &config.socket;
    let access = host.access(host)?;
    let mut places: Vec<ListenAddress> = config
        .nbd
        .iter()
        .map(|address| ListenAddress { address: address.clone(), disk: None, access })
        .collect();
    for (number, disk) in config.disks.iter().enumerate() {
        let access = disk.socket.access(host)?;
        let own = disk.nbd.iter().cloned();
        places.extend(own.map(|address| ListenAddress { address, disk: Some(number), access }));
    }
    Ok(places)
}

/// TLS for those who come over TCP, where there is a certificate.
pub fn tls(config: &ShareConfig) -> Result<Option<Arc<ServerConfig>>> {
    let TlsConfig { certificate: Some(certificate), key: Some(key), clients } = &config.tls else {
        return Ok(None);
    };
    let tls = server_tls(certificate.clone(), key.clone(), clients.as_deref());
    tls.context("TLS for clients of the disks").map(Some)
}

/// Addresses, with the ports that the system chose.
pub fn found(places: &[ListenAddress], ports: &[u16]) -> Vec<Address> {
    let mut ports = ports.iter();
    let found = |place: &ListenAddress| match &place.address {
        Address::Tcp { host, port } => {
            Address::Tcp { host: host.clone(), port: *ports.next().unwrap_or(port) }
        }
        local @ Address::Unix(_) => local.clone(),
    };
    places.iter().map(found).collect()
}

/// Those at which every machine that can reach this one may write to the disks: addresses that stand for all of this
/// machine's, without TLS that asks for a certificate.
pub fn open_to_all(config: &ShareConfig, places: &[ListenAddress]) -> Vec<String> {
    let asks = config.tls.clients.is_some();
    let everywhere = |host: &str| host.parse().is_ok_and(|address: IpAddr| address.is_unspecified());
    let open = places.iter().filter(|place| match &place.address {
        Address::Tcp { host, .. } => !asks && everywhere(host),
        Address::Unix(_) => false,
    });
    open.map(|place| place.address.to_string()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::share::DiskConfig;

    #[test]
    fn disks_have_places_of_their_own_and_those_open_to_all_are_named() {
        let mut disk = DiskConfig::new("b", "/b");
        disk.nbd = vec!["/run/b.sock".parse().unwrap(), "0.0.0.0:10810".parse().unwrap()];
        let mut config = ShareConfig::new("h", vec![DiskConfig::new("a", "/a"), disk]);
        config.nbd = vec!["127.0.0.1:10809".parse().unwrap(), "[::]:10811".parse().unwrap()];
        let places = of(&config).unwrap();
        let only: Vec<Option<usize>> = places.iter().map(|place| place.disk).collect();
        assert_eq!(only, [None, None, Some(1), Some(1)]);
        assert_eq!(open_to_all(&config, &places), ["[::]:10811", "0.0.0.0:10810"]);
        config.tls.clients = Some("/ca.pem".into());
        assert!(open_to_all(&config, &places).is_empty());
        let ports: Vec<String> = found(&places, &[1, 2, 3]).iter().map(ToString::to_string).collect();
        assert_eq!(ports, ["127.0.0.1:1", "[::]:2", "/run/b.sock", "0.0.0.0:3"]);
    }
}
