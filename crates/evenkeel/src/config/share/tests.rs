//! What a file of a host may say, and what is wrong in one.

use super::*;
use crate::config::fields::tests::{known, uncommented};

const SHORT: &str = "name = 'web1'\n[[disk]]\nname = 'data'\nbacking = '/dev/sdb'\n";

/// The file, with these flags over it.
fn read(text: &str, flags: &[&str]) -> Result<ShareConfig> {
    let (_folder, flags) = crate::config::fields::tests::flags::<Flags>(text, flags);
    flags.read()
}

#[test]
fn the_example_shows_every_key_and_can_be_read_with_all_of_them() {
    assert_eq!(ShareConfig::parse(EXAMPLE).unwrap().disks.len(), 2);
    let all = uncommented(EXAMPLE);
    let full = ShareConfig::parse(&all).unwrap();
    let disk = &full.disks[0];
    assert!(disk.size.is_some() && disk.simulated.is_some() && full.metrics.is_some());
    let disk = "[[disk]]\nname = 'a'\nbacking = 'b'\n";
    for table in ["", "[tls]\n", "[window]\n", "[costs]\n", "[bus]\n", disk] {
        let error = ShareConfig::parse(&format!("{table}zzzzzzzz = 1")).unwrap_err();
        for key in known(&error) {
            let shown = [format!("\n{key} = "), format!("\n[{key}]"), format!("\n[[{key}]]")];
            assert!(shown.iter().any(|line| all.contains(line)), "{table}{key}");
        }
    }
}

#[test]
fn what_is_wrong_is_named_with_its_line_and_the_name_that_its_key_has_in_the_file() {
    let more = |text: &str| format!("{SHORT}share = 1\n{text}");
    let wrong = ":7: window: `initial_window` must be above 0 and at most `max_window`; they are";
    for (text, expected) in [
        (SHORT.replace("backing", "baking"), "is `baking` a misspelling of it?"),
        (format!("{SHORT}share = 0"), "`share` must be between"),
        (more("[[disk]]\nname = 'log'\nbacking = 'x'\nshare = 0"), ": disk `log`: `share` must be between"),
        (format!("{SHORT}[[disk]]\nname = 'data'\nbacking = 'x'"), "two disks are called `data`"),
        (SHORT.replace("'data'", "'a/b'"), "no slash"),
        (format!("{SHORT}[window]\nlatency = '1h'"), "`latency` must be between"),
        (more("[window]\ninitial_window = 0"), wrong),
        (more("[window]\ninitial_window = 9\nmax_window = 3"), wrong),
        (format!("{SHORT}[window]\ninitial_window = 300"), "300 and 256"),
        (more("[window]\nlaw = 'pard'"), ":7: window: `law` is \"pard\", and must be"),
        (format!("{SHORT}[costs]\nread = '16k=3'"), "the unit of costs is a read of 16k"),
        (format!("{SHORT}[bus]\nadress = 'x'"), "did you mean `address`?"),
        (more("[bus]\naddress = 'file:/x'"), ":7: bus: `address` \"file:/x\" must be slot:FILE"),
        (more("[bus]\nslots = 0"), ":7: bus: `slots` must be between"),
        (format!("{SHORT}socket_mode = 'rw'"), "in octal digits"),
        (format!("{SHORT}[tls]\ncertificate = 'x'"), "a certificate and its key"),
    ] {
        let error = read(&text, &["--nbd=x:1"]).unwrap_err().to_string();
        assert!(error.contains(expected), "{text}: {error}");
    }
}

#[test]
fn a_flag_wins_over_the_file_and_what_no_flag_says_stays() {
    let text = "memory = '3M'\nnbd = '/run/a'\nsocket_mode = '0600'\n[window]\nlaw = 'parda'\nperiod = '3s'\n\
                [costs]\nwrite = '16k=3'\n[bus]\nrequire = true\narray = 'a'\n";
    let file = read(&SHORT.replace("[[disk]]", &format!("{text}[[disk]]")), &[]).unwrap();
    let said = (file.memory, file.socket_mode, file.window.law.as_str());
    assert_eq!(said, (Size(3 << 20), Some(Mode(0o600)), "parda"));
    let flags = ["--name=web2", "--backing=/b", "--size=1M", "--share=4", "--nbd=x:1", "--bus=slot:s"];
    let flags = [&flags[..], &["--latency=4ms", "--metrics=x:2"]].concat();
    let disk = DiskConfig { size: Some(Size(1 << 20)), share: 4.0, ..DiskConfig::new("web2", "/b") };
    let expected = ShareConfig {
        name: "web2".to_owned(),
        disks: vec![disk],
        nbd: vec!["x:1".parse().unwrap()],
        window: WindowConfig { latency: Nanos::from_millis(4), ..file.window.clone() },
        bus: BusConfig { address: Some("slot:s".to_owned()), ..file.bus.clone() },
        metrics: Some("x:2".to_owned()),
        ..file
    };
    assert_eq!(read(text, &flags).unwrap(), expected);
}
