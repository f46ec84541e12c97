//! What passes a guard is in its capture.

use crate::guard::server::{Proxy, Server};
use evenkeel_guard::capture::{Capture, Settings};
use evenkeel_lab::replay::recording::Recording;
use evenkeel_os::Background;
use evenkeel_site::server::{Control, Target};
use evenkeel_wire::Parameter;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;

struct Scene {
    server: Server,
    proxy: Proxy,
    folder: PathBuf,
    capture: Arc<Capture>,
    writer: Background<()>,
}

impl Scene {
    fn new(most: u64) -> Self {
        let server = Server::up(&[("max_allowed_packet", "64M")]);
        let folder = server.file("capture");
        let settings = Settings { folder: folder.clone(), most, redact: false, server: "{}".to_owned() };
        let (capture, writer) = Capture::start(settings).expect("a capture");
        let proxy = Proxy::start(&server, |plan| plan.capture = Some(Arc::clone(&capture)));
        Self { server, proxy, folder, capture, writer }
    }

    fn control(&self) -> Control {
        let url = format!("mysql://app@{}/shop", self.proxy.address);
        Control::connect(&url.parse::<Target>().expect("a target")).expect("a session")
    }
}

#[test]
fn commands_are_in_the_capture_once_and_in_order_with_what_came_of_them() {
    let scene = Scene::new(1 << 30);
    scene.server.sql("CREATE TABLE shop.t (a INT PRIMARY KEY)");
    let mut control = scene.control();
    let long = format!("SELECT LENGTH('{}')", "a".repeat(20 << 20));
    control.exec("INSERT INTO t VALUES (1), (2), (3)").expect("rows");
    control.query("SELECT a FROM t").expect("rows");
    control.exec("INSERT INTO t VALUES (1)").expect_err("a duplicate");
    control.execute("SELECT a FROM t WHERE a < ?", &[Parameter::Int(3)], None).expect("rows");
    control.query(&long).expect("a row");
    let _ = control.exec("CREATE USER someone IDENTIFIED BY 's3cret'");
    drop(control);
    scene.proxy.stop();
    scene.writer.finish();

    let recording = Recording::open(&scene.folder).expect("a recording");
    let session = &recording.sessions()[0];
    assert_eq!((recording.sessions().len(), &session.database[..], recording.cut), (1, &b"shop"[..], 0));
    let mut buffer = Vec::new();
    let found = session.commands.iter().map(|place| {
        let asked = recording.read(place, &mut buffer).expect("a command");
        let text = String::from_utf8_lossy(&asked.command[1..asked.command.len().min(25)]).into_owned();
        (asked.command[0], text, asked.command.len(), asked.answer)
    });
    let found: Vec<_> = found
        .filter(|(_, text, ..)| {
            !text.contains("@@") && !text.contains("VERSION") && !text.starts_with("SET SESSION")
        })
        .collect();
    let kinds: Vec<u8> = found.iter().map(|(kind, ..)| *kind).collect();
    assert_eq!(kinds, [3, 3, 3, 0x16, 0x17, 3], "{found:?}");
    let [inserted, selected, doubled, prepared, executed, longest] = &found[..] else { unreachable!() };
    assert_eq!((inserted.3.affected, selected.3.rows, doubled.3.error), (Some(3), Some(3), Some(1062)));
    assert!(prepared.3.statement.is_some() && executed.3.rows == Some(2), "{found:?}");
    assert_eq!((longest.2, longest.3.rows), (1 + long.len(), Some(1)));
    assert_eq!((recording.left_out.len(), recording.not_kept, recording.unended), (1, 1, 0), "CREATE USER");
    for entry in fs::read_dir(&scene.folder).expect("a folder").map(|entry| entry.expect("a file")) {
        let bytes = fs::read(entry.path()).expect("bytes");
        assert!(!bytes.windows(6).any(|part| part == b"s3cret"), "passwords of accounts are left out");
        assert_eq!(entry.metadata().expect("metadata").permissions().mode() & 0o777, 0o600);
    }
}

#[test]
fn a_capture_that_is_full_ends_and_clients_are_served() {
    let scene = Scene::new(10_000);
    let mut control = scene.control();
    for number in 0..2_000 {
        assert_eq!(
            control.query_value(&format!("SELECT {number}")).expect("an answer"),
            Some(number.to_string())
        );
    }
    crate::cli::eventually("the end of the capture", || scene.capture.failed().is_some());
    for _ in 0..10 {
        control.query_value("SELECT 1").expect("an answer");
    }
    let count = |of: &std::sync::atomic::AtomicU64| of.load(Ordering::Relaxed);
    assert!(count(&scene.capture.left_out) >= 10, "{:?}", scene.capture.left_out);
    assert!(count(&scene.capture.bytes) <= 10_000);
    drop(control);
    scene.proxy.stop();
}
