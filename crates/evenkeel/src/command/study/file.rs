//! A study of the user's: levels of factors, measured in the same blocks, and compared.

use super::kept::{FILE, Kept};
use super::keys::{Args, meant, named};
use crate::command::Session;
use crate::config::study::{Combination, StudyFile};
use crate::config::{masked, study};
use crate::failure::WithHint;
use crate::profile::flags::Args as ProfileArgs;
use crate::profile::{self, resume, spec};
use crate::server::place;
use crate::study::comparison;
use crate::study::comparison::Wording;
use crate::{failure, out, signals};
use anyhow::{Context, Result, anyhow};
use clap::error::{ContextKind, ErrorKind};
use evenkeel_core::Nanos;
use evenkeel_study::profile::{ServerSpec, SiteSpec, new_plan, settings};
use evenkeel_study::store::StudyFolder;
use serde_json::{Value, json};
use std::path::Path;
use std::process::ExitCode;

/// Makes the study of this file in a folder of `root`.
pub fn start(session: &Session, args: &Args, file: &Path, root: &Path) -> Result<ExitCode> {
    let asked = study::load(file)?;
    let kept = Kept::beside(file, &workloads(&asked)?)?;
    let made = made(session, &asked, &kept)?;
    let now = evenkeel_os::clock::unix_time().as_secs();
    let id = format!("{}-{}-{:04x}", crate::format::stamp(now), asked.name, std::process::id() & 0xffff);
    let id = args.name.clone().unwrap_or(id);
    let plan = new_plan(&made.spec, id, now, made.targets.clone());
    let folder = kept.create(root, plan)?;
    finish(session, &asked, &made, &folder, args.json, true)
}

/// Goes on with a study that was stopped.
pub fn resume(session: &Session, args: &Args, path: &Path) -> Result<ExitCode> {
    let file = path.join(FILE);
    let asked = study::load(&file).with_context(|| format!("going on with {}", path.display())).hint(
        "study.toml in that folder says what is measured, and is needed to continue: restore it from a backup",
    )?;
    let folder = StudyFolder::resume(path)?;
    let plan = resume::extended(&folder, args.repeats)?;
    resume::check_file(&plan, &file)?;
    let mut made = made(session, &asked, &Kept::of(path, &plan)?)?;
    resume::keep_repeats(&mut made, &plan);
    resume::check(&plan, &made)?;
    finish(session, &asked, &made, &folder, args.json, false)
}

/// All combinations as one study: the flags of the first say how it is measured, and each says where.
fn made(session: &Session, asked: &StudyFile, kept: &Kept) -> Result<spec::Study> {
    let mut whole: Option<spec::Study> = None;
    for (number, combination) in asked.combinations.iter().enumerate() {
        let own = of_combination(session, asked, kept, combination, number)?;
        match &mut whole {
            None => whole = Some(own),
            Some(whole) => join(whole, own)?,
        }
    }
    let mut whole = whole.ok_or_else(|| anyhow!("a study has levels"))?;
    let count = asked.combinations.len() as u64;
    if let Some(within) = whole.spec.budget.as_mut().and_then(|budget| budget.within.as_mut()) {
        *within = Nanos(within.0 * count);
    }
    whole.spec.kind.clone_from(&asked.name);
    whole.spec.command = vec!["study".to_owned(), format!("{}.toml", asked.name)];
    Ok(whole)
}

fn of_combination(
    session: &Session,
    asked: &StudyFile,
    kept: &Kept,
    combination: &Combination,
    number: usize,
) -> Result<spec::Study> {
    let args = arguments(&asked.file, combination)?;
    let mut own = spec::study(session, &args, Vec::new(), kept.path(&args.workload))
        .map_err(|error| of_flag(&asked.file, combination, error))?;
    let name = format!("{}-{}", asked.name, number + 1);
    for site in &mut own.spec.sites {
        let before = url(site);
        level(site, &name, combination)?;
        if let (Some(before), Some(now)) = (before, url(site)) {
            // The plan names servers as they are, so that they can be looked at.
            own.targets
                .iter_mut()
                .filter(|target| target.url == before)
                .for_each(|target| target.url.clone_from(&now));
        }
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
    let read = resume::read(words).map_err(|error| refused(file, combination, &error));
    read.hint("keys of [profile] and of levels are flags of `evenkeel profile`, without the dashes")
}

/// What the command line says of a flag, as an error of the key that it came from.
fn refused(file: &str, combination: &Combination, error: &clap::Error) -> anyhow::Error {
    let text = error.to_string();
    let first = text.lines().next().unwrap_or_default().trim_start_matches("error: ");
    let first = masked::shown(first);
    let key = named(error, ContextKind::InvalidArg);
    let Some((key, origin)) = key.and_then(|key| combination.origins.get_key_value(&key)) else {
        return anyhow!("{file}: {}: {first}", combination.label);
    };
    let what = match error.kind() {
        ErrorKind::UnknownArgument => format!("unknown key `{key}`{}", meant(error)),
        _ => format!("`{key}`: {first}"),
    };
    anyhow!("{file}: {origin}: {what}")
}

/// What a profile says of the value of a flag, with the key that it came from.
fn of_flag(file: &str, combination: &Combination, error: anyhow::Error) -> anyhow::Error {
    let text = failure::line(&error);
    let names = |word: &str| combination.origins.get_key_value(word.strip_prefix("--")?);
    match text.split([' ', ':', ',']).find_map(names) {
        Some((key, origin)) => error.context(format!("{file}: {origin}: `{key}`")),
        None => error.context(format!("reading the level {}", combination.label)),
    }
}

/// The files of the user's that levels ask, as they are named.
fn workloads(asked: &StudyFile) -> Result<Vec<String>> {
    let mut named = Vec::new();
    for combination in &asked.combinations {
        let workload = arguments(&asked.file, combination)?.workload.clone();
        if place::is_file(&workload) && !named.contains(&workload) {
            named.push(workload);
        }
    }
    Ok(named)
}

/// How the plan names a private server.
fn url(site: &SiteSpec) -> Option<String> {
    match &site.place {
        ServerSpec::Sandbox { sandbox, .. } => Some(format!("sandbox:{}", sandbox.name)),
        _ => None,
    }
}

/// Whether two levels name the same private server that was there before, and the same database.
fn is_one(one: &SiteSpec, other: &SiteSpec) -> bool {
    let named = |site: &SiteSpec| match &site.place {
        ServerSpec::Named { name, database, .. } => Some((name.clone(), database.clone())),
        _ => None,
    };
    named(one).is_some() && named(one) == named(other)
}

/// Adds the servers and series of a further combination, which is measured as the first one is.
fn join(whole: &mut spec::Study, own: spec::Study) -> Result<()> {
    if settings(&whole.spec) != settings(&own.spec) || whole.spec.rates != own.spec.rates {
        let label = own.spec.series.first().map_or("", |series| &series.label);
        return Err(anyhow!("{label}: rates, repeats, times and resets are the same for all levels"))
            .hint("give them in [profile], and in levels only what differs in servers and workloads");
    }
    // A private server that several levels name is one server, which is held once and measured in turn.
    let known = match own.spec.sites.as_slice() {
        [site] => whole.spec.series.iter().find(|series| is_one(&whole.spec.sites[series.site], site)),
        _ => None,
    };
    let known = known.map(|series| (series.site, series.target));
    let (sites, targets) = (whole.spec.sites.len(), whole.targets.len());
    if known.is_none() {
        whole.spec.sites.extend(own.spec.sites);
        whole.targets.extend(own.targets);
    }
    for mut series in own.spec.series {
        (series.site, series.target) = known.unwrap_or((series.site + sites, series.target + targets));
        whole.spec.series.push(series);
    }
    Ok(())
}

fn finish(
    session: &Session,
    asked: &StudyFile,
    made: &spec::Study,
    folder: &StudyFolder,
    json: bool,
    is_new: bool,
) -> Result<ExitCode> {
    let Some(summary) = profile::measure(session, made, folder, is_new, json)? else {
        return Ok(signals::exit_code());
    };
    let findings = comparison::of_levels(&folder.plan()?, &folder.runs()?, asked.compare, asked.margin);
    let found: Vec<&Value> = findings.iter().map(|found| &found.json).collect();
    let path = folder.path().join("findings.json");
    let text = serde_json::to_string_pretty(&json!({ "question": asked.question, "findings": found }))?;
    evenkeel_os::replace(&path, format!("{text}\n").as_bytes())
        .with_context(|| format!("writing {}", path.display()))?;
    if json {
        out::line(text)?;
        return Ok(profile::exit_code(&folder.plan()?, &folder.runs()?, &summary));
    }
    let question = if asked.question.is_empty() { String::new() } else { format!("{}\n", asked.question) };
    out::write(&format!("{question}{}\n", findings.iter().map(Wording::text).collect::<String>()))?;
    profile::finish(session, folder, &summary, false)
}

#[cfg(test)]
mod tests {
    use super::*;
    use evenkeel_os::Stop;

    #[test]
    fn the_plan_names_private_servers_as_they_are_called() {
        let home = tempfile::tempdir().unwrap();
        let session = Session { home: home.path().to_owned(), quiet: true, stop: Stop::default() };
        let file = home.path().join("flush.toml");
        let text = "name = 'flush'\n[profile]\nrate = '40'\nitems = 100\nebs = 1\n[[factor]]\nname = 'f'\n\
            [[factor.level]]\nname = 'x'\n[[factor.level]]\nname = 'y'\n";
        std::fs::write(&file, text).unwrap();
        let asked = study::load(&file).unwrap();
        let made = made(&session, &asked, &Kept::beside(&file, &[]).unwrap()).unwrap();
        let called: Vec<_> = made.spec.sites.iter().filter_map(url).collect();
        let planned: Vec<_> = made.targets.iter().map(|target| target.url.clone()).collect();
        assert_eq!((planned.len(), &planned), (2, &called));
        assert!(planned[0].contains("-flush-1-"), "{planned:?}");
    }
}
