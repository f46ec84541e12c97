//! What differs in where and how two studies were measured.

use crate::format;
use crate::report::legend::Study;
use crate::report::sections;
use crate::report::sections::{TELLING, field, head, row, settings, spoken, table};
use evenkeel_study::store::format::ServerRecord;
use std::collections::{BTreeMap, BTreeSet};

/// A name with its values; an empty one stands where a study does not have it.
type Row = (String, [String; 2]);

/// Tables of what differs; server variables that seldom matter are folded away.
pub fn section(studies: [&Study; 2], series: &[usize; 2]) -> String {
    let servers = [0, 1].map(|side| server(studies[side], series[side]));
    let variables = differing(servers.each_ref().map(|server| server.variables.clone()));
    let (telling, others): (Vec<Row>, Vec<Row>) =
        variables.into_iter().partition(|(name, _)| TELLING.contains(&name.as_str()));
    let mut rows = differing(studies.map(|study| settings(study).into_iter().chain(own(study)).collect()));
    rows.extend(differing(servers.each_ref().map(described)));
    rows.extend(telling);
    rows.extend(differing(
        studies.map(|study| study.manifest.machine.iter().map(|(name, value)| spoken(name, value)).collect()),
    ));
    let shown = match rows.is_empty() {
        true => "<p>Settings, server version, data, the variables that mostly matter and the machine are the same.</p>\n".to_owned(),
        false => in_table("What differs", &rows),
    };
    let folded = match others.len() {
        0 => String::new(),
        count => format!(
            "<details class=\"plan\"><summary>Other variables that differ ({count})</summary>{}</details>\n",
            in_table("Other variables that differ", &others)
        ),
    };
    let words = "Only what was recorded, and only where it is not the same in both.";
    sections::section("differences", "What differs", words, &format!("{shown}{folded}"))
}

/// The server of a series; an empty record where the manifest has none.
fn server(study: &Study, series: usize) -> ServerRecord {
    let series = study.plan.series.get(series);
    series.and_then(|series| study.manifest.servers.get(series.target)).cloned().unwrap_or_default()
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
    let names: BTreeSet<&String> = one.keys().chain(other.keys()).collect();
    let value = |of: &BTreeMap<String, String>, name: &String| of.get(name).cloned().unwrap_or_default();
    let row = |name: &String| (name.clone(), [value(&one, name), value(&other, name)]);
    names.into_iter().map(row).filter(|(_, [one, other])| one != other).collect()
}

fn in_table(caption: &str, rows: &[Row]) -> String {
    let value = |value: &String| field(if value.is_empty() { format::ABSENT } else { value });
    let rows: String =
        rows.iter().map(|(name, values)| row(name, &values.each_ref().map(value).concat())).collect();
    let heads = ["", "A", "B"].map(|name| head(name, "")).concat();
    table(caption, &heads, &format!("<tbody>\n{rows}</tbody>"))
}
