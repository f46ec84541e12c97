//! Control connections and preflight against a real server, and against everything that is none.

use crate::sandbox::{eventually, server, settings, spec, up};
use evenkeel_core::Nanos;
use evenkeel_site::server::{Address, Control, Flavor, Needs, Target, TargetError, TlsMode, preflight};
use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread;
use std::time::Duration;

fn connect(target: &Target) -> TargetError {
    Control::connect(target).err().expect("no connection")
}

fn at_port(port: u16) -> Target {
    Target::parse(&format!("mysql://u:p@127.0.0.1:{port}/d")).unwrap()
}

#[test]
fn a_login_that_fails_says_why() {
    let (_home, sandbox) = server(&[]);
    let good = sandbox.tcp_target();
    let mut control = Control::connect(&good).unwrap();
    control.exec("CREATE DATABASE d").unwrap();
    control.exec("CREATE USER poor@'127.0.0.1' IDENTIFIED BY 'p'").unwrap();

    let wrong = Target { password: Some("wrong".into()), ..good.clone() };
    let error = connect(&wrong);
    assert!(matches!(&error, TargetError::Login { user, .. } if user == "evenkeel"), "{error}");
    assert!(error.to_string().contains("with a password") && !error.to_string().contains("wrong"));

    let missing = Target { database: Some("nowhere".into()), ..good.clone() };
    assert!(matches!(connect(&missing), TargetError::NoDatabase { database, .. } if database == "nowhere"));

    let poor = Target {
        user: "poor".into(),
        password: Some("p".into()),
        database: Some("d".into()),
        ..good.clone()
    };
    assert!(matches!(connect(&poor), TargetError::DatabaseDenied { database, .. } if database == "d"));

    let secure = Target { tls: TlsMode::Required, ..good.clone() };
    assert!(matches!(connect(&secure), TargetError::Tls { .. }));
    let preferred = Target { tls: TlsMode::Preferred, ..good.clone() };
    Control::connect(&preferred).unwrap();

    let by_name = Target { address: Address::Tcp { host: "no.such.host.invalid".into(), port: 1 }, ..good };
    assert!(matches!(connect(&by_name), TargetError::Unreachable { .. }));
}

#[test]
fn nobody_there_is_told_apart_from_somebody_else_there() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let server = std::thread::spawn(move || {
        for greeting in ["SSH-2.0-OpenSSH_9.2\r\n", "", "\0\0"] {
            let (mut stream, _) = listener.accept().unwrap();
            stream.write_all(greeting.as_bytes()).unwrap();
        }
    });
    assert!(matches!(connect(&at_port(port)), TargetError::Protocol { .. } | TargetError::Lost { .. }));
    for _ in 0..2 {
        let error = connect(&at_port(port));
        assert!(matches!(error, TargetError::Lost { .. } | TargetError::Protocol { .. }), "{error}");
    }
    server.join().unwrap();
    let error = connect(&at_port(port));
    assert!(matches!(error, TargetError::Refused { .. }), "{error}");
    assert!(error.hint().is_some());
    let checked = Target { tls: TlsMode::VerifyIdentity, ..at_port(port) };
    assert!(matches!(connect(&checked), TargetError::Refused { .. }));
    let socket = Target::parse("mysql://u@/?socket=/nonexistent/s").unwrap();
    assert!(matches!(connect(&socket), TargetError::Unreachable { .. }));
}

#[test]
fn a_server_that_is_silent_at_the_login_is_given_up() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let error = connect(&at_port(listener.local_addr().unwrap().port()));
    // Fifteen where this process was stopped meanwhile, so that the wait for the first word began anew.
    assert!(matches!(error, TargetError::Timeout { doing: "logging in", seconds: 10 | 15, .. }), "{error}");
}

#[test]
fn a_server_that_sends_a_byte_now_and_then_is_given_up_too() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let drip = thread::spawn(move || {
        let (mut client, _) = listener.accept().unwrap();
        // The head of a packet that never ends.
        let mut sent = client.write_all(&[0, 0, 1, 0]);
        while sent.is_ok() {
            thread::sleep(Duration::from_millis(500));
            sent = client.write_all(&[10]);
        }
    });
    let error = connect(&at_port(port));
    assert!(matches!(error, TargetError::Timeout { doing: "logging in", seconds: 15, .. }), "{error}");
    assert!(!drip.is_finished(), "the server has not ended it");
}

#[test]
fn a_server_that_is_silent_behind_the_login_is_given_up_too() {
    let (_home, sandbox) = server(&[]);
    let good = sandbox.tcp_target();
    let Address::Tcp { host, port } = good.address.clone() else { panic!("a port") };
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let here = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        let (mut client, _) = listener.accept().unwrap();
        let mut server = TcpStream::connect((host, port)).unwrap();
        let (mut answers, mut back) = (server.try_clone().unwrap(), client.try_clone().unwrap());
        thread::spawn(move || io::copy(&mut answers, &mut back));
        let mut asked = [0; 1 << 12];
        while let Ok(count @ 1..) = client.read(&mut asked) {
            let is_first = asked[..count].windows(9).any(|words| words == b"VERSION()");
            if !is_first && server.write_all(&asked[..count]).is_err() {
                break;
            }
        }
    });
    let error = connect(&Target { address: Address::Tcp { host: "127.0.0.1".into(), port: here }, ..good });
    assert!(matches!(error, TargetError::Timeout { doing: "logging in", .. }), "{error}");
}

#[test]
fn queries_bring_columns_rows_and_nulls() {
    let (_home, sandbox) = server(&[]);
    let mut control = Control::connect(&sandbox.target()).unwrap();
    assert_eq!(control.version().flavor, Flavor::MariaDb);
    assert!(control.version().numbers >= (10, 4, 0));

    let rows =
        control.query("SELECT 1 AS one, NULL AS nothing, 'ü' AS text UNION ALL SELECT 2, 'x', ''").unwrap();
    assert_eq!(rows.columns, ["one", "nothing", "text"]);
    assert_eq!(rows.column("NOTHING"), Some(1));
    let some = |text: &str| Some(text.to_owned());
    assert_eq!(rows.rows, [[some("1"), None, some("ü")], [some("2"), some("x"), some("")]]);

    let mut sum = 0;
    let count = control
        .for_each_row("SELECT seq FROM mysql.seq_1_to_1000", &mut |row| {
            let value = row[0].as_deref().unwrap();
            sum += std::str::from_utf8(value).unwrap().parse::<u64>().unwrap();
            Ok(())
        })
        .unwrap();
    assert_eq!((count, sum), (1000, 500_500));
    let ended =
        control.for_each_row("SELECT seq FROM mysql.seq_1_to_1000", &mut |_| Err(io::Error::other("enough")));
    assert!(matches!(ended, Err(TargetError::Reader(_))));
    control.ping().unwrap();

    let error = control.exec("SELEC 1").unwrap_err();
    assert_eq!(error.code(), Some(1064));
    assert!(control.status().unwrap()["Threads_connected"].parse::<u32>().unwrap() >= 1);

    let mut other = Control::connect(&sandbox.target()).unwrap();
    control.kill(other.id()).unwrap();
    // The server says that it will, and its thread does when it runs next.
    eventually("the end of the session", || {
        matches!(other.ping(), Err(TargetError::Lost { .. } | TargetError::Statement { .. }))
    });
}

/// So many rows `n\tn * n\n`, then an error if one is wanted.
struct Squares {
    next: u64,
    end: u64,
    fails: bool,
    rest: Vec<u8>,
}

impl Read for Squares {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.rest.is_empty() && self.next < self.end {
            self.rest = format!("{}\t{}\n", self.next, self.next * self.next).into_bytes();
            self.next += 1;
        }
        if self.rest.is_empty() && self.fails {
            return Err(io::Error::other("the disk is gone"));
        }
        let count = self.rest.len().min(buffer.len());
        buffer[..count].copy_from_slice(&self.rest[..count]);
        self.rest.drain(..count);
        Ok(count)
    }
}

#[test]
fn rows_are_streamed_into_a_table_and_a_failing_reader_leaves_none() {
    let (_home, sandbox) = server(&[]);
    let mut control = Control::connect(&sandbox.target()).unwrap();
    control.exec("CREATE DATABASE d").unwrap();
    control.exec("CREATE TABLE d.t (n INT PRIMARY KEY, s BIGINT)").unwrap();
    let load = "LOAD DATA LOCAL INFILE 'rows' INTO TABLE d.t";
    let squares = |end, fails| Squares { next: 0, end, fails, rest: Vec::new() };

    let error = control.load_data_local(load, squares(50_000, true)).unwrap_err();
    assert_eq!(error.to_string(), "reading the rows to load failed: the disk is gone");
    eventually("the end of what had come of the rows", || {
        control.query_value("SELECT COUNT(*) FROM d.t").unwrap().as_deref() == Some("0")
    });
    assert_eq!(control.load_data_local(load, squares(50_000, false)).unwrap(), 50_000);
    assert_eq!(control.query_value("SELECT SUM(s) FROM d.t").unwrap().as_deref(), Some("41665416675000"));

    control.exec("SET GLOBAL local_infile = OFF").unwrap();
    let error = control.load_data_local(load, squares(1, false)).unwrap_err();
    assert!(matches!(error, TargetError::LocalInfile { .. }), "{error}");
}

#[test]
fn the_preflight_names_what_stands_in_the_way_of_a_run() {
    let home = tempfile::tempdir().unwrap();
    let mut small = spec(home.path(), "a");
    small.settings.extend(settings(&[
        ("max_connections", "50"),
        ("max_prepared_stmt_count", "100"),
        ("table_open_cache", "30"),
        ("wait_timeout", "60"),
        ("local_infile", "OFF"),
        ("read_only", "ON"),
    ]));
    let sandbox = up(&small).unwrap();
    let mut root = Control::connect(&sandbox.tcp_target()).unwrap();
    root.exec("CREATE DATABASE d").unwrap();
    root.exec("CREATE USER poor@'127.0.0.1' IDENTIFIED BY 'p' WITH MAX_USER_CONNECTIONS 10").unwrap();
    root.exec("GRANT SELECT ON d.* TO poor@'127.0.0.1'").unwrap();
    let needs = Needs {
        sessions: 60,
        prepared_per_session: 2,
        writes: true,
        local_infile: true,
        duration: Nanos::from_secs(180),
        database: Some("d".into()),
        privileges: vec!["SELECT".into(), "INSERT".into()],
    };

    let poor = Target { user: "poor".into(), password: Some("p".into()), ..sandbox.tcp_target() };
    let problems = preflight(&mut Control::connect(&poor).unwrap(), &needs).unwrap().unwrap_err();
    let found: Vec<_> = problems.iter().map(|problem| problem.subject.as_str()).collect();
    let expected = "max_connections max_user_connections max_prepared_stmt_count table_open_cache wait_timeout \
                    read_only local_infile INSERT";
    assert_eq!(found.join(" "), expected);
    assert!(problems.iter().all(|problem| !problem.hint.is_empty()));

    let modest =
        Needs { sessions: 5, writes: false, local_infile: false, duration: Nanos::from_secs(5), ..needs };
    assert_eq!(preflight(&mut root, &modest).unwrap(), Ok(()));
}

/// A server that checks no privileges, in a folder of its own; it ends with this.
struct Open(std::process::Child);

impl Open {
    fn start(home: &std::path::Path) -> Self {
        let at = |name: &str| home.join(name).display().to_string();
        std::fs::create_dir(home.join("data")).unwrap();
        let mut command = std::process::Command::new("mariadbd");
        command.env("PATH", format!("{}:/usr/sbin", std::env::var("PATH").unwrap_or_default()));
        command.args(["--no-defaults", "--user=root", "--skip-grant-tables", "--skip-networking"]);
        command.args(["--innodb-buffer-pool-size=16M", "--innodb-log-file-size=8M"]);
        command.arg(format!("--datadir={}", at("data"))).arg(format!("--tmpdir={}", home.display()));
        command.arg(format!("--socket={}", at("socket"))).arg(format!("--log-error={}", at("log")));
        Self(command.stderr(std::process::Stdio::null()).spawn().expect("mariadbd is installed"))
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn a_server_that_checks_no_privileges_is_taken_for_one_that_grants_all_of_them_and_that_is_told() {
    let home = tempfile::tempdir().unwrap();
    let _server = Open::start(home.path());
    let target =
        Target::parse(&format!("mysql://anybody@/?socket={}", home.path().join("socket").display())).unwrap();
    eventually("the server answers", || Control::connect(&target).is_ok());
    let needs = Needs {
        sessions: 5,
        writes: true,
        database: Some("d".into()),
        privileges: vec!["SELECT".into(), "INSERT".into()],
        ..Needs::default()
    };
    let problems = preflight(&mut Control::connect(&target).unwrap(), &needs).unwrap().unwrap_err();
    let [only] = &problems[..] else { panic!("{problems:?}") };
    assert_eq!((only.subject.as_str(), only.blocks), ("skip-grant-tables", false), "{only:?}");
    assert!(only.text.contains("checks no privileges") && !only.hint.is_empty());
}
