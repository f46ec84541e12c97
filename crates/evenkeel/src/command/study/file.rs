//! A study of the user's: levels of factors, measured in the same blocks, and held against one another.

use crate::command::Session;
use crate::config::study::{self, Combination, StudyFile};
use crate::failure::WithHint;
use crate::out;
use crate::profile::flags::Args as ProfileArgs;
use crate::profile::{line, resume, run, spec};
use crate::study::comparison;
use anyhow::{Context, Result, anyhow};
use clap::error::{ContextKind, ContextValue, ErrorKind};
use evenkeel_core::Nanos;
use evenkeel_lab::workload::similar;
use evenkeel_study::compare::{Side, compare as compared, level_pairs};
use evenkeel_study::profile::{ServerSpec, SiteSpec, new_plan};
use evenkeel_study::published::{self, SHIPPED};
use evenkeel_study::store::{self, StudyFolder};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Copy of the file in the study's folder, from which it goes on.
const FILE: &str = "study.toml";

/// Folder for studies, and how to show them.
pub struct Folder<'a> {
    /// Folder for studies, where it is not the home's.
    pub output: Option<&'a PathBuf>,
    /// Findings as JSON.
    pub json: bool,
}

/// Makes the study of this file.
///
/// # Errors
/// A file that is none, flags that a profile does not have, a server that does not start.
pub fn start(session: &Session, file: &Path, place: &Folder<'_>) -> Result<ExitCode> {
    let root = session.runs_dir(place.output);
    let asked = study::load(file)?;
    let made = made(session, &asked)?;
    let now = crate::clock::unix_time().as_secs();
    let id = format!("{}-{}-{:04x}", crate::format::stamp(now), asked.name, std::process::id() & 0xffff);
    let plan = new_plan(&made.spec, id, now, made.settings.clone(), made.targets.clone());
    let folder = resume::create(&root, plan, Some((file, FILE)))?;
    finish(session, &asked, &made, &folder, place, true)
}

/// Goes on with a study that was stopped.
///
/// # Errors
/// No such study, or one that is no file's.
pub fn resume(session: &Session, name: &str, place: &Folder<'_>) -> Result<ExitCode> {
    let path = store::resolve(&session.runs_dir(place.output), name)?;
    let file = path.join(FILE);
    if !file.exists() {
        return Err(anyhow!("{} is no study of a file", path.display())).hint(goes_on_by(&path, name)?);
    }
    let asked = study::load(&file)?;
    let folder = StudyFolder::resume(&path)?;
    let plan = folder.plan()?;
    resume::check_file(&plan, &file)?;
    let made = made(session, &asked)?;
    resume::check(&plan, &made)?;
    finish(session, &asked, &made, &folder, place, false)
}

/// The command that goes on with what is no study of a file.
fn goes_on_by(path: &Path, name: &str) -> Result<String> {
    let kind = published::kind(path)?;
    let shipped = SHIPPED.iter().find(|shipped| Some(shipped.name) == kind.as_deref());
    Ok(match (shipped, kind) {
        (Some(shipped), _) => format!(
            "it is the published study of {}, which goes on by `evenkeel {} --resume {name}`",
            shipped.name, shipped.command
        ),
        (None, Some(kind)) => {
            format!("it is a published study, {kind}, that this version does not know; another one may")
        }
        (None, None) => format!("it is a profile, which goes on by `evenkeel profile --resume {name}`"),
    })
}

/// All combinations as one study: the flags of the first say how it is measured, and each says where.
fn made(session: &Session, asked: &StudyFile) -> Result<spec::Study> {
    let mut whole: Option<spec::Study> = None;
    for (number, combination) in asked.combinations.iter().enumerate() {
        let own = of_combination(session, asked, combination, number)?;
        match &mut whole {
            None => whole = Some(own),
            Some(whole) => join(whole, own)?,
        }
    }
    let mut whole = whole.ok_or_else(|| anyhow!("a study has levels"))?;
    let count = asked.combinations.len() as u64;
    if let Some(within) = whole.spec.budget.as_mut().and_then(|budget| budget.within.as_mut()) {
        *within = Nanos(within.0 * count);
        whole.settings.within_s = Some(within.as_secs_f64());
    }
    whole.spec.kind.clone_from(&asked.name);
    whole.spec.command = vec!["study".to_owned(), format!("{}.toml", asked.name)];
    Ok(whole)
}

fn of_combination(
    session: &Session,
    asked: &StudyFile,
    combination: &Combination,
    number: usize,
) -> Result<spec::Study> {
    let args = arguments(&asked.file, combination)?;
    let mut own = spec::study(session, &args, Vec::new(), None)
        .with_context(|| format!("reading the level {}", combination.label))?;
    let name = format!("{}-{}", asked.name, number + 1);
    for site in &mut own.spec.sites {
        level(site, &name, combination)?;
    }
    for target in &mut own.targets {
        target.label =
            if own.spec.sites.len() > 1 { format!("{name}{}", target.label) } else { name.clone() };
    }
    let several = own.spec.series.len() > 1;
    for series in &mut own.spec.series {
        // What else the profile varies stands behind; where that is nothing, its label is that of its one server.
        series.label = match several {
            true => format!("{}, {}", combination.label, series.label),
            false => combination.label.clone(),
        };
        series.levels.clone_from(&combination.levels);
    }
    Ok(own)
}

/// A private server has data of its own for each combination and each set of statements, so that none meets what another left.
fn level(site: &mut SiteSpec, name: &str, combination: &Combination) -> Result<()> {
    match &mut site.place {
        ServerSpec::Sandbox { sandbox, .. } => {
            let sql = crc32fast::hash(combination.sql.join(";").as_bytes());
            sandbox.name = format!("{}-{name}-{sql:08x}", sandbox.name);
            site.sql.clone_from(&combination.sql);
        }
        _ if !combination.sql.is_empty() => {
            return Err(anyhow!("{}: `sql` is for private servers", combination.label))
                .hint("make the change on your server yourself, and leave `sql` out");
        }
        _ => {}
    }
    name.clone_into(&mut site.target_label);
    Ok(())
}

fn arguments(file: &str, combination: &Combination) -> Result<Box<ProfileArgs>> {
    let words = ["profile"].into_iter().chain(combination.arguments.iter().map(String::as_str));
    let read = line::read(words).map_err(|error| refused(file, combination, &error));
    read.hint("keys of [profile] and of levels are flags of `evenkeel profile`, without the dashes")
}

/// What the command line says of a flag, as an error of the key that it came from.
fn refused(file: &str, combination: &Combination, error: &clap::Error) -> anyhow::Error {
    let text = error.to_string();
    let first = text.lines().next().unwrap_or_default().trim_start_matches("error: ").to_owned();
    let Some((key, origin)) = key(error).and_then(|key| combination.origins.get_key_value(&key)) else {
        return anyhow!("{file}: {}: {first}", combination.label);
    };
    let line = origin.line.map_or_else(String::new, |line| format!(":{line}"));
    let what = match error.kind() {
        ErrorKind::UnknownArgument => format!("unknown key `{key}`{}", meant(key)),
        _ => format!("`{key}`: {first}"),
    };
    anyhow!("{file}{line}: {}: {what}", origin.entry)
}

/// The key behind the flag that an error is about.
fn key(error: &clap::Error) -> Option<String> {
    let flag = match error.get(ContextKind::InvalidArg)? {
        ContextValue::String(flag) => flag,
        ContextValue::Strings(flags) => flags.first()?,
        _ => return None,
    };
    let name = flag.strip_prefix("--")?.split([' ', '=']).next()?;
    Some(name.trim_end_matches("...").to_owned())
}

/// The nearest flags of a profile.
fn meant(key: &str) -> String {
    let command = line::command();
    let arguments = command.find_subcommand("profile").into_iter().flat_map(clap::Command::get_arguments);
    let flags: Vec<&str> = arguments.filter_map(clap::Arg::get_long).collect();
    match similar(key, flags).first() {
        Some(near) => format!(", did you mean `{near}`?"),
        None => String::new(),
    }
}

/// Adds the servers and series of a further combination, which is measured as the first one is.
fn join(whole: &mut spec::Study, own: spec::Study) -> Result<()> {
    if whole.settings != own.settings || whole.spec.rates != own.spec.rates {
        let label = own.spec.series.first().map_or("", |series| &series.label);
        return Err(anyhow!("{label}: rates, repeats, times and resets are the same for all levels"))
            .hint("give them in [profile], and in levels what differs of the servers and of what is asked");
    }
    let (sites, targets) = (whole.spec.sites.len(), whole.targets.len());
    whole.spec.sites.extend(own.spec.sites);
    whole.targets.extend(own.targets);
    for mut series in own.spec.series {
        series.site += sites;
        series.target += targets;
        whole.spec.series.push(series);
    }
    Ok(())
}

fn finish(
    session: &Session,
    asked: &StudyFile,
    made: &spec::Study,
    folder: &StudyFolder,
    place: &Folder<'_>,
    is_new: bool,
) -> Result<ExitCode> {
    let summary = run::measure(session, made, folder, is_new, place.json)?;
    let findings = findings(asked, folder)?;
    let json: Vec<Value> = findings.iter().map(|(_, value)| value.clone()).collect();
    let path = folder.path().join("findings.json");
    let text = serde_json::to_string_pretty(&json!({ "question": asked.question, "findings": json }))?;
    evenkeel_os::replace(&path, format!("{text}\n").as_bytes())
        .with_context(|| format!("writing {}", path.display()))?;
    if place.json {
        out::line(text)?;
        return Ok(run::exit_code(&folder.plan()?, &folder.runs()?, &summary));
    }
    let code = run::finish(session, folder, &summary)?;
    let question = if asked.question.is_empty() { String::new() } else { format!("{}\n", asked.question) };
    out::write(&format!(
        "\n{question}{}",
        findings.iter().map(|(text, _)| text.as_str()).collect::<String>()
    ))?;
    Ok(code)
}

/// Each level against the first of its factor, over all levels of the other factors.
fn findings(asked: &StudyFile, folder: &StudyFolder) -> Result<Vec<(String, Value)>> {
    let (plan, runs) = (folder.plan()?, folder.runs()?);
    let side = Side::of(plan.clone(), runs, None);
    let pairs = level_pairs(&plan.series).into_iter().map(|pair| {
        let (first, second) = (side.clone().of_series(pair.series.0), side.clone().of_series(pair.series.1));
        let name = |level: &str| format!("{} {level}", pair.factor);
        match compared(&first, &second, asked.compare, asked.margin) {
            Ok(found) => {
                let text = comparison::text(&name(&pair.first), &name(&pair.second), &found);
                let value = comparison::as_json(&name(&pair.first), &name(&pair.second), &found);
                (text, value)
            }
            Err(error) => {
                let text = format!("{} against {}: {error}\n", name(&pair.second), name(&pair.first));
                (text, json!({ "first": name(&pair.first), "second": name(&pair.second), "error": error.to_string() }))
            }
        }
    });
    Ok(pairs.collect())
}
