//! `evenkeel study`: a published study, made again on this machine with both findings side by side, or one of the user's from a
//! file.

mod databases;
mod domains;
mod file;
mod forgotten;
mod kept;
mod keys;
mod recovery;
mod shares;
mod telecom;
mod throttling;
mod variation;

use super::Session;
use crate::failure::WithHint;
use crate::out;
use crate::study::stored::{check_command, check_name};
use crate::study::{goes_on, published};
use anyhow::{Result, anyhow};
use clap::{Arg, CommandFactory};
use evenkeel_lab::workload::similar;
use evenkeel_study::harness::{Part, Plan};
use evenkeel_study::published::{kind as published_kind, stored};
use evenkeel_study::store::StudyFolder;
use evenkeel_study::{profile, store};
pub use keys::Args;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// A published study as the command line has it.
struct Published {
    name: &'static str,
    question: &'static str,
    /// Which of --quick and --repeats it takes.
    takes: &'static [&'static str],
    settings: fn() -> clap::Command,
    plan: MakePlan,
}

/// Makes the plan of the settings.
type MakePlan = fn(&Session, &Args) -> Result<Plan>;

const BOTH: &[&str] = &["--quick", "--repeats"];

static PUBLISHED: [Published; 8] = [
    row(variation::NAME, variation::QUESTION, &["--quick"], variation::Settings::command, variation::plan),
    row(throttling::NAME, throttling::QUESTION, BOTH, throttling::Settings::command, throttling::plan),
    row(shares::NAME, shares::QUESTION, &[], shares::Settings::command, shares::plan),
    row(databases::NAME, databases::QUESTION, BOTH, databases::Settings::command, databases::plan),
    row(domains::NAME, domains::QUESTION, BOTH, domains::Settings::command, domains::plan),
    row(telecom::NAME, telecom::QUESTION, BOTH, telecom::Settings::command, telecom::plan),
    row(recovery::NAME, recovery::QUESTION, BOTH, recovery::Settings::command, recovery::plan),
    row(forgotten::NAME, forgotten::QUESTION, BOTH, forgotten::Settings::command, forgotten::plan),
];

const fn row(
    name: &'static str,
    question: &'static str,
    takes: &'static [&'static str],
    settings: fn() -> clap::Command,
    plan: MakePlan,
) -> Published {
    Published { name, question, takes, settings, plan }
}

impl Published {
    /// What it asks, its settings, and what is to be said of it.
    fn listed(&self) -> String {
        let command = keys::built((self.settings)());
        let line = |flag: &Arg| {
            let help = flag.get_help().map(ToString::to_string).unwrap_or_default();
            let default = flag.get_default_values().first();
            let default = default
                .map_or_else(String::new, |value| format!(" [default: {}]", value.as_os_str().display()));
            format!("  {:<20}  {help}{default}\n", keys::setting(flag))
        };
        let lines: String = command.get_arguments().map(line).collect();
        let flags = self.takes.iter().map(|flag| format!("{flag}, ")).collect::<String>();
        let about = command.get_about().map(ToString::to_string).unwrap_or_default();
        let after = command.get_after_help().map(ToString::to_string).unwrap_or_default();
        format!(
            "{}: {}\n\n{about}.\n\nSettings:\n{lines}\nFlags: {flags}--name, --output, --json\n\n{after}\n",
            self.name, self.question
        )
    }
}

/// Makes a study, goes on with one, or lists them.
pub fn run(session: &Session, args: &Args) -> Result<ExitCode> {
    let root = session.runs_dir(args.output.as_ref());
    if let Some(name) = &args.resume {
        let unfinished = if name == "last" && args.repeats.is_none() { unfinished(&root) } else { None };
        return resume(session, args, &unfinished.map_or_else(|| store::resolve_begun(&root, name), Ok)?);
    }
    let known = args.study.as_ref().and_then(|study| PUBLISHED.iter().find(|known| known.name == study));
    if args.list && (args.study.is_none() || known.is_some()) {
        out::write(&known.map_or_else(listed, Published::listed))?;
        return Ok(ExitCode::SUCCESS);
    }
    let Some(study) = &args.study else {
        return Err(anyhow!("no study is given")).hint(
            "name a file of yours (examples/studies has three), \
             or a published one: `evenkeel study --list` names them",
        );
    };
    if known.is_none() {
        check_file(args, study)?;
    }
    if let Some(name) = &args.name {
        check_name(&root, name)?;
    }
    match known {
        Some(known) => begin(session, args, known, &root),
        None => file::start(session, args, study.as_ref(), &root),
    }
}

fn listed() -> String {
    let lines = PUBLISHED.iter().map(|known| format!("{:<12}{}\n", known.name, known.question));
    format!(
        "{}{:<12}a study of your own, as examples/studies/setting.toml\n\n\
         `evenkeel study NAME --list` shows the settings of one\n",
        lines.collect::<String>(),
        "FILE"
    )
}

fn begin(session: &Session, args: &Args, of: &Published, root: &Path) -> Result<ExitCode> {
    let given = [("--quick", args.quick), ("--repeats", args.repeats.is_some())];
    if let Some((flag, _)) = given.iter().find(|(flag, is_given)| *is_given && !of.takes.contains(flag)) {
        return Err(anyhow!("the study of {} has no {flag}", of.name))
            .hint(format!("`evenkeel study {} --list` shows what it has", of.name));
    }
    let mut plan = (of.plan)(session, args)?;
    if let Some(name) = &args.name {
        plan.id.clone_from(name);
    }
    published::start(session, root, &plan, args.json)
}

/// The newest study that is not complete.
fn unfinished(root: &Path) -> Option<PathBuf> {
    let is_unfinished = |folder: &StudyFolder| -> Result<bool> {
        Ok(match stored(folder.path())? {
            Some((plan, runs)) => runs.len() < plan.parts.iter().map(Part::runs).sum::<usize>(),
            None if folder.head()?.kind == profile::NAME => false,
            None => !profile::summarise(&folder.plan()?, &folder.runs()?).complete,
        })
    };
    let all = store::list(root).ok()?.into_iter().rev().filter_map(|listed| listed.folder.ok());
    let mut left = all.filter(|folder| is_unfinished(folder).unwrap_or(false));
    left.next().map(|folder| folder.path().to_owned())
}

fn resume(session: &Session, args: &Args, path: &Path) -> Result<ExitCode> {
    check_command(path, goes_on::STUDY)?;
    if published_kind(path)?.is_none() {
        return file::resume(session, args, path);
    }
    if args.repeats.is_some() {
        return Err(anyhow!("--repeats: it cannot be changed once a published study has begun"))
            .hint("leave --repeats out");
    }
    published::resume(session, path, args.json)
}

/// Whoever mistypes the name of a published study has named a file that is not there.
fn check_file(args: &Args, file: &str) -> Result<()> {
    if !Path::new(file).exists() {
        let near = similar(file, PUBLISHED.iter().map(|known| known.name));
        let near = near.first().map_or_else(String::new, |near| format!("did you mean {near}? "));
        return Err(anyhow!("there is neither a study nor a file {file}"))
            .hint(format!("{near}`evenkeel study --list` names the published studies"));
    }
    if args.list || args.quick || args.repeats.is_some() || !args.settings.is_empty() {
        return Err(anyhow!("settings of a study file are in the file"))
            .hint("leave KEY=VALUE, --list, --quick and --repeats out; examples/studies shows every key");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;
    use evenkeel_os::Stop;
    use evenkeel_study::harness::Part;
    use serde_json::Value;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        args: Args,
    }

    fn args(line: &str) -> Args {
        Line::try_parse_from([&["x"][..], &line.split(' ').collect::<Vec<_>>()[..]].concat())
            .expect("flags")
            .args
    }

    fn made(line: &str) -> Result<Plan> {
        let home = tempfile::tempdir().unwrap();
        let session = Session { home: home.path().to_owned(), quiet: true, stop: Stop::default() };
        let args = args(line);
        let known =
            PUBLISHED.iter().find(|known| args.study.as_deref() == Some(known.name)).expect("a study");
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
            ("throttling clients", "\"clients\" is not a setting: write KEY=VALUE"),
            ("throttling clients=0", "invalid value '0' for 'clients=LIST': 0 is not in 1..=1900"),
            ("throttling duration=10ms", "for 'duration=TIME': too short"),
            ("shares experiments=table-9", "there is table-3"),
            ("shares live=yes period=50ms", "between 200ms and 10s"),
            ("databases duration=1s", "windows do not move"),
            ("domains parts=disc", "there is machine, network, disk, flush"),
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
            assert!(
                told.contains(words) && !told.contains("s3cret") && !told.contains("'--"),
                "{line}: {told}"
            );
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
        let made =
            plan("variation url=mysql://a@db1/d url=mysql://a@db2/d reset=mysql://a@db2/d=restart=x=y");
        let targets = &made.setting["targets"];
        assert_eq!((&targets[0]["reset"], &targets[1]["reset"]), (&Value::Null, &"restart=x=y".into()));
    }
}
