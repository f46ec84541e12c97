//! What a file of a host may say, and what is wrong in one.

use super::*;

const SHORT: &str = "name = 'web1'\n[[disk]]\nname = 'data'\nbacking = '/dev/sdb'\n";

#[test]
fn a_name_and_a_disk_are_enough() {
    let config = ShareConfig::parse(SHORT).unwrap();
    assert_eq!(config, ShareConfig::new("web1", vec![DiskConfig::new("data", "/dev/sdb")]));
    assert_eq!(config.law().unwrap(), Law::Evenkeel(Settings::new(0.015)));
}

#[test]
fn the_example_shows_every_key() {
    let text = include_str!("../../../../../examples/share.toml");
    assert_eq!(ShareConfig::parse(text).unwrap().disks.len(), 2);
    // The keys that are commented out, because they are no defaults, can be read as well.
    let all: String =
        text.lines().map(|line| format!("{}\n", line.strip_prefix("#: ").unwrap_or(line))).collect();
    let full = ShareConfig::parse(&all).unwrap();
    let disk = &full.disks[0];
    assert!(
        disk.size.is_some()
            && disk.nbd.len() == 1
            && disk.socket.mode == Some(0o660)
            && disk.fuse.is_some()
            && disk.simulated.is_some()
            && full.metrics.is_some()
    );
}

#[test]
fn what_is_wrong_is_named() {
    for (text, expected) in [
        (SHORT.replace("name = 'web1'\n", ""), "`name` is missing"),
        ("name = 'web1'".to_owned(), "1 to 64 disks, not 0"),
        (SHORT.replace("backing", "baking"), "is `baking` meant to be it?"),
        (format!("{SHORT}share = 0"), "`share` must be between"),
        (format!("{SHORT}share = 'much'"), "`share` must be a number"),
        (format!("{SHORT}size = 'big'"), "`size`"),
        (format!("{SHORT}[[disk]]\nname = 'data'\nbacking = 'x'"), "two disks are called `data`"),
        (SHORT.replace("'data'", "'a/b'"), "no slash"),
        (format!("{SHORT}[window]\nlatency = '1h'"), "`latency` must be between"),
        (format!("{SHORT}[window]\nperiod = '1ms'"), "`period` must be between"),
        (format!("{SHORT}[window]\ninitial_window = 300"), "300 and 256"),
        (format!("{SHORT}[window]\nlaw = 'pard'"), "`law` is \"pard\""),
        (format!("{SHORT}[costs]\nread = '16k'"), "not a list of sizes and costs"),
        (format!("{SHORT}[costs]\nread = '16k=3'"), "the unit of costs is a read of 16k"),
        (format!("{SHORT}[costs]\nwrite = '16k=0'"), "a cost must be between"),
        (format!("{SHORT}[bus]\nadress = 'x'"), "did you mean `address`?"),
        (format!("{SHORT}socket_mode = 'rw'"), "in octal digits"),
        (format!("{SHORT}[tls]\ncertificate = 'x'"), "a certificate and its key"),
    ] {
        let error = ShareConfig::parse(&text).unwrap_err().to_string();
        assert!(error.contains(expected), "{text}: {error}");
    }
}

#[test]
fn a_flag_wins_over_the_file_and_what_no_flag_says_stays() {
    #[derive(clap::Parser)]
    struct Line {
        #[command(flatten)]
        flags: Flags,
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("share.toml");
    let text = "memory = '3M'\nnbd = '/run/a'\nsocket_mode = '0600'\n[window]\nlaw = 'parda'\nperiod = '3s'\n\
                [costs]\nwrite = '16k=3'\n[bus]\nrequire = true\narray = 'a'";
    std::fs::write(&path, SHORT.replace("[[disk]]", &format!("{text}\n[[disk]]"))).unwrap();
    let read = |flags: &[&str]| {
        let line = [&["share", "--config", path.to_str().unwrap()], flags].concat();
        <Line as clap::Parser>::parse_from(line).flags.read().unwrap()
    };
    let file = read(&[]);
    assert_eq!((file.memory, file.socket.mode, file.law.as_str()), (3 << 20, Some(0o600), "parda"));
    let flags = [
        "--memory=4M",
        "--socket-mode=0660",
        "--period=4s",
        "--initial-window=8",
        "--array=b",
        "--name=web2",
    ];
    let expected = ShareConfig {
        name: "web2".to_owned(),
        memory: 4 << 20,
        socket: SocketConfig { mode: Some(0o660), group: None },
        period: Nanos::from_secs(4),
        initial_window: 8.0,
        bus: BusConfig { array: "b".to_owned(), ..file.bus.clone() },
        ..file
    };
    assert_eq!(read(&flags), expected);
}
