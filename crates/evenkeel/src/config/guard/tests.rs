//! What a file of a guard may say, and what is wrong in one.

use super::*;
use evenkeel_guard::proxy::{TenantBy, TlsMode};

const SHORT: &str = "listen = '127.0.0.1:3307'\nbackend = '127.0.0.1:3306'\n";

fn error(more: &str) -> String {
    GuardConfig::parse(&format!("{SHORT}{more}")).unwrap_err().to_string()
}

#[test]
fn two_addresses_are_enough() {
    let config = GuardConfig::parse(SHORT).unwrap();
    let limits = (config.initial_limit, config.max_limit);
    assert_eq!((config.controller.as_str(), limits), ("evenkeel", (8, 1_024)));
    assert_eq!(config.plan.options, Options::default());
}

#[test]
fn a_mistyped_key_of_a_file_is_told_with_its_line() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("guard.toml");
    std::fs::write(&file, format!("{SHORT}[control]\n# as many as that\ninitial_limt = 9\n")).unwrap();
    let error = GuardConfig::load(&file).unwrap_err().to_string();
    let place = format!("{}:5: ", file.display());
    assert!(error.starts_with(&place) && error.contains("did you mean `initial_limit`?"), "{error}");
    std::fs::write(&file, format!("{SHORT}[control]\ninitial_limit = 'nine'\n")).unwrap();
    let error = GuardConfig::load(&file).unwrap_err().to_string();
    assert!(error.starts_with(&format!("{}:4: ", file.display())), "{error}");
}

#[test]
fn the_example_shows_every_key() {
    let text = include_str!("../../../../../examples/guard.toml");
    let config = GuardConfig::parse(text).unwrap();
    assert_eq!(config.weights.get("shop"), Some(&3));
    // The keys that are commented out, because they are no defaults, can be read as well.
    let all: String = text
        .lines()
        .map(|line| line.strip_prefix("#: ").unwrap_or(line))
        .map(|line| format!("{line}\n"))
        .collect();
    let full = GuardConfig::parse(&all).unwrap();
    assert_eq!(full.plan.options.queue_max, Some(10_000));
    assert_eq!(full.plan.clients_max, Some(10_000));
    assert!(
        full.monitor.is_some()
            && full.journal.is_some()
            && full.profile.is_some()
            && full.plan.client_tls.identity.is_some()
            && full.memory.is_some()
    );
}

#[test]
fn a_certificate_is_one_of_files_or_its_own() {
    let identity =
        |more| GuardConfig::parse(&format!("{SHORT}[client_tls]\n{more}")).unwrap().plan.client_tls.identity;
    assert_eq!(identity(""), None);
    assert_eq!(identity("self_signed = true"), Some(Identity::SelfSigned));
    let files = Identity::Files { certificate: "x".into(), key: "y".into() };
    assert_eq!(identity("certificate = 'x'\nkey = 'y'\nself_signed = false"), Some(files));
}

#[test]
fn the_studys_controller_takes_another_span_and_no_other_controller_does() {
    let settings = |controller: &str, more: &str| {
        let text = format!("{SHORT}[control]\ncontroller = '{controller}'\n{more}");
        GuardConfig::parse(&text).unwrap().controller_settings().unwrap()
    };
    let short = "reflection_span = '6s'";
    assert_eq!(settings("reflection", "reflection_span = '60s'"), settings("reflection", ""));
    assert_eq!(settings("reflection", short), settings("reflection", "").with_span(6.0));
    assert_ne!(settings("reflection", short), settings("reflection", ""));
    assert_eq!(settings("fixed", short), settings("fixed", ""));
}

#[test]
fn what_is_wrong_is_named() {
    for (more, expected) in [
        ("[control]\ncontroler = 'fixed'", "did you mean `controller`?"),
        ("[control]\ncontroller = 'fixd'", "`fixed`"),
        ("[control]\ninitial_limit = 0", "`initial_limit` must be between 1"),
        ("[control]\ninitial_limit = 4294967296", "`initial_limit` must be between 1 and 100000"),
        ("[control]\ninitial_limit = -1", "`initial_limit` must be between 1 and 100000"),
        ("[control]\ninitial_limit = 9\nmax_limit = 3", "`initial_limit` 9 is above `max_limit` 3"),
        ("[control]\ntick = '1h'", "`tick` must be between"),
        ("[control]\nreflection_span = '1ms'", "`reflection_span` must be a tick or more"),
        ("[weights]\nshop = 0", "`shop` must be a whole number"),
        ("[weights]\nshop = 'much'", "`shop` must be a whole number"),
        ("[queue]\nwait = 'long'", "`wait`"),
        ("[queue]\nby = 'host'", "`by` is \"host\""),
        ("[client_tls]\ncertificate = 'x'", "belong together"),
        ("[client_tls]\nself_signed = true\ncertificate = 'x'\nkey = 'y'", "exclude each other"),
        ("[client_tls]\nmode = 'verify-ca'", "\"required\", \"preferred\" or \"disabled\""),
        ("[backend_tls]\nmode = 'on'", "\"verify-ca\", \"verify-identity\""),
        ("[backend_tls]\nmode = 'preferred'\nauthorities = 'x'", "hint: verify-identity"),
        ("[backend_tls]\nmode = 'verify-ca'", "no authorities"),
        ("threads = 0", "`threads` must be between"),
        ("log = 'xml'", "`log` is \"xml\""),
        ("log_decisions = 'some'", "`log_decisions` is \"some\""),
        ("clients_max = 0", "`clients_max` must be 1 or more"),
        ("login_max = '20ms'", "`login_max` must be 1s or more"),
        ("backend_silence = '0s'", "`backend_silence` must be 1s or more"),
    ] {
        let error = error(more);
        assert!(error.contains(expected), "{more}: {error}");
    }
    assert!(GuardConfig::parse("backend = 'x:1'").unwrap_err().to_string().contains("`listen` is missing"));
    assert!(GuardConfig::parse("listen = 'nowhere'\nbackend = 'x:1'").is_err());
}

#[test]
fn a_flag_wins_over_the_file_and_what_no_flag_says_stays() {
    #[derive(clap::Parser)]
    struct Line {
        #[command(flatten)]
        flags: Flags,
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("guard.toml");
    let text = "drain = '3s'\nadministrators = ['root']\nthreads = 2\n[control]\ncontroller = 'reflection'\n\
                dry_run = true\n[queue]\nby = 'database'\nlength = 7\nwait = '2s'\n[client_tls]\nmode = 'disabled'";
    std::fs::write(&path, format!("{SHORT}{text}")).unwrap();
    let read = |flags: &[&str]| {
        let line = [&["guard", "--config", path.to_str().unwrap()], flags].concat();
        <Line as clap::Parser>::parse_from(line).flags.read().unwrap()
    };
    let file = read(&[]);
    let plan = &file.plan;
    assert_eq!((file.drain, file.controller.as_str()), (Nanos::from_secs(3), "reflection"));
    assert_eq!((plan.tenants, plan.options.queue_max, plan.threads), (TenantBy::Database, Some(7), 2));
    assert!(plan.options.dry_run && plan.client_tls.mode == TlsMode::Disabled);
    let both = read(&[
        "--drain=4s",
        "--controller=fixed",
        "--tenants=user",
        "--queue-max=8",
        "--admin=app",
        "--tls=required",
        "--initial-limit=9",
    ]);
    let plan = &both.plan;
    assert_eq!((both.drain, both.controller.as_str()), (Nanos::from_secs(4), "fixed"));
    assert_eq!((plan.tenants, plan.options.queue_max, both.initial_limit), (TenantBy::User, Some(8), 9));
    assert_eq!((plan.options.wait_max, plan.client_tls.mode), (Some(Nanos::from_secs(2)), TlsMode::Required));
    assert_eq!(plan.administrators, ["root", "app"]);
}
