//! Headline, figures and doubts of the page.

use super::plots;
use crate::databases::outcome::{Cell, Spread};
use crate::databases::record::{Eased, Figures, Run, Setting};
use crate::databases::table::spread;
use crate::databases::{NAMES, PARDA, PUBLISHED_MOST, Published, SHARES, THRESHOLD_S, UNCONTROLLED};
use crate::format;
use crate::report::legend::swatch;
use crate::report::markup::Text;
use crate::report::page::figure;
use crate::report::sections::{section, table};
use crate::report::shares::words;
use evenkeel_core::share::experiment::Treatment as Way;
use std::fmt::Write as _;

/// What came out at the first most window.
pub fn headline(setting: &Setting, cells: &[Cell<'_>]) -> String {
    let first = cells.first().map_or(PUBLISHED_MOST, |cell| cell.most);
    let ratios: Vec<String> = cells
        .iter()
        .filter(|cell| cell.most == first)
        .filter_map(|cell| Some(format!("{:.2} {}", cell.ratio()?.median, by(cell.way))))
        .collect();
    format!(
        "<header class=\"head\">\n<h1>{}</h1>\n<p class=\"setting\">{}</p>\n</header>\n",
        Text(&match ratios.is_empty() {
            true => "No orders on both hosts yet".to_owned(),
            false => format!(
                "Host b, with four times the shares, makes so many times the orders of host a: {}",
                ratios.join(", ")
            ),
        }),
        Text(&format!(
            "Two MariaDBs with a DVD Store of {} each, {} clients without think time; data on one simulated array of six \
             spindles of 5.7 ms, redo logs on another that nothing bounds; threshold {:.0} ms, a window every {} s; \
             {} measured after {} of load, {}",
            setting.size,
            setting.clients,
            1e3 * THRESHOLD_S,
            setting.period_s,
            format::seconds(setting.duration_s),
            format::seconds(setting.warm_up_s),
            format::counted(setting.rounds as usize, "round"),
        ))
    )
}

fn by(way: Way) -> &'static str {
    match way {
        Way::Uncontrolled => "uncontrolled",
        Way::Parda => "by the published law",
        Way::Evenkeel => "by Evenkeel",
    }
}

/// Figures and charts of a most window; nothing without runs.
pub fn most(setting: &Setting, cells: &[Cell<'_>], most: u32) -> String {
    let cells: Vec<&Cell<'_>> = cells.iter().filter(|cell| cell.most == most).collect();
    if cells.is_empty() {
        return String::new();
    }
    let charts: String = plots::all(setting, &cells).iter().map(|plot| figure(plot, "")).collect();
    let item = |host: usize| {
        let share = SHARES[host];
        format!("<li>{}host {}, share {share}</li>\n", swatch(plots::look(host)), NAMES[host])
    };
    let inner = format!(
        "{}{}{}<ul class=\"legend\" style=\"margin-top:20px\">\n{}{}</ul>\n<div class=\"grid\">\n{charts}<div hidden></div></div>\n",
        orders(&cells, most),
        storage(&cells, most),
        lulls(setting, &cells),
        item(0),
        item(1)
    );
    let words = if setting.rounds > 1 {
        "Medians over rounds, in brackets the range. The charts are of the first round of each way."
    } else {
        "One run of each way."
    };
    section(&format!("most-{most}"), &format!("Windows of at most {most}"), words, &inner)
}

/// The publication's table 7: orders.
fn orders(cells: &[&Cell<'_>], most: u32) -> String {
    let heads = [
        "",
        "orders/min of a",
        "of b",
        "b/a",
        "bound by",
        "both, of uncontrolled",
        "an order of a, ms",
        "of b, ms",
        "no stock",
        "lost",
    ];
    let mut body = String::new();
    let published = [("uncontrolled", UNCONTROLLED), ("the published law", PARDA)];
    for (way, of) in published.iter().filter(|_| most == PUBLISHED_MOST) {
        row(&mut body, &format!("{way}, published"), &published_orders(of));
    }
    for cell in cells {
        let count = |of: fn(&Figures) -> u64| {
            cell.runs.iter().flat_map(|run| &run.hosts).map(of).sum::<u64>().to_string()
        };
        let kept = if cell.way == Way::Uncontrolled { String::new() } else { spread(cell.kept(), cell) };
        row(
            &mut body,
            &format!("{}, here", words(cell.way)),
            &[
                per_minute(cell, 0),
                per_minute(cell, 1),
                spread(cell.ratio(), cell),
                cell.bound().map(|bound| bound.to_string()).unwrap_or_default(),
                kept,
                range(cell, cell.figure(0, |host| host.response_ms), 0),
                range(cell, cell.figure(1, |host| host.response_ms), 0),
                count(|host| host.rolled_back),
                count(|host| host.lost),
            ],
        );
    }
    framed("Orders: published and here", &heads, &body)
}

fn published_orders(of: &Published) -> [String; 9] {
    let [a, b] = of.orders;
    let count = |number: f64| format::count(number as u64);
    let kept = if *of == PARDA { format!("{:.2}", of.total() / UNCONTROLLED.total()) } else { String::new() };
    let bound = if *of == PARDA { "demand" } else { "" };
    [
        count(a.0),
        count(b.0),
        format!("{:.2}", of.ratio()),
        bound.to_owned(),
        kept,
        count(a.1),
        count(b.1),
        String::new(),
        String::new(),
    ]
}

/// A figure of a host, and its digits.
type Column = (fn(&Figures) -> f64, usize);

/// What the storage did, and the windows.
fn storage(cells: &[&Cell<'_>], most: u32) -> String {
    let heads = [
        "",
        "I/Os per s of a",
        "of b",
        "latency of a, ms",
        "of b, ms",
        "window of a",
        "of b",
        "wanted by a",
        "by b",
        "beta of a",
        "of b",
    ];
    let mut body = String::new();
    if let Some([a, b]) = UNCONTROLLED.storage.filter(|_| most == PUBLISHED_MOST) {
        let cells = [a.0, b.0].map(|ios| format!("{ios:.0}"));
        let latency = [a.1, b.1].map(|latency| format!("{latency:.1}"));
        let mut told = [cells, latency].concat();
        told.resize(heads.len() - 1, String::new());
        row(&mut body, "uncontrolled, published", &told);
    }
    for cell in cells {
        let figures: [Column; 5] = [
            (|host| host.ios_per_s, 0),
            (|host| host.latency_ms.unwrap_or(f64::NAN), 1),
            (|host| host.window, 1),
            (|host| host.wanted, 1),
            (|host| host.beta, 2),
        ];
        let both = figures
            .iter()
            .flat_map(|(of, digits)| [0, 1].map(|host| range(cell, cell.figure(host, of), *digits)));
        row(&mut body, &format!("{}, here", words(cell.way)), &both.collect::<Vec<_>>());
    }
    framed("Storage: published and here", &heads, &body)
}

/// A figure of a lull, and its digits.
type EasedColumn = (fn(Eased) -> f64, usize);

/// What became of windows and beta while host b asked for less; nothing without a lull.
fn lulls(setting: &Setting, cells: &[&Cell<'_>]) -> String {
    let heads =
        ["", "window of a, over that before", "of b", "beta of b before", "late in the lull", "in the end"];
    let figures: [EasedColumn; 5] = [
        (|eased| eased.opened[0], 1),
        (|eased| eased.opened[1], 1),
        (|eased| eased.beta[0], 2),
        (|eased| eased.beta[1], 2),
        (|eased| eased.beta[2], 2),
    ];
    let mut body = String::new();
    for cell in cells.iter().filter(|cell| cell.way != Way::Uncontrolled) {
        let spreads = figures.map(|(of, digits)| (cell.over_runs(|run| run.eased(setting).map(of)), digits));
        if spreads.iter().any(|(spread, _)| spread.is_some()) {
            let cells = spreads.map(|(spread, digits)| range(cell, spread, digits));
            row(&mut body, &format!("{}, here", words(cell.way)), &cells);
        }
    }
    if body.is_empty() {
        body
    } else {
        framed("The last quarter of the time in which host b asks for less", &heads, &body)
    }
}

/// One run has the standard error within it, several have their range.
fn per_minute(cell: &Cell<'_>, host: usize) -> String {
    match cell.runs.as_slice() {
        [run] => {
            let figures = &run.hosts[host];
            let error = figures.standard_error.map_or_else(String::new, |error| format!(" (se {error:.0})"));
            format!("{}{error}", format::count(figures.orders_per_minute.round() as u64))
        }
        _ => range(cell, cell.figure(host, |host| host.orders_per_minute), 0),
    }
}

fn range(cell: &Cell<'_>, of: Option<Spread>, digits: usize) -> String {
    let Some(Spread { median, low, high }) = of else { return "-".to_owned() };
    let [median, low, high] = [median, low, high].map(|value| format::fixed(value, digits));
    if cell.runs.len() < 2 { median } else { format!("{median} ({low} to {high})") }
}

fn framed(caption: &str, heads: &[&str], body: &str) -> String {
    let head: String = heads.iter().map(|head| format!("<th scope=\"col\">{}</th>", Text(head))).collect();
    format!(
        "<div class=\"card\" style=\"margin-top:20px\">{}</div>\n",
        table(caption, &head, &format!("<tbody>\n{body}</tbody>\n"))
    )
}

fn row(body: &mut String, name: &str, cells: &[String]) {
    let _ = write!(body, "<tr><th scope=\"row\">{}</th>", Text(name));
    for cell in cells {
        let _ = write!(body, "<td>{}</td>", Text(cell));
    }
    body.push_str("</tr>\n");
}

/// What the figures leave out.
pub fn caveats(runs: &[Run]) -> String {
    let fixed = [
        "Databases, clients, hosts and the array's clock shared the CPUs of one machine: orders per minute are of this machine \
         and not comparable in absolute terms, and where CPUs are short the array is not all that both wait for.",
        "The array is a model: no cache, no cost of seeks, no other load. It was chosen slower than the published one for the \
         reason above.",
        "Beta is computed from what hosts say of themselves once a period; the law does so with the same figures.",
        "What bounds the ratio is demand where host b wants less than its window in the mean, and the most window where its \
         window is within 5\u{a0}% of it.",
    ];
    let mut doubts: Vec<String> = fixed.map(str::to_owned).to_vec();
    doubts.extend(runs.iter().flat_map(Run::doubts));
    let items: String = doubts.iter().map(|doubt| format!("<li>{}</li>\n", Text(doubt))).collect();
    section("doubts", "What this leaves out", "", &format!("<ul>\n{items}</ul>\n"))
}
