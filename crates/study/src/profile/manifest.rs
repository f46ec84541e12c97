//! Where a study is measured: machine, servers, and plans of statements.

use super::StudyError;
use super::site::Ready;
use crate::store::format::{ManifestFile, PlanFile, ServerRecord, StatementPlanRecord, TargetRecord};
use evenkeel_core::caveat::Caveat;
use evenkeel_lab::data::{Stamp, tables_size};
use evenkeel_lab::explain::{Effort, ExplainError, PlanReport, PlanRow, explain};
use evenkeel_lab::workload::Workload;
use evenkeel_os::Stop;
use evenkeel_sense::machine::Machine;
use evenkeel_site::server::Control;
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// What this machine says of itself, in words; what it does not say is not there.
pub(super) fn machine(ready: &Ready) -> BTreeMap<String, String> {
    let machine = Machine::read(ready.data_dir.as_deref());
    let hypervisor = machine.hypervisor.name.or_else(|| machine.hypervisor.present.map(|is| is.to_string()));
    let storage = machine.storage.as_ref();
    let device = storage.and_then(|storage| storage.device.as_ref());
    let words = [
        ("cpu", machine.processor),
        ("cpus", machine.cpus.map(|cpus| cpus.to_string())),
        ("governor", machine.governor),
        ("hypervisor", hypervisor),
        ("memory_bytes", machine.memory_bytes.map(|bytes| bytes.to_string())),
        ("swap_used_bytes", machine.swap_used_bytes.map(|bytes| bytes.to_string())),
        ("kernel", machine.kernel),
        ("distribution", machine.distribution),
        ("clock_source", machine.clock_source),
        ("load_average", machine.load_average.map(|[one, five, fifteen]| format!("{one} {five} {fifteen}"))),
        ("storage_rotational", device.and_then(|device| device.rotational).map(|is| is.to_string())),
        ("storage_device", device.map(|device| device.name.clone())),
        ("storage", storage.map(|storage| format!("{} ({})", storage.file_system, storage.options))),
    ];
    words.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))).collect()
}

/// What a server that is up says of itself, and the size of the workload's tables.
pub(super) fn server(ready: &Ready, tables: &[String], stop: &Stop) -> Result<ServerRecord, StudyError> {
    let mut control = Control::connect_until(&ready.target, stop)?;
    let names: Vec<&str> = tables.iter().map(String::as_str).collect();
    let tables_bytes =
        if names.is_empty() { None } else { tables_size(&mut control, &names, !ready.of_others).ok() };
    Ok(ServerRecord {
        version: control.version().to_string(),
        variables: control.variables()?,
        data: Stamp::read(&mut control).ok().flatten().map(|stamp| stamp_words(&stamp)).unwrap_or_default(),
        tables_bytes,
    })
}

/// A data set's stamp in words.
fn stamp_words(stamp: &Stamp) -> BTreeMap<String, String> {
    let numbers = stamp.set.numbers().map(|(name, number)| (name.to_lowercase(), number.to_string()));
    let words = [
        ("data_set", stamp.set.name().to_owned()),
        ("seed", stamp.seed.0.to_string()),
        ("date", stamp.today.to_string()),
        ("via", stamp.via.to_string()),
        ("checksum", format!("{:016x}", stamp.checksum())),
        ("tool", stamp.tool_version.clone()),
    ];
    numbers.into_iter().chain(words.map(|(name, value)| (name.to_owned(), value))).collect()
}

/// Doubts that follow from where it is measured, and so hold for every run.
pub(super) fn caveats(plan: &PlanFile, found: &ManifestFile) -> Vec<Caveat> {
    let generator = &plan.settings.generator_cpus;
    let shared = |target: &TargetRecord| target.cpus.iter().filter(|cpu| generator.contains(cpu)).count();
    let shared_cpus = plan.targets.iter().map(shared).max().and_then(Caveat::shared_cpus);
    let page_cache = found.servers.iter().find_map(|server| {
        let method = server.variables.get("innodb_flush_method")?;
        (!method.contains("DIRECT")).then(|| Caveat::page_cache(method))
    });
    [shared_cpus, page_cache].into_iter().flatten().collect()
}

/// Runs of two servers must not be averaged: a study goes on where it began, or not at all.
pub(super) fn same(before: &ManifestFile, now: &ManifestFile) -> Result<(), StudyError> {
    for (before, now) in before.servers.iter().zip(&now.servers) {
        for (what, before, now) in [
            ("server version", &before.version, &now.version),
            ("checksum of the data", word(&before.data, "checksum"), word(&now.data, "checksum")),
            ("seed of the data", word(&before.data, "seed"), word(&now.data, "seed")),
        ] {
            if before != now {
                return Err(StudyError::Differs(format!("{what} {now:?} instead of {before:?}")));
            }
        }
    }
    Ok(())
}

fn word<'a>(words: &'a BTreeMap<String, String>, name: &str) -> &'a String {
    static NONE: String = String::new();
    words.get(name).unwrap_or(&NONE)
}

/// The plans of all statements of a workload. One that the server refuses is an error.
pub(super) fn statement_plans(
    control: &mut Control,
    workload: &dyn Workload,
    effort: &Effort,
    stop: &Stop,
) -> Result<Vec<PlanReport>, StudyError> {
    let mut explained = explain(control, workload, effort, stop)?;
    match explained.refused.is_empty() {
        true => Ok(explained.plans),
        false => Err(ExplainError::Refused(explained.refused.swap_remove(0)).into()),
    }
}

/// A plan for the store.
pub fn plan_record(report: &PlanReport) -> StatementPlanRecord {
    StatementPlanRecord {
        statement: report.statement.clone(),
        class: report.class,
        reason: match report.reasons.is_empty() {
            true => "no full scan".to_owned(),
            false => report.reasons.join(", "),
        },
        sql: report.sample.clone(),
        plan: rows(&report.rows),
        not_made: report.not_made.clone(),
        proposal: report.proposal.clone(),
        rows_share_percent: Some(100.0 * report.rows_share),
        work_share_percent: report.share.map(|share| 100.0 * share),
    }
}

/// How each statement is answered, a line for each of them: which tables are read in which order, how, and by which index. How many rows
/// the server guesses is no part of it, since that is drawn at random from page to page.
pub fn shapes(plans: &[PlanReport]) -> String {
    let mut plans: Vec<&PlanReport> = plans.iter().collect();
    plans.sort_by(|one, other| one.statement.cmp(&other.statement));
    let row = |row: &PlanRow| {
        let how = [&row.table, &row.access, &row.key, &row.extra].map(|word| word.trim());
        how.into_iter().filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ")
    };
    let shape = |report: &&PlanReport| {
        let rows = report.rows.iter().map(row).collect::<Vec<_>>().join(", then ");
        format!("{}: {rows}", report.statement)
    };
    plans.iter().map(shape).collect::<Vec<_>>().join("\n")
}

/// The rows of EXPLAIN as aligned columns.
fn rows(rows: &[PlanRow]) -> String {
    let head = ["id", "select_type", "table", "type", "key", "rows", "extra"].map(str::to_owned);
    let cells = rows.iter().map(|row| {
        [&row.id, &row.select_type, &row.table, &row.access, &row.key, &row.rows, &row.extra]
            .map(String::clone)
    });
    let lines: Vec<[String; 7]> = std::iter::once(head).chain(cells).collect();
    let width = |column: usize| lines.iter().map(|line| line[column].chars().count()).max().unwrap_or(0);
    let mut text = String::new();
    for line in &lines {
        for (column, cell) in line.iter().enumerate() {
            let _ = write!(text, "{cell:<0$}  ", width(column));
        }
        text.truncate(text.trim_end().len());
        text.push('\n');
    }
    text
}
