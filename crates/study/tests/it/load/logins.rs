//! Ways in: passwords, TLS, sockets; and doors that stay shut.

use super::*;
use evenkeel_lab::load::LoadError;
use evenkeel_site::server::{Address, TlsMode};

fn quick(target: Target) -> Result<LoadResult, LoadError> {
    let mut plan = plan(target, Script::new(&[SELECT]), ArrivalPlan::Constant(100.0));
    plan.measure = Nanos::from_millis(200);
    run(&plan, &Stop::default(), &mut |_| {})
}

/// By the load and by the control connection.
fn works(target: Target) {
    Control::connect(&target).unwrap();
    let result = quick(target).unwrap();
    check_accounts(&result);
    assert_eq!(result.counts.completed, 20);
}

fn error(target: Target) -> String {
    assert!(Control::connect(&target).is_err(), "the control connection checks the same");
    quick(target).unwrap_err().to_string()
}

#[test]
fn a_native_password_opens_and_a_wrong_one_does_not() {
    let server = Server::shared();
    server.exec(&[
        "CREATE OR REPLACE USER native@'%' IDENTIFIED VIA mysql_native_password USING PASSWORD('secret')",
        "GRANT SELECT ON d.* TO native@'%'",
    ]);
    let account = |password: &str, target: Target| Target {
        user: "native".to_owned(),
        password: Some(password.to_owned()),
        ..target
    };
    works(account("secret", server.target()));
    works(account("secret", server.tcp_target()));
    let error = error(account("wrong", server.tcp_target()));
    assert!(error.contains("error 1045") && error.contains("cannot log in to 127.0.0.1:"), "{error}");
}

#[test]
fn tls_encrypts_and_checks_what_it_is_asked_to() {
    let server = Server::shared();
    server.exec(&[
        "CREATE OR REPLACE USER tls@'%' IDENTIFIED BY 'secret' REQUIRE SSL",
        "GRANT SELECT ON d.* TO tls@'%'",
    ]);
    let port = match server.tcp_target().address {
        Address::Tcp { port, .. } => port,
        Address::Unix(_) => unreachable!("a TCP target has a port"),
    };
    let target = |tls, host: &str, ca: Option<&str>| Target {
        user: "tls".to_owned(),
        password: Some("secret".to_owned()),
        tls,
        tls_ca: ca.map(|file| Path::new(CERTIFICATES).join(file)),
        address: Address::Tcp { host: host.to_owned(), port },
        ..server.tcp_target()
    };
    for (mode, host, ca) in [
        (TlsMode::Required, "127.0.0.1", None),
        (TlsMode::Preferred, "127.0.0.1", None),
        (TlsMode::Required, "127.0.0.1", Some("ca.pem")),
        (TlsMode::Preferred, "127.0.0.1", Some("ca.pem")),
        (TlsMode::VerifyIdentity, "localhost", Some("ca.pem")),
    ] {
        works(target(mode, host, ca));
    }
    // The control connection encrypts nothing over a socket.
    quick(Target { address: server.target().address, ..target(TlsMode::Required, "", None) }).unwrap();

    // With an authority, every mode checks its signature; the name is checked by one mode only.
    for (mode, host, ca, said) in [
        (TlsMode::Required, "127.0.0.1", Some("other-ca.pem"), "certificate"),
        (TlsMode::Preferred, "127.0.0.1", Some("other-ca.pem"), "certificate"),
        (TlsMode::VerifyIdentity, "localhost", Some("other-ca.pem"), "certificate"),
        (TlsMode::VerifyIdentity, "127.0.0.1", Some("ca.pem"), "certificate"),
        (TlsMode::VerifyIdentity, "localhost", None, ""),
        (TlsMode::Required, "127.0.0.1", Some("no-such.pem"), "no-such.pem"),
        (TlsMode::Disabled, "127.0.0.1", None, "error 1045"),
    ] {
        let text = error(target(mode, host, ca));
        assert!(text.contains(said), "{mode:?} {host} {ca:?}: {text}");
    }
}

#[test]
fn nobody_there_and_no_database_are_errors_before_the_load() {
    let server = Server::shared();
    let nowhere =
        Target { address: Address::Tcp { host: "127.0.0.1".to_owned(), port: 1 }, ..server.tcp_target() };
    assert!(error(nowhere).starts_with("cannot connect to 127.0.0.1:1: "));
    let socket = Target { address: Address::Unix("/no/such/socket".into()), ..server.target() };
    assert!(error(socket).starts_with("cannot connect to /no/such/socket: "));
    let long = Target { address: Address::Unix("/x".repeat(80).into()), ..server.target() };
    assert!(error(long).starts_with("cannot resolve /x/x"));
    let database = Target { database: Some("nowhere".to_owned()), ..server.target() };
    assert!(error(database).contains("error 1049"));
}

#[test]
fn a_server_that_takes_fewer_sessions_is_used_with_those() {
    let server = Server::up();
    server.exec(&["SET GLOBAL max_connections = 10"]);
    let mut plan = plan(server.target(), Script::new(&["SELECT SLEEP(0.1)"]), ArrivalPlan::Constant(100.0));
    plan.sessions = SessionPolicy::Pooled { max: 40 };
    let result = load(&plan);
    assert!((5..=11).contains(&result.sessions_max), "{}", result.sessions_max);
    assert!(result.error_texts.contains_key(&1040), "{:?}", result.error_texts);
    assert_eq!(result.counts.completed, result.counts.arrivals, "{:?}", result.counts);
}
