//! Headline, findings, parts, doubts and environment of the page.

use super::plots::{self, Line};
use crate::format;
use crate::published::{Published, against, hosts, share_words, shown};
use crate::report::legend::swatch;
use crate::report::markup::Text;
use crate::report::page::figure;
use crate::report::sections::{evidence, section, table};
use evenkeel_core::caveat::Caveat;
use evenkeel_study::harness::{Cell, Figure, Part};
use std::fmt::Write as _;

/// What was found, beside what was published.
pub fn headline(view: &Published<'_>) -> String {
    let said = &view.said;
    let headline = said.headline.replace(" %", "\u{a0}%");
    // The last sentence of each part says what it comes to.
    let last = |part: &Part| said.sentences.iter().rfind(|(name, _)| *name == part.name);
    let here: String = view
        .plan
        .parts
        .iter()
        .filter_map(|part| Some((part, &last(part)?.1)))
        .map(|(part, text)| format!("<p><b>{}.</b> {}</p>", Text(&part.title), Text(text)))
        .collect();
    format!(
        "<header class=\"head\">\n<h1>{}</h1>\n<p class=\"setting\">{}  ·  {}</p>\n\
         <div class=\"variants\"><div class=\"variant s5\"><h2>Published</h2><p>{}</p><p class=\"words\">{}</p></div>\n\
         <div class=\"variant s0\"><h2>Here</h2>{here}<p class=\"words\">{}</p></div></div>\n</header>\n",
        Text(&headline),
        Text(&said.setting),
        Text(&format::date(view.plan.created_unix_s)),
        Text(said.published),
        Text(said.source),
        Text(&said.rule)
    )
}

/// The published findings, each beside ours.
pub fn findings(view: &Published<'_>) -> String {
    if view.said.findings.is_empty() {
        return String::new();
    }
    let row = |finding: &evenkeel_study::harness::Finding| {
        format!(
            "<tr><td class=\"text\">{}</td><td class=\"text\"><b>{}</b></td><td class=\"text\">{}</td></tr>\n",
            Text(&finding.published),
            Text(finding.outcome.words()),
            Text(&finding.here)
        )
    };
    let body: String = view.said.findings.iter().map(row).collect();
    let head = "<th scope=\"col\" class=\"text\">published</th><th scope=\"col\" class=\"text\">here</th><th scope=\"col\" class=\"text\">in numbers</th>";
    let inner = format!(
        "<div class=\"card\">{}</div>",
        table("Published findings beside ours", head, &format!("<tbody>{body}</tbody>"))
    );
    section("findings", "Findings", "", &inner)
}

/// Suspects with what was found of them, and what each level varies by.
pub fn why(view: &Published<'_>) -> String {
    let said = &view.said;
    if said.verdicts.is_empty() && said.components.is_empty() {
        return String::new();
    }
    let row = |verdict: &evenkeel_core::why::Verdict| {
        format!(
            "<tr><td class=\"text\">{}</td><td class=\"text\"><b>{}</b></td><td class=\"text\">{}</td></tr>\n",
            Text(verdict.suspect.words()),
            Text(verdict.ruling.words()),
            Text(&verdict.evidence)
        )
    };
    let body: String = said.verdicts.iter().map(row).collect();
    let head = "<th scope=\"col\" class=\"text\">suspect</th><th scope=\"col\" class=\"text\">verdict</th><th scope=\"col\" class=\"text\">evidence</th>";
    let levels: String =
        said.components.iter().map(|share| format!("<li>{}</li>\n", Text(&share_words(share)))).collect();
    let levels =
        if levels.is_empty() { levels } else { format!("<h3>What makes runs vary</h3><ul>{levels}</ul>") };
    let inner = format!(
        "<div class=\"card\">{}</div>{levels}",
        table("Suspects", head, &format!("<tbody>{body}</tbody>"))
    );
    section("why", "Why", "", &inner)
}

/// Charts and table of one part.
pub fn part(view: &Published<'_>, part: &Part) -> String {
    let cells = view.cells_of(part);
    let sentences = view.said.sentences.iter().filter(|(name, _)| *name == part.name);
    let sentences: String =
        sentences.map(|(_, text)| format!("<p class=\"words\">{}</p>\n", Text(text))).collect();
    if cells.is_empty() && sentences.is_empty() {
        return String::new();
    }
    let lines = plots::lines(part, &cells);
    let hosts = plots::drawn_hosts(&lines);
    let legend = if hosts.is_empty() { legend(&lines) } else { legend_of_hosts(&hosts) };
    let (wide, half) = plots::against_factor(view, part, &lines);
    let wide: String = wide.iter().map(|plot| figure(plot, &legend)).collect();
    let over_time = plots::over_time(view, part, &lines);
    let half: String = half.iter().chain(&over_time).map(|plot| figure(plot, "")).collect();
    let legend = if wide.is_empty() && !half.is_empty() { legend } else { String::new() };
    // An empty element behind the figures: the style sheet widens a figure that is left alone before it.
    let grid = format!("<div class=\"grid\">\n{half}<div hidden></div></div>\n");
    let references: String =
        view.references_of(part).map(|text| format!("<p class=\"words\">{}</p>\n", Text(&text))).collect();
    let inner =
        format!("{sentences}{references}{legend}{wide}{grid}{}", table_of(view, part, &cells, &lines));
    section(&part.name, &capital(&part.title), &part.about, &inner)
}

fn capital(words: &str) -> String {
    let mut letters = words.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

fn legend(lines: &[Line<'_, '_>]) -> String {
    let item = |line: &Line<'_, '_>| format!("<li>{}{}</li>\n", swatch(line.look), Text(&line.words));
    format!("<ul class=\"legend\">\n{}</ul>\n", lines.iter().map(item).collect::<String>())
}

/// Each chart is of one line then, and what differs in it is the host.
fn legend_of_hosts(hosts: &[String]) -> String {
    let item = |(at, host): (usize, &String)| {
        format!("<li>{}host {}</li>\n", swatch(plots::look_of_host(at)), Text(host))
    };
    format!("<ul class=\"legend\">\n{}</ul>\n", hosts.iter().enumerate().map(item).collect::<String>())
}

fn table_of(view: &Published<'_>, part: &Part, cells: &[&Cell<'_>], lines: &[Line<'_, '_>]) -> String {
    let figures = view.known(cells);
    if figures.is_empty() {
        return String::new();
    }
    let (hosts, against) = (hosts(cells), against(part));
    let column = |name: &str, unit: &str| {
        format!("<th scope=\"col\">{}<small>{}</small></th>", Text(name), Text(unit))
    };
    let mut head = against.map_or_else(String::new, |place| column(&part.factors[place].name, ""));
    if hosts.len() > 1 {
        head.push_str(&column("host", ""));
    }
    head.push_str(&column("runs", ""));
    figures.iter().for_each(|figure| head.push_str(&column(figure.head[0], figure.head[1])));
    let columns = figures.len() + 1 + usize::from(against.is_some()) + usize::from(hosts.len() > 1);
    let mut body = String::new();
    let has_looks = plots::drawn_hosts(lines).is_empty();
    for line in lines {
        let look = if has_looks { format!("{} ", swatch(line.look)) } else { String::new() };
        let _ = writeln!(
            body,
            "<tbody>\n<tr class=\"series\"><th scope=\"rowgroup\" colspan=\"{columns}\">{look}{}</th></tr>",
            Text(&line.words)
        );
        for cell in &line.cells {
            let rows = hosts
                .iter()
                .enumerate()
                .map(|(at, host)| row(cell, &figures, host, (at == 0, hosts.len() > 1)));
            body.extend(rows);
        }
        body.push_str("</tbody>\n");
    }
    let caption = "Means over runs ± half of the 95 % interval";
    format!("<div class=\"card\" style=\"margin-top:20px\">{}</div>", table(caption, &head, &body))
}

fn row(cell: &Cell<'_>, figures: &[&Figure], host: &str, (is_first, has_hosts): (bool, bool)) -> String {
    let value = |figure: &&Figure| match shown(cell, figure, host, is_first) {
        Some(text) => format!("<td>{}</td>", Text(&text)),
        None => "<td class=\"absent\">-</td>".to_owned(),
    };
    let mut names = String::new();
    if let Some(place) = against(cell.part) {
        let _ = write!(names, "<td>{}</td>", Text(&cell.levels[place]));
    }
    if has_hosts {
        let _ = write!(names, "<td>{}</td>", Text(host));
    }
    format!("<tr>{names}<td>{}</td>{}</tr>\n", cell.runs.len(), figures.iter().map(value).collect::<String>())
}

/// What to know before relying on it.
pub fn caveats(view: &Published<'_>) -> String {
    let items: String = view.said.caveats.iter().map(item).collect();
    section("caveats", "Caveats", "", &format!("<div class=\"caveats doubt\"><ul>{items}</ul></div>"))
}

fn item(caveat: &Caveat) -> String {
    format!("<li>{}{}</li>\n", Text(&caveat.text), evidence(caveat))
}

/// Where it was measured, and how to measure it again.
pub fn environment(view: &Published<'_>) -> String {
    let pair = |(name, value): &(&str, String)| {
        format!("<div><dt>{}</dt><dd>{}</dd></div>", Text(name), Text(value))
    };
    let pairs: String = view.said.place.iter().map(pair).collect();
    let inner = format!(
        "<div class=\"card\"><dl class=\"pairs\">{pairs}</dl></div>\n<h3>To repeat it</h3>\
         <pre class=\"command\">evenkeel {}</pre><p class=\"words\">seed {}, study {}</p>\n",
        Text(&view.plan.command.join(" ")),
        view.plan.seed,
        Text(&view.plan.id)
    );
    section("environment", "Environment", "", &inner)
}
