//! Two studies over each other, as one page: the verdict, both headlines, their curves, and what differs in where and how they
//! were measured.

use super::legend::{Study, Text, swatch};
use super::page::{banner, document, figure};
use super::plots;
use super::sections::{
    self, GUIDE, TELLING, field, row, settings, spoken, table, trust_text, unbroken, verdicts,
};
use crate::failure::WithHint;
use crate::study::comparison::{self, Wording};
use crate::{format, out};
use anyhow::{Context, Result, anyhow};
use evenkeel_core::experiment::Margin;
use evenkeel_study::store::format::{SeriesRecord, ServerRecord};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// A series of one study with that of the other.
struct Match {
    label: String,
    series: [usize; 2],
}

/// Two figures that lie so close are the same, as `evenkeel compare` takes it.
const MARGIN: f64 = 0.05;

/// The page of two studies.
/// Errors: one has nothing measured, or no series of one is in the other.
pub fn compare(one: &Study, other: &Study) -> Result<String> {
    let both = [one, other];
    let [first, second] = both.map(|study| &study.plan.id);
    if let Some(empty) = both.into_iter().find(|study| study.summary.cells.is_empty()) {
        let name = &empty.plan.id;
        return Err(anyhow!("study {name} has no finished run to compare"))
            .hint(format!("continue it first: `evenkeel runs {name}` shows the command"));
    }
    let matches = matches(both)?;
    let mut body = head(both, verdict(one, other).as_ref());
    body.push_str(&caveats(both));
    body.extend(matches.iter().enumerate().map(|(at, found)| part(both, found, at, matches.len())));
    body.push_str(&section(both, &matches[0].series));
    let banner = banner("two studies:", &format!("{first} and {second}"));
    Ok(document(&format!("{first} and {second} · Evenkeel"), &banner, &body))
}

/// With one series each there is nothing to choose; otherwise those with the same label.
fn matches(studies: [&Study; 2]) -> Result<Vec<Match>> {
    let [one, other] = studies.map(|study| &study.plan.series);
    if let ([alone], [_]) = (one.as_slice(), other.as_slice()) {
        return Ok(vec![Match { label: alone.label.clone(), series: [0, 0] }]);
    }
    let pair = |(at, own): (usize, &SeriesRecord)| {
        let same = other.iter().position(|series| series.label == own.label)?;
        Some(Match { label: own.label.clone(), series: [at, same] })
    };
    let found: Vec<Match> = one.iter().enumerate().filter_map(pair).collect();
    if found.is_empty() {
        let [one, other] = [one, other]
            .map(|all| all.iter().map(|series| format!("{:?}", series.label)).collect::<Vec<_>>().join(", "));
        return Err(anyhow!("the studies have no series in common: one has {one}, the other {other}")).hint(
            "series match by their labels: measure both with the same workload, factors and sandboxes",
        );
    }
    Ok(found)
}

/// Of the second study; `None` where the two cannot be compared.
fn verdict(one: &Study, other: &Study) -> Option<Wording> {
    let margin = Margin::new(MARGIN).ok()?;
    let names = ["A", "B"];
    comparison::of_two([&one.side(), &other.side()], names, None, margin).ok().map(|(told, _)| told)
}

fn head(studies: [&Study; 2], verdict: Option<&Wording>) -> String {
    let title = match studies.map(Study::workloads) {
        [one, other] if one == other => format!("{} in two studies", one.join(", ")),
        [one, other] => format!("{} beside {}", one.join(", "), other.join(", ")),
    };
    let cards: String = (0..2).map(|side| card(studies[side], side)).collect();
    let tag = if verdict.is_some() { "p" } else { "h1" };
    format!(
        "<header class=\"head\">\n{}<{tag}>{}</{tag}>\n<div class=\"variants\">\n{cards}</div>\n</header>\n",
        verdict.map_or_else(String::new, |told| verdicts(std::slice::from_ref(told))),
        Text(&title)
    )
}

fn caveats(studies: [&Study; 2]) -> String {
    let of = |side: usize| {
        let name = Text(&studies[side].plan.id);
        format!("<h3>{} {name}</h3>{}", plots::SIDES[side], sections::caveats_of(studies[side]))
    };
    sections::section("caveats", "Caveats", "", &(of(0) + &of(1)))
}

fn card(study: &Study, side: usize) -> String {
    let headlines = &study.summary.headlines;
    let sentence = |text: &str| format!("<p>{}</p>", Text(&unbroken(text)));
    let sentences: String = headlines
        .iter()
        .map(|headline| {
            let first = match headline.label.as_str() {
                "" => sentence(&headline.text),
                label => sentence(&format!("{label}: {}", headline.text)),
            };
            first + &trust_text(headline)
        })
        .collect();
    let untold = || "<p>The runs so far do not show what this server carries.</p>".to_owned();
    format!(
        "<article class=\"variant s{}\"><h2>{} {}: {}</h2>{}<p class=\"words\">{}, {} of {} runs</p></article>\n",
        plots::side_look(side).hue,
        swatch(plots::side_look(side)),
        plots::SIDES[side],
        Text(&study.plan.id),
        if sentences.is_empty() { untold() } else { sentences },
        Text(&format::date(study.plan.created_unix_s)),
        study.summary.runs_done,
        study.summary.runs_planned
    )
}

fn part(studies: [&Study; 2], found: &Match, at: usize, of: usize) -> String {
    let heading = if of > 1 { format!("<h2>{}</h2>\n", Text(&found.label)) } else { String::new() };
    let [wide, half @ ..] = plots::pair(studies, found.series, &at.to_string());
    let half: String = half.iter().map(|plot| figure(plot, "")).collect();
    // The words of the page once, below the first charts.
    let guide = if at == 0 { GUIDE } else { "" };
    let wide = figure(&wide, "");
    format!("<section id=\"pair-{at}\">{heading}{wide}<div class=\"grid\">\n{half}{guide}</div></section>\n")
}

/// Writes a page to where the user said, or under a name of ours into a study's folder, where a symbolic link of that name is
/// replaced: the folder may be somebody else's.
pub fn save(to: Option<&Path>, folder: &Path, name: &str, page: &str) -> Result<PathBuf> {
    let own = folder.join(name);
    let written = match to {
        Some(to) => out::file(to, page),
        None => evenkeel_os::replace(&own, page.as_bytes()),
    };
    let to = to.map_or(own, Path::to_owned);
    let written = written.with_context(|| format!("writing {}", to.display()));
    written.hint("name a file in a folder that you may write to, by --to")?;
    Ok(to)
}

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
    let words = "What differs: only what was recorded, and only where it is not the same in both.";
    sections::section(
        "environment",
        "Environment",
        words,
        &format!("<div id=\"differences\">{shown}{folded}</div>"),
    )
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
    let heads = ["", "A", "B"].map(|name| sections::head(name, "")).concat();
    table(caption, &heads, &format!("<tbody>\n{rows}</tbody>"))
}

#[cfg(test)]
mod tests {
    use super::{compare, *};
    use crate::fixture;
    use crate::fixture::Fixture;
    use crate::report::legend::check::fault;
    use std::fs;

    /// The demonstration again, on a server that takes half as long again.
    fn slower() -> Fixture {
        let mut fixture = fixture::demo();
        fixture.plan.id = "2026-11-22-slower".to_owned();
        for run in &mut fixture.runs {
            run.response.mean_ms *= 1.5;
            run.response.p95_ms *= 1.5;
        }
        for cell in &mut fixture.summary.cells {
            cell.tau_ms.mean *= 1.5;
        }
        fixture
    }

    #[test]
    fn what_differs_in_servers_machines_and_settings_is_named_and_places_are_folded_away() {
        let mut other = slower();
        let server = &mut other.manifest.servers[0];
        server.version = "11.4.2-MariaDB".to_owned();
        server.variables.insert("innodb_flush_method".to_owned(), "fsync".to_owned());
        server.variables.insert("port".to_owned(), "4711".to_owned());
        server.variables.insert("version_comment".to_owned(), "Debian 13".to_owned());
        other.manifest.machine.insert("kernel".to_owned(), "Linux 6.12".to_owned());
        other.plan.settings.duration_s = 60.0;
        let page = compare(&fixture::demo(), &other).unwrap();
        let differs = page.split("id=\"environment\"").nth(1).unwrap();
        let (shown, folded) = differs.split_once("<details").unwrap();
        for part in
            ["11.4.2-MariaDB", "10.11.14", "fsync", "O_DIRECT", "Linux 6.12", "<td>15 s</td><td>1 min</td>"]
        {
            assert!(shown.contains(part), "{part} in {shown}");
        }
        assert!(!shown.contains("max_connections") && !shown.contains("4711"));
        assert!(folded.contains("Other variables that differ (2)"));
        assert!(folded.contains("<td class=\"absent\">not available</td><td>4711</td>"), "{folded}");
    }

    #[test]
    fn series_are_matched_by_their_labels_and_none_is_an_error_that_names_them() {
        let page = compare(&fixture::factors(), &fixture::factors()).unwrap();
        assert_eq!(fault(&page), None);
        assert_eq!(page.matches("id=\"pair-").count(), fixture::factors().plan.series.len());
        let text = format!("{:#}", compare(&fixture::factors(), &fixture::twelve()).unwrap_err());
        assert!(
            text.contains("\"pool 20 %, insert layout, a\"") && text.contains("\"workload-3\""),
            "{text}"
        );
        assert!(text.contains("same workload"), "{text}");
    }

    #[test]
    fn no_text_of_either_becomes_markup() {
        let mut evil = slower();
        evil.plan.id = "<script>alert(1)</script>".to_owned();
        evil.summary.headlines[0].text = "<evil>".to_owned();
        evil.manifest.machine.insert("<evil>".to_owned(), "<evil>".to_owned());
        evil.manifest.servers[0].variables.insert("<evil>".to_owned(), "\"<evil>".to_owned());
        let page = compare(&evil, &fixture::demo()).unwrap();
        assert_eq!(fault(&page), None);
        assert!(!page.contains("<evil") && !page.contains("<script>alert"));
    }

    #[test]
    fn a_page_in_a_folder_of_somebody_else_overwrites_nothing_outside_of_it() {
        let home = tempfile::tempdir().unwrap();
        let (folder, victim) = (home.path().join("gift"), home.path().join("victim"));
        fs::create_dir(&folder).unwrap();
        fs::write(&victim, "mine").unwrap();
        std::os::unix::fs::symlink(&victim, folder.join("report.html")).unwrap();
        assert_eq!(save(None, &folder, "report.html", "page").unwrap(), folder.join("report.html"));
        assert_eq!(fs::read(&victim).unwrap(), b"mine");
        assert_eq!(fs::read(folder.join("report.html")).unwrap(), b"page");
    }
}
