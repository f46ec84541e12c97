//! Members are on a real server, which dies, stops, comes late, and asks who they are.

use super::super::message::tests::message;
use super::super::{Bus, Dropped, patient};
use super::fixture::Server;
use super::*;
use evenkeel_core::Nanos;
use evenkeel_core::share::Report;
use evenkeel_os::clock::Clock;
use std::process::Command;

const PERIOD: Nanos = Nanos::from_millis(50);
/// The one instant at which all members of a test send and hear.
const NOW: Nanos = Nanos::from_secs(1_000_000);

fn exchange(bus: &mut Bus, now: Nanos) -> Result<(), BusError> {
    let sent = bus.send(1.0, &Report::default(), now);
    let heard = bus.hear(now);
    sent.and(heard)
}

/// Asks again for a minute at least.
fn until(what: &str, mut holds: impl FnMut() -> bool) {
    for _ in 0..6_000 {
        if holds() {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    panic!("not in a minute: {what}");
}

fn until_it_carries(bus: &mut Bus) {
    until("the bus carries", || exchange(bus, NOW).is_ok());
}

fn names(bus: &Bus, now: Nanos) -> Vec<String> {
    bus.live(now).into_iter().map(|heard| heard.message.member).collect()
}

#[test]
fn members_of_an_array_hear_each_other_and_no_others() {
    let (server, clock) = (Server::start(&[]), Clock::start());
    let mut a = server.join_patiently("a", PERIOD, clock).unwrap();
    let mut b = server.join_patiently("host.b", PERIOD, clock).unwrap();
    let other = Box::new(Nats::open(&Plan { array: "other".into(), ..server.plan("c") }).unwrap());
    let mut c = Bus::open_with(other, "c", (PERIOD, patient), clock).unwrap();
    while names(&a, NOW).len() < 2 {
        for bus in [&mut c, &mut b, &mut a] {
            exchange(bus, NOW).unwrap();
        }
    }
    assert_eq!(names(&a, NOW), ["a", "host.b"]);
    drop(b);
    // It says so, and is silent where that is lost.
    let mut now = NOW;
    while names(&a, now) != ["a"] {
        now += PERIOD;
        exchange(&mut a, now).unwrap();
    }
}

#[test]
fn a_server_that_is_not_there_or_dies_or_stands_still_is_an_error_until_it_is_back() {
    let (mut server, clock) = (Server::absent(&[]), Clock::start());
    assert!(matches!(Nats::open(&server.plan("a")), Err(BusError::Down(_))));
    let patient = Plan { waits: true, ..server.plan("a") };
    let mut bus = Bus::open(Box::new(Nats::open(&patient).unwrap()), "a", PERIOD, clock).unwrap();
    assert!(matches!(exchange(&mut bus, NOW), Err(BusError::Down(_))));
    server.begin();
    until_it_carries(&mut bus);
    server.signal("STOP");
    assert!(matches!(exchange(&mut bus, NOW), Err(BusError::Unheard)));
    server.signal("CONT");
    until_it_carries(&mut bus);
    server.end();
    until("the server is missed", || exchange(&mut bus, NOW).is_err());
    server.begin();
    until_it_carries(&mut bus);
}

#[test]
fn what_is_no_report_or_under_another_name_is_dropped_and_counted() {
    let (server, clock) = (Server::start(&[]), Clock::start());
    let mut bus = server.join_patiently("a", PERIOD, clock).unwrap();
    let mut liar = Nats::open(&server.plan("liar")).unwrap();
    let lies = [message("b", 1, 1, 1).encode(), b"garbage".to_vec(), vec![b'x'; 100_000]];
    for lie in lies {
        // Until its outbox has room.
        until("the outbox has room", || liar.send(&lie).is_ok());
    }
    let count = |bus: &Bus, why| bus.dropped()[why as usize].1;
    while count(&bus, Dropped::Name) < 1 || count(&bus, Dropped::Malformed) < 2 {
        exchange(&mut bus, NOW).unwrap();
    }
    assert_eq!(names(&bus, NOW), ["a"]);
}

fn logs_in(server: &Server, login: Login) -> bool {
    match Nats::open(&Plan { login, ..server.plan("a") }) {
        Ok(_) => true,
        Err(error) => {
            let message = format!("{error} {error:?}");
            assert!(message.contains("authorization") && !message.contains("secret"), "{message}");
            false
        }
    }
}

#[test]
fn members_log_in_by_what_their_file_has_and_no_error_tells_it() {
    let pair = |password: &str| Login::User("me".into(), password.into());
    let server = Server::start(&["--user", "me", "--pass", "secret"]);
    assert!(logs_in(&server, pair("secret")) && !logs_in(&server, pair("secret2")));
    assert!(!logs_in(&server, Login::Open));
    let server = Server::start(&["--auth", "secret-token"]);
    assert!(logs_in(&server, Login::Token("secret-token".into())));
    assert!(!logs_in(&server, Login::Token("secret".into())));
}

#[test]
fn a_key_logs_in_without_a_secret_on_the_server() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("nats.conf");
    let (key, other) = (nkeys::KeyPair::new_user(), nkeys::KeyPair::new_user());
    let users = format!("authorization {{ users: [ {{ nkey: {} }} ] }}\n", key.public_key());
    std::fs::write(&path, users).unwrap();
    let server = Server::start(&["-c", path.to_str().unwrap()]);
    let seed = dir.path().join("seed");
    std::fs::write(&seed, format!("{}\n", key.seed().unwrap())).unwrap();
    assert!(logs_in(&server, Login::read(&seed).unwrap()));
    assert!(!logs_in(&server, Login::Key(other.seed().unwrap())));
}

#[test]
fn a_server_can_bind_each_account_to_the_name_of_its_member() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("nats.conf");
    let user = |name: &str| {
        let may = format!("publish: \"evenkeel.share.test.{name}\", subscribe: \"evenkeel.share.test.*\"");
        format!("{{ user: {name}, password: secret, permissions: {{ {may} }} }}")
    };
    std::fs::write(&path, format!("authorization {{ users: [ {}, {} ] }}\n", user("a"), user("b"))).unwrap();
    let (server, clock) = (Server::start(&["-c", path.to_str().unwrap()]), Clock::start());
    let open = |account: &str, member: &str| {
        let login = Login::User(account.into(), "secret".into());
        Nats::open(&Plan { login, ..server.plan(member) }).unwrap()
    };
    let mut bus = Bus::open_with(Box::new(open("a", "a")), "a", (PERIOD, patient), clock).unwrap();
    // The account of b, under the name of c, and under its own.
    let (mut forger, mut honest) = (open("b", "c"), open("b", "b"));
    forger.send(&message("c", 1, 1, 1).encode()).unwrap();
    honest.send(&message("b", 1, 1, 1).encode()).unwrap();
    while names(&bus, NOW).len() < 2 {
        exchange(&mut bus, NOW).unwrap();
    }
    assert_eq!(names(&bus, NOW), ["a", "b"]);
}

/// A certificate for 127.0.0.1 and its key, signed by itself.
fn certificate(dir: &Path) -> (String, String) {
    let name = |file: &str| dir.join(file).to_str().expect("a name").to_owned();
    let (chain, key) = (name("cert.pem"), name("key.pem"));
    let made = Command::new("openssl")
        .args(["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"])
        .args(["-days", "2", "-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1"])
        .args(["-addext", "basicConstraints=critical,CA:FALSE", "-keyout", &key, "-out", &chain])
        .stderr(std::process::Stdio::null())
        .status();
    assert!(made.is_ok_and(|status| status.success()), "openssl makes a certificate");
    (chain, key)
}

#[test]
fn a_connection_is_encrypted_where_the_address_says_so_and_the_authority_is_checked() {
    let dir = tempfile::tempdir().unwrap();
    let (chain, key) = certificate(dir.path());
    let server = Server::start(&["--tls", "--tlscert", &chain, "--tlskey", &key]);
    let plan = server.plan("a");
    let servers = vec![plan.servers[0].replace("nats://", "tls://")];
    let trusting = Plan { authorities: Some(chain.into()), servers: servers.clone(), ..plan.clone() };
    assert!(Nats::open(&trusting).is_ok());
    assert!(Nats::open(&Plan { servers, ..plan }).is_err(), "nobody signed it");
}

#[test]
fn no_secret_stands_in_an_address_and_no_array_reaches_into_another() {
    let plan = Server::absent(&[]).plan("a");
    for server in ["nats://me:secret@host:4222", "nats://secret@host", "http://host", "nats://"] {
        let error = Nats::open(&Plan { servers: vec![server.into()], ..plan.clone() }).err().unwrap();
        assert!(matches!(error, BusError::Address(_)) && !error.to_string().contains("secret"), "{error}");
    }
    for array in ["a.b", "*", ">", ""] {
        let error = Nats::open(&Plan { array: array.into(), ..plan.clone() }).err().unwrap();
        assert!(matches!(error, BusError::Name(_)), "{array}");
    }
}

#[test]
fn a_host_name_is_ascii_and_an_error_says_how_another_one_is_written() {
    for scheme in ["nats", "tls"] {
        let error = address(&format!("{scheme}://bücher.example:4222")).err().unwrap();
        assert!(matches!(&error, BusError::Address(told) if told.contains("bücher.example")), "{error}");
        assert!(error.hint().is_some_and(|hint| hint.contains("xn--")), "{error}");
        let ascii = address(&format!("{scheme}://xn--bcher-kva.example:4222")).unwrap();
        assert_eq!((ascii.host(), ascii.port()), ("xn--bcher-kva.example", 4222));
    }
    // A scheme whose hosts the parser itself looks up in tables, which are left out of this build.
    assert!(address("https://bücher.example").is_err());
}

#[test]
fn a_file_says_by_its_form_what_it_is_and_nothing_shows_its_secret() {
    let seed = format!("SU{}", "A".repeat(56));
    let creds = "-----BEGIN NATS USER JWT-----\nsecret\n------END NATS USER JWT------\n";
    for (text, form) in [
        ("\nsecret\n", "Token(..)"),
        ("me:secret:er\n", "User(..)"),
        (seed.as_str(), "Key(..)"),
        (creds, "Credentials(..)"),
    ] {
        let login = Login::parse(text).expect("a form");
        assert_eq!(format!("{login:?}"), form);
    }
    assert!(matches!(Login::parse("me:secret:er"), Some(Login::User(_, secret)) if secret == "secret:er"));
    assert!(Login::parse(" \n").is_none());
}
