//! Settings of studies, and the plans that they make.

use super::*;
use clap::Parser;
use evenkeel_os::stop::Stop;
use evenkeel_study::harness::Part;
use serde_json::Value;

#[derive(Parser)]
struct Line {
    #[command(flatten)]
    args: Args,
}

fn args(line: &str) -> Args {
    Line::try_parse_from([&["x"][..], &line.split(' ').collect::<Vec<_>>()[..]].concat()).expect("flags").args
}

fn made(line: &str) -> Result<Plan> {
    let home = tempfile::tempdir().unwrap();
    let session = Session { home: home.path().to_owned(), quiet: true, stop: Stop::default() };
    let args = args(line);
    let known = PUBLISHED.iter().find(|known| args.study.as_deref() == Some(known.name)).expect("a study");
    (known.plan)(&session, &args)
}

fn plan(line: &str) -> Plan {
    made(line).unwrap_or_else(|error| panic!("{line}: {error:?}"))
}

fn names(plan: &Plan) -> Vec<&str> {
    plan.parts.iter().map(|part| part.name.as_str()).collect()
}

fn levels(part: &Part, factor: usize) -> Vec<&str> {
    part.factors[factor].levels.iter().map(|level| level.name.as_str()).collect()
}

#[test]
fn every_setting_has_help_and_its_list_has_no_flag_but_the_common_ones() {
    for known in &PUBLISHED {
        let command = (known.settings)();
        command.clone().debug_assert();
        for setting in command.get_arguments() {
            assert!(setting.get_help().is_some() && setting.get_long().is_some(), "{}", setting.get_id());
        }
        let text = known.listed();
        let flags =
            text.split(|c: char| !c.is_alphanumeric() && c != '-').filter(|word| word.starts_with("--"));
        for flag in flags {
            let common = ["--quick", "--repeats", "--name", "--output", "--json"];
            assert!(common.contains(&flag), "{flag} in {text}");
        }
    }
}

#[test]
fn what_is_wrong_is_said_of_settings_and_not_of_flags() {
    for (line, words) in [
        ("throttling cliens=4", "throttling has no setting `cliens`, did you mean `clients`?"),
        ("throttling clients", "\"clients\" is no setting, which is written as KEY=VALUE"),
        ("throttling clients=0", "invalid value '0' for 'clients=LIST': 0 is not in 1..=1900"),
        ("throttling duration=10ms", "for 'duration=TIME': too short"),
        ("shares experiments=table-9", "there is table-3"),
        ("shares live=yes period=50ms", "between 200ms and 10s"),
        ("databases duration=1s", "windows do not move"),
        ("telecom records=5", "5 is not in"),
        ("variation url=sandbox:nobody", "no sandbox"),
        ("variation parts=pool rate=10", "there is rates; the other parts take private servers"),
        ("variation rate=5 load=50", "'rate=LIST' cannot be used with 'load=LIST'"),
        ("variation full=yes --quick", "take one of them"),
        ("variation mu=0%", "'mu=SHARE': a percentage"),
        ("variation reset=mysql://a@b/c=true", "were not provided: url=URL"),
        ("variation url=mysql://a@db1/d reset=mysql://a@db2/d=x", "belongs to none"),
        ("variation url=mysql://a:s3cret@db1/tpcw", "EVENKEEL_PASSWORD"),
        ("variation url=mysql://a@db1/tpcw duet=yes", "name a second one"),
        ("variation url=mysql://a@db1/tpcw items=100", "cannot be used with"),
    ] {
        let told = format!("{:?}", made(line).expect_err(line));
        assert!(told.contains(words) && !told.contains("s3cret") && !told.contains("'--"), "{line}: {told}");
    }
}

#[test]
fn records_that_find_no_room_are_refused() {
    let free = evenkeel_os::free_bytes(&std::env::temp_dir()).unwrap();
    let refused = made("telecom records=1000000000").map_err(|error| format!("{error:?}"));
    assert!(free > 3_000_000_000_000 || refused.is_err_and(|told| told.contains("take fewer records")));
}

#[test]
fn a_plan_has_the_parts_and_levels_that_were_asked_for_in_their_order() {
    let rates = plan("variation parts=pool,rates load=40,20,40 mu=5%");
    assert_eq!((names(&rates), levels(&rates.parts[0], 1)), (vec!["rates", "pool"], vec!["20", "40"]));
    assert!((rates.setting["mu_percent"].as_f64().unwrap() - 5.0).abs() < 1e-9);
    assert_eq!(names(&plan("telecom parts=crash,load")), ["load", "crash"]);
    let points = plan("throttling --quick clients=128,2 ways=evenkeel,direct");
    assert_eq!(levels(&points.parts[0], 0), ["direct", "evenkeel"]);
    assert_eq!(
        (levels(&points.parts[0], 1), levels(&points.parts[2], 1)),
        (vec!["2", "128"], vec!["2", "64"])
    );
    assert_eq!(names(&plan("shares experiments=table-3")), ["table-3"]);
}

#[test]
fn a_reset_is_that_of_its_server() {
    let made = plan("variation url=mysql://a@db1/d url=mysql://a@db2/d reset=mysql://a@db2/d=restart=x=y");
    let targets = &made.setting["targets"];
    assert_eq!((&targets[0]["reset"], &targets[1]["reset"]), (&Value::Null, &"restart=x=y".into()));
}
