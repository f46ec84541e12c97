//! A server that cannot tell how long it worked is refused before the first run, with what to do.

use super::sandbox::{settings, up};
use super::study::{folder, spec};
use evenkeel_core::rates::RatePlan;
use evenkeel_lab::load::{PartsPlan, ToldBy};
use evenkeel_os::stop::Stop;
use evenkeel_site::server::{Control, Target};
use evenkeel_study::profile::{self, ServerSpec, StudySpec};
use std::path::Path;

/// What is said of a server to an account.
fn refusal(home: &Path, target: Target, told_by: ToldBy) -> String {
    let mut spec: StudySpec = spec(home, "tpcw.simple", RatePlan::List(vec![20.0]));
    spec.sites[0].place = ServerSpec::Remote(target);
    spec.series[0].pool = None;
    spec.parts = Some(PartsPlan { share: 1.0, told_by, server_pid: None });
    let refused = profile::run(&spec, &folder(&home.join("runs"), &spec), &Stop::default(), &mut |_| ());
    refused.unwrap_err().to_string()
}

#[test]
fn a_performance_schema_that_is_off_or_may_not_be_read_is_named_with_what_helps() {
    let home = tempfile::tempdir().unwrap();
    let server = up(&super::sandbox::spec(home.path(), "off")).unwrap();
    let said = refusal(home.path(), server.target(), ToldBy::PerformanceSchema);
    assert!(
        said.contains("the performance schema of this server is off") && said.contains("--mu-by profiles"),
        "{said}"
    );
    drop(server);

    let mut spec = super::sandbox::spec(home.path(), "on");
    spec.settings.extend(settings(&[("performance_schema", "ON")]));
    let server = up(&spec).unwrap();
    let said = refusal(&home.path().join("on"), server.target(), ToldBy::PerformanceSchema);
    assert!(
        said.contains("events_statements_history")
            && said.contains("UPDATE performance_schema.setup_consumers"),
        "{said}"
    );

    let mut control = Control::connect(&server.target()).unwrap();
    control.exec("CREATE USER plain@'%' IDENTIFIED BY 'p'").unwrap();
    control.exec("GRANT SELECT ON test.* TO plain@'%'").unwrap();
    let plain = Target { user: "plain".into(), password: Some("p".into()), ..server.tcp_target() };
    let said = refusal(&home.path().join("plain"), plain, ToldBy::PerformanceSchema);
    assert!(said.contains("may not read the performance schema") && said.contains("GRANT SELECT"), "{said}");
}
