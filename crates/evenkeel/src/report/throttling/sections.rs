//! Headline, workloads, step, doubts and environment of the page.

use super::{View, look, plots};
use crate::format;
use crate::report::legend::swatch;
use crate::report::markup::Text;
use crate::report::page::figure;
use crate::report::sections::{section, table};
use crate::throttling::figures::Figure;
use crate::throttling::record::{Load, Place, Way};
use crate::throttling::summary::{Cell, known};
use crate::throttling::table::{settled, value};
use crate::throttling::verdict::Verdict;
use crate::throttling::words;
use std::fmt::Write as _;

/// What was found, beside what was published.
pub fn headline(view: &View<'_>) -> String {
    let headline = words::headline(&view.verdicts, view.points).replace(" %", "\u{a0}%");
    format!(
        "<header class=\"head\">\n<h1>{}</h1>\n<p class=\"setting\">{}  ·  {}</p>\n\
         <div class=\"variants\"><div class=\"variant s5\"><h2>Published</h2><p>{}</p><p class=\"words\">{}</p></div>\n\
         <div class=\"variant s0\"><h2>Here</h2>{}<p class=\"words\">{}</p></div></div>\n</header>\n",
        Text(&headline),
        Text(&words::setting(view.plan)),
        Text(&format::date(view.plan.created_unix_s)),
        Text(words::PUBLISHED),
        Text(words::SOURCE),
        here(view),
        Text(&words::rule())
    )
}

fn here(view: &View<'_>) -> String {
    let kept =
        view.verdicts.iter().filter_map(|verdict| Some((verdict.load, words::sentences(verdict).pop()?)));
    kept.map(|(load, text)| format!("<p><b>{}.</b> {}</p>", Text(load.words()), Text(&text))).collect()
}

/// Charts and table of one workload.
pub fn workload(view: &View<'_>, verdict: &Verdict) -> String {
    let load = verdict.load;
    let sentences: String = words::sentences(verdict)
        .iter()
        .map(|text| format!("<p class=\"words\">{}</p>\n", Text(text)))
        .collect();
    let half: String = plots::others(view, load).iter().map(|plot| figure(plot, "")).collect();
    // An empty element behind the figures: the style sheet widens a figure that is left alone before it.
    let inner = format!(
        "{sentences}{}<div class=\"grid\">\n{half}<div hidden></div></div>\n{}",
        figure(&plots::throughput(view, load), &legend(view, load)),
        cells(view, load)
    );
    section(load.name(), &heading(load.words()), about(load), &inner)
}

fn heading(words: &str) -> String {
    let mut letters = words.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

fn about(load: Load) -> &'static str {
    match load {
        Load::Shopping => {
            "The workload of the published study: browsers of a bookshop, here without think time, on a buffer pool \
             that holds all data."
        }
        Load::Reread => {
            "Measured because the shopping mix does not fall, or because it was asked for: a transaction reads one \
             range of rows six times and locks nothing. The buffer pool holds the ranges of a few transactions, not \
             of many."
        }
    }
}

fn legend(view: &View<'_>, load: Load) -> String {
    let is_there = |way: &Way| view.cells.iter().any(|cell| cell.load == load && cell.way == *way);
    named_ways(Way::ALL.into_iter().filter(is_there))
}

fn named_ways(ways: impl Iterator<Item = Way>) -> String {
    let items: String =
        ways.map(|way| format!("<li>{}{}</li>\n", swatch(look(way)), Text(way.words()))).collect();
    format!("<ul class=\"legend\">\n{items}</ul>\n")
}

fn cells(view: &View<'_>, load: Load) -> String {
    let figures = known(&view.cells, load);
    let head: String = figures
        .iter()
        .map(|figure| {
            format!("<th scope=\"col\">{}<small>{}</small></th>", Text(figure.head[0]), Text(figure.head[1]))
        })
        .collect();
    let waited = view.cells.iter().any(|cell| cell.load == load && cell.settled().is_some());
    let mut body = String::new();
    for way in Way::ALL {
        let of: Vec<&Cell<'_>> =
            view.cells.iter().filter(|cell| cell.load == load && cell.way == way).collect();
        if of.is_empty() {
            continue;
        }
        let _ = writeln!(
            body,
            "<tbody>\n<tr class=\"series\"><th scope=\"rowgroup\" colspan=\"{}\">{} {}</th></tr>",
            figures.len() + 2 + usize::from(waited),
            swatch(look(way)),
            Text(way.words())
        );
        of.iter().for_each(|cell| body.push_str(&row(cell, &figures, waited)));
        body.push_str("</tbody>\n");
    }
    let rest = if waited { "<th scope=\"col\">settled<small>limit</small></th>" } else { "" };
    let head = format!("<th scope=\"col\">clients</th><th scope=\"col\">runs</th>{rest}{head}");
    format!(
        "<div class=\"card\" style=\"margin-top:20px\">{}</div>",
        table("Points, means over runs ± half of the 95 % interval", &head, &body)
    )
}

fn row(cell: &Cell<'_>, figures: &[&Figure], waited: bool) -> String {
    let value = |figure: &&Figure| match cell.estimate(figure) {
        Some(estimate) => format!("<td>{}</td>", Text(&value(&estimate))),
        None => "<td class=\"absent\">-</td>".to_owned(),
    };
    let values: String = figures.iter().map(value).collect();
    let rest = if waited { format!("<td>{}</td>", Text(&settled(cell))) } else { String::new() };
    format!("<tr><td>{}</td><td>{}</td>{rest}{values}</tr>\n", cell.clients, cell.runs.len())
}

/// What happens after a step.
pub fn step(view: &View<'_>) -> String {
    if view.steps.is_empty() {
        return String::new();
    }
    let step = &view.plan.step;
    let words = format!(
        "The shopping mix with {} clients, and from {} on with {}; {} of each.",
        step.clients.0,
        format::seconds(step.before_s),
        step.clients.1,
        format::counted(step.repeats as usize, "run")
    );
    let ways = Way::ALL.into_iter().filter(|way| view.steps.iter().any(|step| step.way == *way));
    let charts: String = plots::steps(view).iter().map(|plot| figure(plot, "")).collect();
    let inner = format!("{}<div class=\"grid\">\n{charts}<div hidden></div></div>\n", named_ways(ways));
    section("step", "After a step in the number of clients", &words, &inner)
}

/// What to know before relying on it.
pub fn caveats(view: &View<'_>) -> String {
    let items: String = words::caveats(view.plan, view.points, view.steps)
        .iter()
        .map(|text| format!("<li>{}</li>\n", Text(text)))
        .collect();
    section("caveats", "Caveats", "", &format!("<div class=\"caveats doubt\"><ul>{items}</ul></div>"))
}

/// Where it was measured, and how to measure it again.
pub fn environment(view: &View<'_>) -> String {
    let plan = view.plan;
    let pairs: String = place(&plan.place)
        .into_iter()
        .map(|(name, value)| format!("<div><dt>{}</dt><dd>{}</dd></div>", Text(name), Text(&value)))
        .collect();
    let inner = format!(
        "<div class=\"card\"><dl class=\"pairs\">{pairs}</dl></div>\n<h3>To repeat it</h3>\
         <pre class=\"command\">evenkeel {}</pre><p class=\"words\">seed {}, study {}</p>\n",
        Text(&plan.command.join(" ")),
        plan.seed,
        Text(&plan.id)
    );
    section("environment", "Environment", "", &inner)
}

fn place(place: &Place) -> Vec<(&'static str, String)> {
    let told = |value: &Option<String>| value.clone().unwrap_or_else(|| format::ABSENT.to_owned());
    let settings = if place.settings.is_empty() { "none".to_owned() } else { place.settings.join(" ") };
    vec![
        ("processor", told(&place.processor)),
        ("CPUs", told(&place.cpus)),
        ("hypervisor", told(&place.hypervisor)),
        ("CPUs of the server", place.server_cpus.clone()),
        ("CPUs of clients and guard", place.generator_cpus.clone()),
        ("memory limit of the server", place.memory_bytes.map_or_else(|| "none".to_owned(), format::bytes)),
        ("settings asked for", settings),
    ]
}
