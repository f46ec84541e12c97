//! A published study as a page: what was published beside what was found here.
//!
//! `plots` says what is drawn, `heats` what as a heat map.

mod heats;
mod plots;

use super::legend::{Text, legend, swatch};
use super::page::{self, figure};
use super::sections::{evidence, field, head, list, section, table, unbroken};
use crate::format;
use crate::published::{Published, against, hosts, of_host, share_words, shown};
use evenkeel_core::caveat::Caveat;
use evenkeel_core::why::Verdict;
use evenkeel_study::harness::{Cell, Figure, Finding, Part, Run};
use plots::Line;
use std::collections::BTreeSet;

pub fn html(view: &Published<'_>) -> String {
    let parts: String = view.plan.parts.iter().map(|of| part(view, of)).collect();
    let body =
        [headline(view), caveats(view), findings(view), why(view), parts, runs(view), environment(view)];
    let kind = format!("study of {}", view.plan.kind);
    let title = format!("{} · Evenkeel {kind}", view.plan.id);
    page::document(&title, &page::banner(&kind, &view.plan.id), &body.concat())
}

pub fn headline(view: &Published<'_>) -> String {
    let said = &view.said;
    // The last sentence of each part says what it comes to.
    let last = |part: &Part| said.sentences.iter().rfind(|(name, _)| *name == part.name);
    let here: String = view
        .plan
        .parts
        .iter()
        .filter_map(|part| Some((part, &last(part)?.1)))
        .map(|(part, text)| format!("<p><b>{}.</b> {}</p>", Text(&part.title), Text(text)))
        .collect();
    let published = match said.published {
        "" => String::new(),
        text => format!(
            "<div class=\"variant s5\"><h2>Published</h2><p>{}</p><p class=\"words\">{}</p></div>\n",
            Text(text),
            Text(said.source)
        ),
    };
    format!(
        "<header class=\"head\">\n<h1>{}</h1>\n<p class=\"setting\">{}  ·  {}</p>\n\
         <div class=\"variants\">{published}\
         <div class=\"variant s0\"><h2>Here</h2>{here}<p class=\"words\">{}</p></div></div>\n</header>\n",
        Text(&unbroken(&said.headline)),
        Text(&said.setting),
        Text(&format::date(view.plan.created_unix_s)),
        Text(&said.rule)
    )
}

fn texts(caption: &str, heads: [&str; 3], rows: impl Iterator<Item = [String; 3]>) -> String {
    let heads = heads.map(|name| format!("<th scope=\"col\" class=\"text\">{name}</th>")).concat();
    let row = |[what, outcome, why]: [String; 3]| {
        format!(
            "<tr><td class=\"text\">{}</td><td class=\"text\"><b>{}</b></td><td class=\"text\">{}</td></tr>\n",
            Text(&what),
            Text(&outcome),
            Text(&why)
        )
    };
    let body = format!("<tbody>{}</tbody>", rows.map(row).collect::<String>());
    format!("<div class=\"card\">{}</div>", table(caption, &heads, &body))
}

pub fn findings(view: &Published<'_>) -> String {
    if view.said.findings.is_empty() {
        return String::new();
    }
    let row = |finding: &Finding| {
        [finding.published.clone(), finding.outcome.words().to_owned(), finding.here.clone()]
    };
    let rows = view.said.findings.iter().map(row);
    let inner = texts("Published findings beside ours", ["published", "here", "in numbers"], rows);
    section("findings", "Findings", "", &inner)
}

/// Suspects with what was found of them, and what each level varies by.
pub fn why(view: &Published<'_>) -> String {
    let said = &view.said;
    if said.verdicts.is_empty() && said.components.is_empty() {
        return String::new();
    }
    let row = |verdict: &Verdict| {
        [verdict.suspect.words().to_owned(), verdict.ruling.words().to_owned(), verdict.evidence.clone()]
    };
    let mut inner = texts("Suspects", ["suspect", "verdict", "evidence"], said.verdicts.iter().map(row));
    if !said.components.is_empty() {
        let level = |share| format!("<li>{}</li>\n", Text(&share_words(share)));
        let levels: String = said.components.iter().map(level).collect();
        inner += &format!("<h3>What makes runs vary</h3><ul>{levels}</ul>");
    }
    section("why", "Why", "", &inner)
}

pub fn part(view: &Published<'_>, part: &Part) -> String {
    let cells = view.cells_of(part);
    let words = |text: &str| format!("<p class=\"words\">{}</p>\n", Text(text));
    let sentences = view.said.sentences.iter().filter(|(name, _)| *name == part.name);
    let sentences: String = sentences.map(|(_, text)| words(text)).collect();
    if part.title.is_empty() || cells.is_empty() && sentences.is_empty() {
        return String::new();
    }
    let lines = plots::lines(part, &cells);
    let hosts = plots::drawn_hosts(&lines);
    // Where hosts were watched, each chart is of one line, and what differs in it is the host.
    let names: Vec<String> = hosts.iter().map(|host| format!("host {host}")).collect();
    let legend = match hosts.is_empty() {
        true => legend(lines.iter().map(|line| (line.look, line.words.as_str()))),
        false => legend(names.iter().enumerate().map(|(at, name)| (plots::look_of_host(at), name.as_str()))),
    };
    let against = plots::against_factor(view, part, &lines);
    let (wide, half) = against.split_at(against.len().min(1));
    let wide: String = wide.iter().map(|plot| figure(plot, &legend)).collect();
    let over_time = plots::over_time(view, part, &lines);
    let half: String = half.iter().chain(&over_time).map(|plot| figure(plot, "")).collect();
    let legend = if wide.is_empty() && !half.is_empty() { legend } else { String::new() };
    // An empty element behind the figures: the style sheet widens a figure that is left alone before it.
    let grid = format!("<div class=\"grid\">\n{half}<div hidden></div></div>\n");
    let references: String = view.references_of(part).map(|text| words(&text)).collect();
    let table = table_of(view, part, &cells, &lines);
    let matrices = view.said.matrices.iter().filter(|matrix| matrix.part == part.name);
    let heats = heats::matrices(matrices) + &heats::of_figures(view, part);
    let inner = format!("{sentences}{references}{heats}{table}{legend}{wide}{grid}");
    section(&part.name, &format::capital(&part.title), &part.about, &inner)
}

fn table_of(view: &Published<'_>, part: &Part, cells: &[&Cell<'_>], lines: &[Line<'_, '_>]) -> String {
    let figures = view.known(cells);
    if figures.is_empty() {
        return String::new();
    }
    let hosts = hosts(cells);
    let mut heads: Vec<(&str, &str)> = Vec::new();
    heads.extend(against(part).map(|place| (part.factors[place].name.as_str(), "")));
    heads.extend((hosts.len() > 1).then_some(("host", "")));
    heads.push(("runs", ""));
    heads.extend(figures.iter().map(|figure| (figure.head[0], figure.head[1])));
    let mut body = String::new();
    let has_looks = plots::drawn_hosts(lines).is_empty();
    for line in lines {
        let look = if has_looks { format!("{} ", swatch(line.look)) } else { String::new() };
        body += &format!(
            "<tbody>\n<tr class=\"series\"><th scope=\"rowgroup\" colspan=\"{}\">{look}{}</th></tr>\n",
            heads.len(),
            Text(&line.words)
        );
        for cell in &line.cells {
            body.extend((0..hosts.len()).map(|at| row(cell, &figures, &hosts, at)));
        }
        body.push_str("</tbody>\n");
    }
    let heads: String = heads.into_iter().map(|(name, unit)| head(name, unit)).collect();
    let caption = "Means over runs ± half of the 95 % interval";
    format!("<div class=\"card\" style=\"margin-top:20px\">{}</div>", table(caption, &heads, &body))
}

fn row(cell: &Cell<'_>, figures: &[&Figure], hosts: &[String], at: usize) -> String {
    let mut fields: Vec<String> = Vec::new();
    fields.extend(against(cell.part).map(|place| field(&cell.levels[place])));
    fields.extend((hosts.len() > 1).then(|| field(&hosts[at])));
    fields.push(field(&cell.runs.len().to_string()));
    let value = |figure: &&Figure| match shown(cell, figure, &hosts[at], at == 0) {
        Some(text) => field(&text),
        None => "<td class=\"absent\">-</td>".to_owned(),
    };
    fields.extend(figures.iter().map(value));
    format!("<tr>{}</tr>\n", fields.concat())
}

/// Every run with its figures, folded away part by part.
fn runs(view: &Published<'_>) -> String {
    let items: String = view.plan.parts.iter().map(|part| runs_of(view, part)).collect();
    let words =
        "Every run that counts; set aside: attempts at the same run that were disturbed from outside.";
    if items.is_empty() { items } else { section("runs", "Runs", words, &items) }
}

fn runs_of(view: &Published<'_>, part: &Part) -> String {
    let cells = view.cells_of(part);
    let figures = view.known(&cells);
    let hosts: BTreeSet<String> = hosts(&cells).into_iter().chain([String::new()]).collect();
    let mut runs: Vec<&Run> = cells.iter().flat_map(|cell| cell.runs.iter().copied()).collect();
    runs.sort_by_key(|run| (run.started_unix_s, run.repeat));
    let factors = part.factors.iter().map(|factor| (factor.name.as_str(), ""));
    let heads = [("began", ""), ("repeat", ""), ("set aside", "")].into_iter().chain(factors);
    let heads = heads.chain(figures.iter().map(|figure| (figure.head[0], figure.head[1])));
    let heads: String = heads.map(|(name, unit)| head(name, unit)).collect();
    let row = |run: &&Run| {
        let began = format::date(run.started_unix_s);
        let about = [began, run.repeat.to_string(), run.set_aside.len().to_string()];
        let value = |figure: &&Figure| {
            let of = hosts.iter().filter_map(|host| run.figure(&of_host(figure.key, host)));
            let all: Vec<String> = of.map(format::short).collect();
            if all.is_empty() { format::ABSENT.to_owned() } else { all.join(", ") }
        };
        let fields = about.into_iter().chain(run.levels.clone()).chain(figures.iter().map(value));
        format!("<tr>{}</tr>\n", fields.map(|text| field(&text)).collect::<String>())
    };
    let body = format!("<tbody>{}</tbody>", runs.iter().map(row).collect::<String>());
    let title = Text(if part.title.is_empty() { &part.name } else { &part.title }).to_string();
    let count = format::counted(runs.len(), "run");
    let table = table(&format!("Runs, {title}"), &heads, &body);
    match runs.is_empty() {
        true => String::new(),
        false => format!(
            "<details class=\"plan\"><summary><b>{title}</b> <span class=\"words\">{count}</span></summary>{table}</details>\n"
        ),
    }
}

pub fn caveats(view: &Published<'_>) -> String {
    let item = |caveat: &Caveat| format!("<li>{}{}</li>\n", Text(&caveat.text), evidence(caveat));
    let items: String = view.said.caveats.iter().map(item).collect();
    section("caveats", "Caveats", "", &format!("<div class=\"caveats doubt\"><ul>{items}</ul></div>"))
}

/// Where it was measured, and how to measure it again.
pub fn environment(view: &Published<'_>) -> String {
    // A simulation has no place.
    let place = match view.said.place.is_empty() {
        true => String::new(),
        false => format!("<div class=\"card\">{}</div>\n", list(&view.said.place)),
    };
    let inner = format!(
        "{place}<h3>To repeat it</h3><pre class=\"command\">evenkeel {}</pre><p class=\"words\">seed {}, study {}</p>\n",
        Text(&view.plan.command.join(" ")),
        view.plan.seed,
        Text(&view.plan.id)
    );
    section("environment", "Environment", "", &inner)
}
