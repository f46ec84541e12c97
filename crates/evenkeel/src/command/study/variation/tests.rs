//! Flags of the study and the plan that they make.

use super::*;
use clap::Parser;
use evenkeel_os::stop::Stop;

#[derive(Parser)]
struct Line {
    #[command(flatten)]
    args: Args,
}

fn args(flags: &[&str]) -> Args {
    Line::try_parse_from([&["x"], flags].concat()).map(|line| line.args).expect("flags")
}

fn made(flags: &[&str]) -> Result<(Plan, Setting)> {
    let session = Session { home: "/nowhere".into(), quiet: true, stop: Stop::default() };
    let args = args(flags);
    let setting = setting(&session, &args)?;
    Ok((plan(&args, &setting)?, setting))
}

fn refused(flags: &[&str]) -> String {
    format!("{:?}", made(flags).expect_err("it is refused"))
}

#[test]
fn what_will_be_done_is_said_before_with_its_minutes_or_hours() {
    let said = |flags: &[&str]| made(flags).map(|(plan, setting)| before(&plan, &setting)).expect("a plan");
    let quick = said(&["--quick"]);
    let minutes: f64 =
        quick.split("about ").nth(1).and_then(|rest| rest.split(' ').next()).unwrap().parse().unwrap();
    assert!(quick.ends_with("minutes\n") && minutes < 15.0, "{quick}");
    assert!(said(&["--full"]).ends_with("hours\n"), "{}", said(&["--full"]));
}

#[test]
fn a_command_belongs_to_its_server_and_one_that_belongs_to_none_is_refused() {
    let urls = ["mysql://a@db1/tpcw", "mysql://a@db2/tpcw"];
    let reset = "mysql://a@db2/tpcw=systemctl restart x=y";
    let (_, setting) = made(&[urls[0], urls[1], "--reset", reset]).expect("a plan");
    assert_eq!(setting.targets[0].reset, None);
    assert_eq!(setting.targets[1].reset.as_deref(), Some("systemctl restart x=y"));
    assert!(refused(&[urls[0], "--reset", reset]).contains("belongs to none"));
    assert!(refused(&["--reset", reset]).contains("private ones are restarted"));
    assert!(refused(&["mysql://a:s3cret@db1/tpcw"]).contains("EVENKEEL_PASSWORD"));
    assert!(!refused(&["mysql://a:s3cret@db1/tpcw"]).contains("s3cret"));
}

#[test]
fn parts_and_rates_are_those_asked_for() {
    let (plan, _) = made(&["--parts", "pool,rates", "--load", "40,20,40"]).expect("a plan");
    let names: Vec<&str> = plan.parts.iter().map(|part| part.name.as_str()).collect();
    assert_eq!(names, ["rates", "pool"]);
    let levels: Vec<&str> = plan.parts[0].factors[1].levels.iter().map(|level| level.name.as_str()).collect();
    assert_eq!(levels, ["20", "40"]);
    assert!(refused(&["--parts", "pool", "--rate", "10"]).contains("no part"));
    assert!(refused(&["--servers", "1", "--duet"]).contains("several servers at once"));
    assert!(refused(&["--workload", "tpcw.complx"]).contains("tpcw.complex"));
    assert!(refused(&["--duration", "100ms"]).contains("too short"));
    assert!(refused(&["--mu", "requests=0%"]).contains("--mu"));
    let (_, setting) = made(&["--mu", "requests=5%"]).expect("a plan");
    assert!(setting.mu.is_some_and(|mu| (mu.share_percent - 5.0).abs() < 1e-9));
}
