//! What a file of a guard may say, and what is wrong in one.

use super::*;
use crate::config::fields::tests::{known, uncommented};

const SHORT: &str = "listen = '127.0.0.1:3307'\nbackend = '127.0.0.1:3306'\n";

/// The file, with these flags over it.
fn read(text: &str, flags: &[&str]) -> Result<GuardConfig> {
    let (_folder, flags) = crate::config::fields::tests::flags::<Flags>(text, flags);
    flags.read()
}

#[test]
fn the_example_shows_every_key_and_can_be_read_with_all_of_them() {
    assert_eq!(GuardConfig::parse(EXAMPLE).unwrap().weights.get("shop"), Some(&3));
    let all = uncommented(EXAMPLE);
    let full = GuardConfig::parse(&all).unwrap();
    assert_eq!((full.plan.options.queue_max, full.plan.clients_max), (Some(10_000), Some(10_000)));
    for table in ["", "[control]\n", "[queue]\n", "[idle]\n", "[client_tls]\n", "[backend_tls]\n"] {
        let error = GuardConfig::parse(&format!("{SHORT}{table}zzzzzzzz = 1")).unwrap_err();
        for key in known(&error) {
            let is_shown =
                [format!("\n{key} = "), format!("\n[{key}]")].iter().any(|line| all.contains(line));
            assert!(is_shown, "{table}{key}");
        }
    }
}

#[test]
fn what_is_wrong_is_named_with_its_line_and_the_name_that_its_key_has_in_the_file() {
    for (more, expected) in [
        ("[control]\n# as many\ncontroler = 'fixed'", ":5: control: unknown key `controler`, did you mean"),
        ("[control]\ncontroller = 'fixd'", "`fixed`"),
        (
            "[control]\ninitial_limit = 0",
            ":4: control: `initial_limit` must be between 1 and 100000, and is 0",
        ),
        (
            "[control]\ninitial_limit = 9\nmax_limit = 3",
            ":4: control: `initial_limit` 9 is above `max_limit` 3",
        ),
        ("[control]\n\ntick = '1h'", ":5: control: `tick` must be between"),
        ("[control]\nreflection_span = '1ms'", "`reflection_span` must be a tick or more"),
        ("[weights]\nshop = 0", ":4: weights: `shop` must be a whole number"),
        ("[queue]\nwait = 'long'", "`wait`"),
        ("[client_tls]\ncertificate = 'x'", "belong together"),
        ("[client_tls]\nself_signed = true\ncertificate = 'x'\nkey = 'y'", "exclude each other"),
        ("[client_tls]\nmode = 'verify-ca'", "\"required\", \"preferred\", \"disabled\""),
        ("[backend_tls]\nmode = 'on'", "\"verify-ca\", \"verify-identity\""),
        ("[backend_tls]\nmode = 'preferred'\nauthorities = 'x'", "hint: verify-identity"),
        ("[backend_tls]\nmode = 'verify-ca'", "no authorities"),
        ("clients_max = 0", ":3: guard: `clients_max` must be 1 or more"),
        ("backend_silence = '0s'", "`backend_silence` must be 1s or more"),
    ] {
        let error = read(&format!("{SHORT}{more}\n"), &[]).unwrap_err().to_string();
        assert!(error.contains(expected), "{more}: {error}");
    }
    for (text, expected) in [
        ("backend = 'x:1'", "no address for clients: give --listen, or `listen` in the file"),
        ("listen = 'x:1'", "no server: give --backend, or `backend` in the file"),
        ("listen = 'nowhere'\nbackend = 'x:1'", ":1: guard: `listen`: \"nowhere\""),
    ] {
        let error = read(text, &[]).unwrap_err().to_string();
        assert!(error.contains(expected), "{text}: {error}");
    }
}

#[test]
fn a_flag_wins_over_the_file_and_what_no_flag_says_stays() {
    let text = "metrics = 'x:9'\ndrain = '3s'\nadministrators = ['root']\nthreads = 2\n\
                [control]\ncontroller = 'reflection'\n\
                [queue]\nby = 'database'\nlength = 7\nwait = '2s'\n[client_tls]\nmode = 'disabled'";
    let file = read(&format!("{SHORT}{text}"), &[]).unwrap();
    let plan = &file.plan;
    assert_eq!((file.drain, file.controller.as_str()), (Nanos::from_secs(3), "reflection"));
    assert_eq!(file.metrics.as_deref(), Some("x:9"));
    assert_eq!((plan.tenants, plan.options.queue_max, plan.threads), (TenantBy::Database, Some(7), 2));
    assert!(!plan.options.dry_run && plan.client_tls.mode == TlsMode::Disabled);
    assert_eq!(plan.administrators, ["root"]);
    // The addresses may be those of the command line alone.
    let flags = ["--listen=x:1", "--listen=x:2", "--backend=x:3", "--metrics=x:4", "--dry-run"];
    let both = read(text, &flags).unwrap();
    let plan = &both.plan;
    let listen: Vec<String> = plan.listen.iter().map(Address::to_string).collect();
    assert_eq!(
        (listen, plan.backend.to_string()),
        (vec!["x:1".to_owned(), "x:2".to_owned()], "x:3".to_owned())
    );
    assert_eq!(both.metrics.as_deref(), Some("x:4"));
    assert!(plan.options.dry_run);
    assert_eq!((plan.options.wait_max, both.drain), (Some(Nanos::from_secs(2)), Nanos::from_secs(3)));
}
