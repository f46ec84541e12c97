//! Logins through a guard: sockets, TLS, plugins.

use super::proxy::{Proxy, eventually, failure, mariadb, tcp, text, unix};
use super::server::Server;
use evenkeel_gate::guard::{Plan, TlsMode};
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// A certificate for `localhost` and its key, signed by itself.
fn certificate(server: &Server, name: &str) -> (PathBuf, PathBuf) {
    let (chain, key) = (server.file(&format!("{name}.pem")), server.file(&format!("{name}.key")));
    let made = Command::new("openssl")
        .args([
            "req",
            "-x509",
            "-newkey",
            "rsa:2048",
            "-nodes",
            "-days",
            "2",
            "-subj",
            "/CN=localhost",
            "-keyout",
        ])
        .arg(&key)
        .arg("-out")
        .arg(&chain)
        .stderr(Stdio::null())
        .status();
    assert!(made.is_ok_and(|status| status.success()), "openssl makes a certificate");
    (chain, key)
}

const CIPHER: &str = "SHOW SESSION STATUS LIKE 'Ssl_cipher'";

#[test]
fn tls_is_there_on_either_side_as_the_modes_say() {
    let mut server = Server::up(&[]);
    let (chain, key) = certificate(&server, "server");
    let set = [("ssl_cert", chain), ("ssl_key", key)];
    let set = set.into_iter().map(|(name, path)| (name.to_owned(), path.display().to_string())).collect();
    server.sandbox.restart(&set, &Default::default(), &mut |_| {}).expect("a server with TLS");
    server.sql("SET GLOBAL max_connections = 500; CREATE USER native@'%' IDENTIFIED BY 'secret'; GRANT ALL ON *.* TO native@'%'");
    let identity = certificate(&server, "guard");
    use TlsMode::{Disabled, Preferred, Required};
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
            plan.client_tls.identity = Some(identity.clone());
            plan.backend_tls.mode = backend;
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

#[test]
fn plugins_that_depend_on_the_channel_are_refused_where_the_channels_differ() {
    let server = Server::up(&[]);
    server.sql("INSTALL SONAME 'auth_ed25519'");
    server.sql("CREATE USER ed@'%' IDENTIFIED VIA ed25519 USING PASSWORD('secret')");
    server.sql("INSTALL SONAME 'auth_pam'; CREATE USER pam@'%' IDENTIFIED VIA pam");
    let identity = certificate(&server, "guard");
    let proxy = Proxy::start(&server, |plan| {
        plan.client_tls.identity = Some(identity);
        plan.backend_tls.mode = TlsMode::Disabled;
    });
    for tls in ["--ssl", "--skip-ssl"] {
        assert_eq!(text(&proxy.mariadb(&[tls, "--user=ed", "--password=secret"], "SELECT 1")), "1", "{tls}");
    }
    let told = failure(&proxy.mariadb(&["--ssl", "--user=pam", "--password=secret"], "SELECT 1"));
    assert!(told.contains("ERROR 1251 (08004)") && told.contains("same security on both sides"), "{told}");
    let told = failure(&proxy.mariadb(&["--skip-ssl", "--user=pam", "--password=secret"], "SELECT 1"));
    assert!(!told.contains("1251"), "{told}");
    proxy.stop();
}

#[test]
fn on_a_unix_socket_accounts_of_the_system_are_refused_and_others_are_not() {
    let server = Server::up(&[]);
    server.sql("CREATE USER root@localhost IDENTIFIED VIA unix_socket; GRANT ALL ON *.* TO root@localhost");
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
    eventually("an empty gate", || proxy.guard.census().running == 0);
    proxy.stop();
}

#[test]
fn another_user_on_the_same_connection_is_checked_too() {
    use super::client::{Client, MODERN};
    let server = Server::up(&[]);
    server.sql("CREATE USER root@localhost IDENTIFIED VIA unix_socket; GRANT ALL ON *.* TO root@localhost");
    let proxy = Proxy::start(&server, |plan| plan.backend = unix(server.socket()));
    let mut client = Client::connect(&proxy.address, MODERN);
    client.change_user("app");
    client.expect_nothing_left("a change to a user with a password");
    client.change_user("root");
    assert!(client.is_ended());
    proxy.stop();
}
