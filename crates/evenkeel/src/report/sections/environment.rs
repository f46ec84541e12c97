//! Where it was measured, and how to measure it again.

use super::section;
use crate::format;
use crate::report::legend::{Study, Text};
use evenkeel_study::store::format::{PlanFile, ServerRecord, TargetRecord};
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// Variables that most often explain a difference between two servers; all others follow folded away.
pub const TELLING: [&str; 14] = [
    "innodb_buffer_pool_size",
    "innodb_flush_method",
    "innodb_flush_log_at_trx_commit",
    "innodb_log_file_size",
    "innodb_io_capacity",
    "innodb_page_size",
    "sync_binlog",
    "log_bin",
    "max_connections",
    "thread_handling",
    "thread_pool_size",
    "query_cache_type",
    "performance_schema",
    "transaction_isolation",
];

pub fn environment(study: &Study) -> String {
    let mut inner = String::from("<div class=\"cards\">\n");
    inner.push_str(&card("Machine of the generator", &machine(&study.manifest.machine)));
    inner.push_str(&card("How it was measured", &[settings(study), sensed(study)].concat()));
    for (index, target) in study.plan.targets.iter().enumerate() {
        inner.push_str(&server(target, study.manifest.servers.get(index)));
        if let Some(far) = study.manifest.sensed.get(&target.label) {
            inner.push_str(&card(&format!("Machine of server {}", target.label), &machine(far)));
        }
    }
    inner.push_str("</div>\n");
    let _ = writeln!(
        inner,
        "<h3>To repeat it</h3><pre class=\"command\">{}</pre><p class=\"words\">seed {}, Evenkeel {}, study {}</p>",
        Text(&format::command(&study.plan.command)),
        study.plan.seed,
        Text(&study.plan.tool),
        Text(&study.plan.id)
    );
    section("environment", "Environment", "", &inner)
}

fn card(heading: &str, pairs: &[(String, String)]) -> String {
    format!("<div class=\"card\"><h3>{}</h3>{}</div>\n", Text(heading), list(pairs))
}

pub fn list<N: AsRef<str>, V: AsRef<str>>(pairs: &[(N, V)]) -> String {
    let row = |(name, value): &(N, V)| {
        format!("<div><dt>{}</dt><dd>{}</dd></div>", Text(name.as_ref()), Text(value.as_ref()))
    };
    format!("<dl class=\"pairs\">{}</dl>", pairs.iter().map(row).collect::<String>())
}

fn machine(machine: &BTreeMap<String, String>) -> Vec<(String, String)> {
    match machine.is_empty() {
        true => vec![("machine".to_owned(), format::ABSENT.to_owned())],
        false => machine.iter().map(|(name, value)| spoken(name, value)).collect(),
    }
}

/// What the records name for programs, in words: `memory_bytes` as memory in GiB.
pub fn spoken(name: &str, value: &str) -> (String, String) {
    match (name.strip_suffix("_bytes"), value.parse::<u64>()) {
        (Some(what), Ok(bytes)) => (what.replace('_', " "), format::bytes(bytes)),
        _ => (name.replace('_', " "), value.to_owned()),
    }
}

/// How often each rate was measured, or when a study whose runs are chosen one by one has enough.
fn repeats(plan: &PlanFile) -> String {
    let settings = &plan.settings;
    let until = settings.until_percent.map(|percent| format!("until bounds lie {percent} % apart"));
    let within = settings.within_s.map(|seconds| format!("within {}", format::seconds(seconds)));
    let ended = plan.ended.as_ref().map(|why| format!("ended as {why}"));
    match settings.is_sequence() {
        true => until.into_iter().chain(within).chain(ended).collect::<Vec<_>>().join(", "),
        false => settings.repeats.to_string(),
    }
}

pub fn settings(study: &Study) -> Vec<(String, String)> {
    let settings = &study.plan.settings;
    let pair = |name: &str, value: String| (name.to_owned(), value);
    vec![
        pair("rates", study.plan.rate.clone()),
        pair("arrivals", "poisson".to_owned()),
        pair("repeats", repeats(&study.plan)),
        pair("measured phase", format::seconds(settings.duration_s)),
        pair("warm-up", format::seconds(settings.warm_up_s)),
        pair("timeout", format::seconds(settings.timeout_s)),
        pair("sessions", settings.sessions.clone()),
        pair("statements", "prepared".to_owned()),
        pair("before each run", settings.reset.to_string()),
        pair("generator on", cpus(&settings.generator_cpus)),
    ]
}

fn sensed(study: &Study) -> Vec<(String, String)> {
    let pair = |line: String| {
        let told = line.strip_prefix("server sensed by ").map(str::to_owned);
        ("server sensed by".to_owned(), told.unwrap_or(line))
    };
    format::sensed(&study.runs).into_iter().map(pair).collect()
}

fn cpus(cpus: &[usize]) -> String {
    match cpus {
        [] => "any CPU".to_owned(),
        some => format!("CPU {}", some.iter().map(usize::to_string).collect::<Vec<_>>().join(", ")),
    }
}

fn server(target: &TargetRecord, record: Option<&ServerRecord>) -> String {
    let unknown = ServerRecord { version: format::ABSENT.to_owned(), ..ServerRecord::default() };
    let record = record.unwrap_or(&unknown);
    let mut pairs = vec![
        ("address".to_owned(), target.url.clone()),
        ("version".to_owned(), record.version.clone()),
        ("domain".to_owned(), domain(target)),
    ];
    pairs.extend(record.tables_bytes.map(|bytes| ("tables and indexes".to_owned(), format::bytes(bytes))));
    pairs.extend(record.data.iter().map(|(key, value)| (format!("data: {key}"), value.clone())));
    let telling = |name: &str| Some((name.to_owned(), record.variables.get(name)?.clone()));
    pairs.extend(TELLING.into_iter().filter_map(telling));
    let heading = format!("Server {}", target.label);
    let all = list(&record.variables.iter().collect::<Vec<_>>());
    let folded = match record.variables.len() {
        0 => String::new(),
        count => format!(
            "<details><summary>all {} variables</summary>{all}</details>",
            format::count(count as u64)
        ),
    };
    format!("<div class=\"card\"><h3>{}</h3>{}{folded}</div>\n", Text(&heading), list(&pairs))
}

fn domain(target: &TargetRecord) -> String {
    let memory =
        target.memory_bytes.map_or_else(String::new, |bytes| format!(", {} of memory", format::bytes(bytes)));
    format!("{}{memory}", cpus(&target.cpus))
}
