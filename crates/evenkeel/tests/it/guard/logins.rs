//! Logins through a guard: sockets, TLS, plugins.

use super::client::packets;
use super::server::{Proxy, Server, eventually, failure, mariadb, tcp, text, unix};
use evenkeel_guard::proxy::{BackendMode, Identity, Plan, TlsMode};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread::JoinHandle;

/// The same, for a guard to show.
fn shown(home: &Path) -> Option<Identity> {
    let (certificate, key) = certificate(home, "guard");
    Some(Identity::Files { certificate, key })
}

/// A certificate for `localhost` and its key, signed by itself.
pub fn certificate(home: &Path, name: &str) -> (PathBuf, PathBuf) {
    made(home, name, &[])
}

/// One that the authority `by` signed for these names.
fn signed(home: &Path, name: &str, by: &(PathBuf, PathBuf), names: &str) -> (PathBuf, PathBuf) {
    let (chain, key) = (by.0.display().to_string(), by.1.display().to_string());
    let names = format!("subjectAltName={names}");
    let leaf = "basicConstraints=critical,CA:FALSE";
    made(home, name, &["-CA", &chain, "-CAkey", &key, "-addext", &names, "-addext", leaf])
}

fn made(home: &Path, name: &str, more: &[&str]) -> (PathBuf, PathBuf) {
    let (chain, key) = (home.join(format!("{name}.pem")), home.join(format!("{name}.key")));
    let subject = format!("/CN={}", if more.is_empty() { "localhost" } else { name });
    let made = Command::new("openssl")
        .args(["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", &subject])
        .args(more)
        .arg("-keyout")
        .arg(&key)
        .arg("-out")
        .arg(&chain)
        .stderr(Stdio::null())
        .status();
    assert!(made.is_ok_and(|status| status.success()), "openssl makes a certificate");
    (chain, key)
}

/// Lets a server offer TLS by this certificate.
fn offers_tls(server: &mut Server, (chain, key): &(PathBuf, PathBuf)) {
    let set = [("ssl_cert", chain), ("ssl_key", key)];
    let set = set.into_iter().map(|(name, path)| (name.to_owned(), path.display().to_string())).collect();
    server.sandbox.restart(&set, &Default::default(), &mut |_| {}).expect("a server with TLS");
}

const CIPHER: &str = "SHOW SESSION STATUS LIKE 'Ssl_cipher'";

#[test]
fn tls_is_there_on_either_side_as_the_modes_say() {
    let mut server = Server::up(&[]);
    let own = certificate(server.home.path(), "server");
    offers_tls(&mut server, &own);
    server.sql("SET GLOBAL max_connections = 500; CREATE USER native@'%' IDENTIFIED BY 'secret'; GRANT ALL ON *.* TO native@'%'");
    let identity = shown(server.home.path());
    use TlsMode::{Disabled, Preferred, Required};
    let as_asked = |mode| match mode {
        Disabled => BackendMode::Disabled,
        Preferred => BackendMode::Preferred,
        Required => BackendMode::Required,
    };
    for (clients, backend, arguments, encrypted) in [
        (Disabled, Disabled, "--skip-ssl", Ok(false)),
        (Preferred, Preferred, "--skip-ssl", Ok(false)),
        (Preferred, Preferred, "--ssl", Ok(true)),
        (Preferred, Disabled, "--ssl", Ok(false)),
        (Preferred, Required, "--skip-ssl", Ok(true)),
        (Required, Required, "--ssl", Ok(true)),
        (Required, Disabled, "--skip-ssl", Err("ERROR 3159 (08004)")),
        (Disabled, Disabled, "--ssl", Ok(false)),
    ] {
        let proxy = Proxy::start(&server, |plan: &mut Plan| {
            plan.client_tls.mode = clients;
            plan.client_tls.identity = identity.clone();
            plan.backend_tls.mode = Some(as_asked(backend));
        });
        let case = format!("{clients:?} {backend:?} {arguments}");
        let output = proxy.mariadb(&[arguments, "--user=native", "--password=secret"], CIPHER);
        match encrypted {
            Ok(encrypted) => {
                let row = text(&output);
                assert_eq!(
                    row.split('\t').nth(1).is_some_and(|cipher| !cipher.is_empty()),
                    encrypted,
                    "{case}: {row}"
                );
            }
            Err(told) => assert!(failure(&output).contains(told), "{case}: {}", failure(&output)),
        }
        // A wrong password is the server's to refuse, with the right number under any shift.
        let output = proxy.mariadb(&[arguments, "--user=native", "--password=wrong"], CIPHER);
        let told = if encrypted.is_ok() { "ERROR 1045 (28000)" } else { "ERROR 3159 (08004)" };
        assert!(failure(&output).contains(told), "{case}: {}", failure(&output));
        // Twenty megabytes through whatever is encrypted.
        if encrypted.is_ok() {
            let output = proxy.mariadb(
                &[arguments, "--user=native", "--password=secret", "--max-allowed-packet=64M"],
                "SELECT MD5(REPEAT('x', 20000000)), REPEAT('x', 20000000)",
            );
            assert_eq!(text(&output).len(), 32 + 1 + 20_000_000, "{case}");
        }
        proxy.stop();
    }
}

/// A server that asks every client for the same plugin, and then refuses it in words of its own.
fn asks_for(plugin: &'static str, logins: usize) -> (String, JoinHandle<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("an address").to_string();
    let serve = move || {
        for _ in 0..logins {
            let (mut stream, _) = listener.accept().expect("a connection");
            let greeting = [
                &b"\x0a8.0.40\0\x07\0\0\0abcdefgh\0\xff\xf7\x2d\x02\0\xff\xc1\x15\0\0\0\0\0\0\0\0\0\0"[..],
                b"ijklmnopqrst\0mysql_native_password\0",
            ];
            stream.write_all(&packets(0, &greeting.concat())).expect("the guard reads");
            let number = read_packet(&mut stream).expect("an answer");
            // Random bytes of ed25519 are 32; those of others are text with a zero at its end.
            let random: &[u8] = match plugin {
                "client_ed25519" => b"ABCDEFGHIJKLMNOPQRSTUVWXYZABCDEF",
                _ => b"ABCDEFGHIJKLMNOPQRST\0",
            };
            let switch = [b"\xfe", plugin.as_bytes(), b"\0", random].concat();
            stream.write_all(&packets(number + 1, &switch)).expect("the guard reads");
            if let Some(number) = read_packet(&mut stream) {
                let refusal = b"\xff\x15\x04#28000the server itself says no";
                stream.write_all(&packets(number + 1, refusal)).expect("the guard reads");
            }
        }
    };
    (address, std::thread::spawn(serve))
}

/// Reads a packet and gives its number; none at the end.
fn read_packet(stream: &mut TcpStream) -> Option<u8> {
    let mut header = [0; 4];
    stream.read_exact(&mut header).ok()?;
    let mut payload = vec![0; usize::from(u16::from_le_bytes([header[0], header[1]]))];
    stream.read_exact(&mut payload).ok()?;
    Some(header[3])
}

#[test]
fn plugins_that_depend_on_the_channel_are_refused_where_the_channels_differ() {
    let home = tempfile::tempdir().expect("a temporary directory");
    let identity = shown(home.path());
    for (plugin, tls, told) in [
        ("mysql_native_password", "--ssl", "the server itself says no"),
        ("mysql_native_password", "--skip-ssl", "the server itself says no"),
        ("client_ed25519", "--ssl", "the server itself says no"),
        ("client_ed25519", "--skip-ssl", "the server itself says no"),
        ("caching_sha2_password", "--ssl", "ERROR 1251 (08004)"),
        ("mysql_clear_password", "--ssl", "ERROR 1251 (08004)"),
    ] {
        let (address, server) = asks_for(plugin, 1);
        let mut plan = Plan::new(tcp("127.0.0.1:0"), tcp(&address));
        plan.client_tls.identity = identity.clone();
        plan.backend_tls.mode = Some(BackendMode::Disabled);
        let proxy = Proxy::of(plan);
        let found = failure(&proxy.mariadb(&[tls, "--user=me", "--password=secret"], "SELECT 1"));
        assert!(found.contains(told), "{plugin} {tls}: {found}");
        server.join().expect("the server ends");
        proxy.stop();
    }
}

#[test]
fn on_a_unix_socket_accounts_of_the_system_are_refused_and_others_are_not() {
    let server = Server::up(&[]);
    server.sql("CREATE OR REPLACE USER root@localhost IDENTIFIED VIA unix_socket; GRANT ALL ON *.* TO root@localhost");
    let path = server.file("guard.sock");
    let proxy = Proxy::start(&server, |plan| {
        plan.listen = vec![unix(&path), tcp("127.0.0.1:0")];
        plan.backend = unix(server.socket());
    });
    let socket = path.to_str().expect("a path in UTF-8");
    let here = server.socket().to_str().expect("a path in UTF-8");
    // Without the guard the system's root is the server's root.
    if text(&mariadb(&["-S", here, "-u", "root"], &[], "SELECT USER()")) == "root@localhost" {
        let output = mariadb(&["-S", socket, "-u", "root"], &[], "SELECT USER()");
        assert!(failure(&output).contains("unix_socket"), "{}", failure(&output));
        let output = proxy.mariadb(&["--user=root"], "SELECT USER()");
        assert!(failure(&output).contains("ERROR 1045"), "{}", failure(&output));
    }
    let output = mariadb(&["-S", socket, "-u", "app"], &[], "SELECT USER(); SELECT 2");
    assert_eq!(text(&output), "app@localhost\n2");
    assert_eq!(proxy.rows(&[], "SELECT USER(); SELECT 2"), "app@localhost\n2");
    eventually("an empty gate", || proxy.guard.census().running() == 0);
    proxy.stop();
}

fn told(proxy: &Proxy, bytes: &[u8]) -> String {
    let mut stream = TcpStream::connect(&proxy.address).expect("the guard listens");
    stream.write_all(bytes).expect("the guard reads");
    let mut answer = Vec::new();
    // A guard that does not read all of it resets the connection behind its last words.
    let _ = stream.read_to_end(&mut answer);
    String::from_utf8_lossy(&answer).into_owned()
}

#[test]
fn whoever_speaks_first_or_something_else_is_told_so_and_disturbs_nobody() {
    let server = Server::up(&[]);
    let identity = shown(server.home.path());
    let proxy = Proxy::start(&server, |plan| plan.client_tls.identity = identity);
    let tls_request = packets(1, &[&[0x0d, 0xaa, 0, 0, 0, 0, 0, 1, 45][..], &[0; 23]].concat());
    let before_4_1 = packets(1, b"\x05\x24\0\0\0me\0");
    for bytes in [&b"GET / HTTP/1.1\r\n\r\n"[..], &before_4_1, &packets(7, &[0xff; 200])] {
        let answer = told(&proxy, bytes);
        assert!(answer.contains("evenkeel guard: not the protocol"), "{answer:?}");
    }
    // Under TLS that is none there is nobody to be told.
    told(&proxy, &[&tls_request[..], b"this is no handshake at all"].concat());
    assert_eq!(proxy.rows(&[], "SELECT 1"), "1");
    proxy.all_end();
    proxy.stop();
}

#[test]
fn a_server_is_taken_for_itself_only_by_a_certificate_for_its_name() {
    let mut server = Server::up(&[]);
    let home = server.home.path().to_owned();
    let (authority, other) = (certificate(&home, "authority"), certificate(&home, "other"));
    offers_tls(&mut server, &signed(&home, "server", &authority, "DNS:localhost"));
    let by_number = server.address();
    let by_name = by_number.replace("127.0.0.1", "localhost");
    let cases = [
        (&by_name, None, &authority, ""),
        (&by_name, Some(BackendMode::VerifyIdentity), &authority, ""),
        (&by_name, None, &other, "invalid peer certificate"),
        (&by_name, Some(BackendMode::Required), &other, "invalid peer certificate"),
        (&by_number, None, &authority, "not valid for name"),
        (&by_number, Some(BackendMode::VerifyCa), &authority, ""),
        (&by_number, Some(BackendMode::VerifyCa), &other, "invalid peer certificate"),
        (&by_number, Some(BackendMode::VerifyIdentity), &authority, "not valid for name"),
    ];
    for (address, mode, authority, refused) in cases {
        let proxy = Proxy::start(&server, |plan| {
            plan.backend = tcp(address);
            plan.backend_tls.mode = mode;
            plan.backend_tls.authorities = Some(authority.0.clone());
        });
        let output = proxy.mariadb(&["--skip-ssl"], CIPHER);
        let case = format!("{address} {mode:?} {}", authority.0.display());
        match refused {
            "" => assert!(text(&output).len() > "Ssl_cipher".len() + 1, "{case}"),
            _ => {
                let told = failure(&output);
                assert!(told.contains("TLS towards the server") && told.contains(refused), "{case}: {told}");
            }
        }
        proxy.stop();
    }
}

#[test]
fn a_server_whose_offer_of_tls_is_gone_is_refused_where_authorities_are_given() {
    // To the guard a server that offers none and a man in the middle who took the offer away are the same.
    let server = Server::up(&[]);
    let (authority, _) = certificate(server.home.path(), "authority");
    let identity = shown(server.home.path());
    for mode in
        [None, Some(BackendMode::Required), Some(BackendMode::VerifyCa), Some(BackendMode::VerifyIdentity)]
    {
        let proxy = Proxy::start(&server, |plan| {
            plan.client_tls.identity = identity.clone();
            plan.backend_tls.mode = mode;
            plan.backend_tls.authorities = Some(authority.clone());
        });
        for client in ["--skip-ssl", "--ssl"] {
            let told = failure(&proxy.mariadb(&[client], "SELECT 1"));
            assert!(told.contains("TLS is required towards the server"), "{mode:?} {client}: {told}");
        }
        proxy.stop();
    }
}

fn fetched(proxy: &Proxy, path: PathBuf) -> PathBuf {
    let output = Command::new("openssl")
        .args(["s_client", "-starttls", "mysql", "-connect", &proxy.address])
        .stdin(Stdio::null())
        .output()
        .expect("openssl can be started");
    let told = String::from_utf8_lossy(&output.stdout);
    let (begin, end) = ("-----BEGIN CERTIFICATE-----", "-----END CERTIFICATE-----");
    let from = told.find(begin).expect("a certificate");
    let to = told.find(end).expect("the end of the certificate") + end.len();
    std::fs::write(&path, &told[from..to]).expect("the certificate can be kept");
    path
}

#[test]
fn a_guard_makes_a_certificate_of_its_own_that_clients_can_pin() {
    let server = Server::up(&[]);
    let guard = || Proxy::start(&server, |plan| plan.client_tls.identity = Some(Identity::SelfSigned));
    let (proxy, other) = (guard(), guard());
    let (own, others) = (fetched(&proxy, server.file("own.pem")), fetched(&other, server.file("other.pem")));
    let output = Command::new("openssl")
        .args(["x509", "-noout", "-fingerprint", "-sha256", "-in"])
        .arg(&own)
        .output()
        .expect("openssl can be started");
    let handle = proxy.guard.handle();
    assert_eq!(text(&output).split('=').nth(1), handle.fingerprint());
    let pinned = |file: &Path| format!("--ssl-ca={}", file.display());
    let check = "--ssl-verify-server-cert";
    assert_eq!(proxy.rows(&["--ssl"], "SELECT 1"), "1");
    assert_eq!(proxy.rows(&[&pinned(&own), check], "SELECT 1"), "1");
    let told = failure(&proxy.mariadb(&[&pinned(&others), check], "SELECT 1"));
    assert!(told.contains("ERROR 2026"), "{told}");
    other.stop();
    proxy.stop();
}
