//! `evenkeel cdr load --export`: files of an export go into their tables again.

use super::server;
use crate::clock::Clock;
use crate::command::{Session, mode};
use crate::failure::{FINDING, WithHint};
use crate::progress::{Mode, ProgressEvent, View};
use crate::{format, out};
use anyhow::{Result, anyhow};
use evenkeel_haul::export::{Fault, Import, Imported, Manifest, compare, manifests, verify};
use serde_json::json;
use std::path::Path;
use std::process::ExitCode;

/// Loads what is not in yet, holds the tables against the checksums of the export, and prints what came of both.
pub fn run(
    session: &Session,
    target: &str,
    folder: &Path,
    table: Option<&str>,
    (no_audit, json): (bool, bool),
) -> Result<ExitCode> {
    let all = chosen(folder, table)?;
    let mut view = View::new(if json && !session.quiet { Mode::Lines } else { mode(session, false) });
    let mut step = |text: String| view.show(&ProgressEvent::Step { text });
    let clock = Clock::start();
    check_files(session, folder, &all, &mut step)?;
    let target = server::target(session, target)?;
    server::check(session, &target)?;
    let import = Import { target: &target, folder, stop: &session.stop };
    let (mut loaded, mut faults) = (Vec::new(), Vec::new());
    for manifest in &all {
        let done = import.run(manifest, &mut |path| step(format!("loading {}", path.display())));
        loaded.push(done.map_err(server::explained)?);
        if !no_audit {
            step(format!("reading {}", manifest.table));
            faults.extend(compare(&target, manifest, &session.stop, &mut |_| {})?);
        }
    }
    drop(view);
    let took_s = clock.now().as_secs_f64();
    match json {
        true => {
            let faults = (!no_audit).then_some(&faults);
            let found = json!({ "tables": loaded, "faults": faults, "took_s": took_s });
            out::line(serde_json::to_string_pretty(&found)?)?;
        }
        false => out::write(&text(&loaded, &faults, no_audit, took_s))?,
    }
    Ok(if faults.is_empty() { ExitCode::SUCCESS } else { ExitCode::from(FINDING) })
}

fn chosen(folder: &Path, table: Option<&str>) -> Result<Vec<Manifest>> {
    let mut all = manifests(folder)?;
    all.retain(|manifest| table.is_none_or(|name| manifest.table == name));
    match all.is_empty() {
        true => Err(anyhow!("{} holds no table {}", folder.display(), table.unwrap_or_default()))
            .hint("leave --table out to load all of them"),
        false => Ok(all),
    }
}

/// All files are looked at before a row of any goes in.
fn check_files(
    session: &Session,
    folder: &Path,
    all: &[Manifest],
    step: &mut dyn FnMut(String),
) -> Result<()> {
    for manifest in all {
        step(format!("reading the files of {}", manifest.table));
        let faults = verify(folder, manifest, &session.stop)?;
        if let Some(Fault { of, what }) = faults.first() {
            let more = match faults.len() {
                1 => String::new(),
                count => format!(", and {} more", format::counted(count - 1, "fault")),
            };
            return Err(anyhow!("{}: {what}{more}; nothing was loaded", folder.join(of).display()))
                .hint("take the files from where they were copied, or export the table again");
        }
    }
    Ok(())
}

fn text(loaded: &[Imported], faults: &[Fault], no_audit: bool, took_s: f64) -> String {
    let mut text = String::new();
    for done in loaded {
        done.notes.iter().for_each(|note| text.push_str(&format!("{note}\n")));
        let made = if done.made { "new table, " } else { "" };
        let before = match done.files_before {
            0 => String::new(),
            count => format!(", {} in before", format::counted(count, "file")),
        };
        text.push_str(&format!(
            "{}: {made}{} rows of {}{before}\n",
            done.table,
            format::count(done.rows),
            format::counted(done.files - done.files_before, "file")
        ));
    }
    for fault in faults {
        text.push_str(&format!("{}: {}\n", fault.of, fault.what));
    }
    let audited = match (no_audit, faults.is_empty()) {
        (true, _) => "not held against the export",
        (_, true) => "the rows in the tables are those that were exported",
        (_, false) => "the rows in the tables are not those that were exported",
    };
    text.push_str(&format!("{audited}; {}\n", format::seconds(took_s)));
    text
}
