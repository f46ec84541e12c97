//! What a real server says to everything that a client may say is recognised to its end. What passes is
//! the corpus that the readers of `wire` are tested and fuzzed with.

use super::client::{Client, MARIADB, MODERN, PLAIN, packets};
use super::script;
use super::server::Server;
use evenkeel_wire::relay::{CommandKind, Reply};

/// Set to a folder, it is where the corpus is written.
const CAPTURE: &str = "EVENKEEL_CAPTURE";

#[test]
fn a_real_server_is_understood_to_the_end_of_every_reply() {
    let server = Server::up(&[]);
    for (name, capabilities) in [("plain", PLAIN), ("modern", MODERN), ("mariadb", MARIADB)] {
        let mut client = Client::connect(&server.address(), capabilities);
        script::run(&mut client, name == "mariadb");
        if let Some(folder) = std::env::var_os(CAPTURE) {
            let path = std::path::Path::new(&folder).join(name);
            std::fs::write(path, &client.record).expect("the corpus can be written");
        }
        server.sql("DELETE FROM shop.item WHERE id > 100; UPDATE shop.item SET stock = id");
    }
}

#[test]
fn packets_above_sixteen_megabytes_are_one_command_and_one_row() {
    let server = Server::up(&[]);
    for capabilities in [PLAIN, MODERN] {
        let mut client = Client::connect(&server.address(), capabilities);
        for length in [0xff_fff0, 0xff_ffff - 9, 20_000_000] {
            let sql = [&b"\x03SELECT '"[..], &vec![b'x'; length], b"'"].concat();
            let kinds = client.send(&packets(0, &sql));
            assert_eq!(kinds, [CommandKind::Query]);
            let replies = client.replies();
            assert!(matches!(replies[..], [Reply::Result { rows: 1, more: false, .. }]), "{replies:?}");
            client.expect_nothing_left("a large query");
            client.record.clear();
        }
    }
}

#[test]
fn a_binary_log_passes_as_a_stream() {
    let server = Server::up(&[("log_bin", "changes"), ("server_id", "7")]);
    let mut client = Client::connect(&server.address(), PLAIN);
    client.query("SET @master_binlog_checksum = @@global.binlog_checksum, @mariadb_slave_capability = 4");
    let dump = [&b"\x12\x04\0\0\0\0\0\x09\0\0\0"[..], b"changes.000001"].concat();
    assert_eq!(client.send(&packets(0, &dump)), [CommandKind::BinlogDump]);
    server.sql("INSERT INTO shop.item (name) VALUES ('a change that a replica sees')");
    assert!(client.streams(b"a change that a replica sees"));
}
