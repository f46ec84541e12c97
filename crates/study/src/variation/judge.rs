//! What the runs come to, beside what was published.

use super::findings::{Found, shares};
use super::record::Setting;
use super::seen::is_valid;
use super::{figures, findings, words};
use crate::harness::{Judgement, Plan, Run, cells};
use crate::published::{PublishedError, Result};
use crate::store::format::ServerRecord;

pub fn judge(plan: &Plan, setting: &Setting, runs: &[Run]) -> Judgement {
    let found = Found::of(setting, &cells(plan, runs));
    // Of rates that are judged, those that failed are among them and make it known; no finding is about what made the load.
    let valid: Vec<Run> = runs.iter().filter(|run| is_valid(run)).cloned().collect();
    let findings = findings::all(setting, &cells(plan, &valid), &found);
    Judgement {
        headline: words::headline(setting, &found),
        published: words::PUBLISHED,
        source: words::SOURCE,
        rule: words::rule(),
        setting: words::setting(plan, setting),
        findings,
        verdicts: found
            .judged()
            .and_then(|at| at.why.as_ref())
            .map(|why| why.verdicts.clone())
            .unwrap_or_default(),
        components: found.components.as_ref().map(shares).unwrap_or_default(),
        sentences: words::sentences(setting, &found),
        caveats: words::caveats(setting, runs),
        place: setting.machine.known(),
        references: figures::references(),
        ..Judgement::default()
    }
}

/// Settings that change what a request takes.
const SETTINGS: [&str; 24] = [
    "innodb_adaptive_hash_index",
    "innodb_buffer_pool_size",
    "innodb_change_buffering",
    "innodb_doublewrite",
    "innodb_file_per_table",
    "innodb_flush_log_at_trx_commit",
    "innodb_flush_method",
    "innodb_io_capacity",
    "innodb_log_file_size",
    "innodb_page_size",
    "innodb_read_io_threads",
    "innodb_use_native_aio",
    "join_buffer_size",
    "log_bin",
    "max_heap_table_size",
    "optimizer_switch",
    "performance_schema",
    "query_cache_size",
    "query_cache_type",
    "sort_buffer_size",
    "sync_binlog",
    "thread_handling",
    "tmp_table_size",
    "use_stat_tables",
];

/// Of the data all but how they came in, which a layout is about.
const DATA: [&str; 5] = ["data_set", "num_ebs", "num_items", "seed", "checksum"];

/// Refuses targets that differ where they should not, with all differences by name.
pub(super) fn check(targets: &[(String, &ServerRecord)], may_differ: bool, by_layout: bool) -> Result<()> {
    let Some(((first, record), others)) = targets.split_first() else { return Ok(()) };
    let found: Vec<String> =
        others.iter().flat_map(|(name, other)| between((first, record), (name, other))).collect();
    if found.is_empty() || may_differ || by_layout {
        return Ok(());
    }
    Err(PublishedError::with_hint(
        format!("the targets are not alike:\n  {}", found.join("\n  ")),
        "make them alike, or the study may only find the known difference; to measure them nevertheless \
         give may-differ=yes",
    ))
}

fn between((one, record): (&str, &ServerRecord), (other, against): (&str, &ServerRecord)) -> Vec<String> {
    let settings = SETTINGS
        .iter()
        .map(|name| (*name, record.variables.get(*name).cloned(), against.variables.get(*name).cloned()));
    let is_counted = |name: &&str| name.starts_with("rows of ") || name.starts_with("columns of ");
    let counted = record.data.keys().map(String::as_str).filter(is_counted);
    let data = DATA
        .into_iter()
        .chain(counted)
        .map(|name| (name, record.data.get(name).cloned(), against.data.get(name).cloned()));
    let version = std::iter::once(("version", Some(record.version.clone()), Some(against.version.clone())));
    version
        .chain(data)
        .chain(settings)
        .filter(|(_, own, theirs)| own != theirs)
        .map(|(name, own, theirs)| {
            format!("{name} is {} at {one} and {} at {other}", shown(own.as_ref()), shown(theirs.as_ref()))
        })
        .collect()
}

fn shown(value: Option<&String>) -> &str {
    value.map_or("not known", String::as_str)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(pool: &str, checksum: &str) -> ServerRecord {
        ServerRecord {
            version: "10.11".to_owned(),
            variables: [("innodb_buffer_pool_size", pool), ("hostname", checksum)]
                .map(|(name, value)| (name.to_owned(), value.to_owned()))
                .into(),
            data: [("checksum".to_owned(), checksum.to_owned())].into(),
            ..ServerRecord::default()
        }
    }

    #[test]
    fn other_settings_and_other_data_are_refused_by_name_unless_they_may_differ() {
        let (one, other) = (record("128M", "a"), record("64M", "b"));
        let targets = [("t1".to_owned(), &one), ("t2".to_owned(), &other)];
        let error = check(&targets, false, false).unwrap_err();
        let text = error.to_string();
        assert!(text.contains("innodb_buffer_pool_size is 128M at t1 and 64M at t2"), "{text}");
        assert!(text.contains("checksum is a at t1 and b at t2") && !text.contains("hostname"), "{text}");
        assert!(error.hint().is_some_and(|hint| hint.contains("may-differ=yes")));
        let counted = |rows: &str| ServerRecord {
            data: [("rows of item".to_owned(), rows.to_owned())].into(),
            ..record("64M", "a")
        };
        let (one, other) = (counted("1000"), counted("1200"));
        let text = check(&[("t1".to_owned(), &one), ("t2".to_owned(), &other)], false, false)
            .unwrap_err()
            .to_string();
        assert!(text.contains("rows of item is 1000 at t1 and 1200 at t2"), "{text}");
        assert!(check(&targets, true, false).is_ok());
        assert!(check(&targets[..1], false, false).is_ok() && check(&[], false, false).is_ok());
    }
}
