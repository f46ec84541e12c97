//! What differs in where and how two studies were measured.

use crate::format;
use crate::report::markup::Text;
use crate::report::sections::{TELLING, section as wrapped, settings, spoken, table};
use crate::report::study::Study;
use evenkeel_study::store::format::ServerRecord;
use std::collections::BTreeMap;

/// Variables that name a place or an instance; they differ between any two servers, and explain nothing.
const PLACES: [&str; 18] = [
    "basedir",
    "bind_address",
    "datadir",
    "general_log_file",
    "hostname",
    "innodb_data_home_dir",
    "innodb_log_group_home_dir",
    "innodb_undo_directory",
    "log_bin_basename",
    "log_error",
    "pid_file",
    "port",
    "report_port",
    "server_id",
    "server_uid",
    "slow_query_log_file",
    "socket",
    "tmpdir",
];

/// A name with its values; an empty one stands where a study does not have it.
type Row = (String, [String; 2]);

/// Tables of what differs; server variables that seldom matter are folded away.
pub fn section(studies: [&Study; 2], series: &[usize; 2]) -> String {
    let servers = [0, 1].map(|side| server(studies[side], series[side]));
    let variables = differing(servers.map(|server| server.variables.clone()));
    let (places, telling): (Vec<Row>, Vec<Row>) =
        variables.into_iter().partition(|(name, _)| PLACES.contains(&name.as_str()));
    let (telling, others): (Vec<Row>, Vec<Row>) =
        telling.into_iter().partition(|(name, _)| TELLING.contains(&name.as_str()));
    let mut rows = differing(studies.map(|study| settings(study).into_iter().chain(own(study)).collect()));
    rows.extend(differing(servers.map(described)));
    rows.extend(telling);
    rows.extend(differing(
        studies.map(|study| study.manifest.machine.iter().map(|(name, value)| spoken(name, value)).collect()),
    ));
    let shown = match rows.is_empty() {
        true => "<p>Settings, server version, data, the variables that mostly matter and the machine are the same.</p>\n".to_owned(),
        false => in_table("What differs", &rows),
    };
    let folded = [("Other variables that differ", others), ("Names and places that differ", places)];
    let folded: String = folded.iter().map(|(name, rows)| details(name, rows)).collect();
    let words = "Only what was recorded, and only where it is not the same in both.";
    wrapped("differences", "What differs", words, &format!("{shown}{folded}"))
}

/// The server of a series; an empty record where the manifest has none.
fn server(study: &Study, series: usize) -> &ServerRecord {
    static UNKNOWN: ServerRecord = ServerRecord {
        version: String::new(),
        variables: BTreeMap::new(),
        data: BTreeMap::new(),
        tables_bytes: None,
    };
    let target = study.plan.series.get(series).map(|series| series.target);
    target.and_then(|target| study.manifest.servers.get(target)).unwrap_or(&UNKNOWN)
}

fn own(study: &Study) -> Vec<(String, String)> {
    let pair = |name: &str, value: String| (name.to_owned(), value);
    vec![
        pair("workload", study.workloads().join(", ")),
        pair("seed", study.plan.seed.to_string()),
        pair("Evenkeel", study.plan.tool.clone()),
    ]
}

fn described(server: &ServerRecord) -> BTreeMap<String, String> {
    let data =
        server.data.iter().map(|(name, value)| (format!("data: {}", name.replace('_', " ")), value.clone()));
    let version = (!server.version.is_empty()).then(|| ("server version".to_owned(), server.version.clone()));
    let size = server.tables_bytes.map(|bytes| ("tables and indexes".to_owned(), format::bytes(bytes)));
    data.chain(version).chain(size).collect()
}

/// Names whose values are not the same, in order.
fn differing([one, other]: [BTreeMap<String, String>; 2]) -> Vec<Row> {
    let mut names: Vec<&String> = one.keys().chain(other.keys()).collect();
    names.sort();
    names.dedup();
    let value = |of: &BTreeMap<String, String>, name: &String| of.get(name).cloned().unwrap_or_default();
    let row = |name: &String| (name.clone(), [value(&one, name), value(&other, name)]);
    names.into_iter().map(row).filter(|(_, [one, other])| one != other).collect()
}

fn in_table(caption: &str, rows: &[Row]) -> String {
    let field = |value: &String| match value.as_str() {
        "" => format!("<td class=\"absent\">{}</td>", format::ABSENT),
        value => format!("<td>{}</td>", Text(value)),
    };
    let row = |(name, values): &Row| {
        format!("<tr><th scope=\"row\">{}</th>{}{}</tr>\n", Text(name), field(&values[0]), field(&values[1]))
    };
    let rows: String = rows.iter().map(row).collect();
    let head = ["", "A", "B"].map(|name| format!("<th scope=\"col\">{name}</th>")).concat();
    table(caption, &head, &format!("<tbody>\n{rows}</tbody>"))
}

fn details(name: &str, rows: &[Row]) -> String {
    if rows.is_empty() {
        return String::new();
    }
    format!(
        "<details class=\"plan\"><summary>{name} ({})</summary>{}</details>\n",
        rows.len(),
        in_table(name, rows)
    )
}
