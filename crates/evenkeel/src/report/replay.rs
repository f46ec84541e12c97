//! What a replay came to, as a page: how answers and times differ by kind of statement, and the plans of the worst.

use super::chart::{Axis, Chart, Marker, Point, Quantity, Spacing, Trace};
use super::legend::{Look, Text, legend};
use super::page::{banner, card, document};
use super::plots::WIDE;
use super::sections::{field, head, row, section, table, unbroken};
use crate::format::{self, ABSENT};
use evenkeel_core::caveat::{Caveat, Severity};
use evenkeel_study::replay::{Difference, Line, Report, Speed, Timing};

/// Characters of a statement.
const NAME: usize = 40;
/// Where a statement without rows stands, on an axis that has no zero.
const NO_ROWS: f64 = 0.5;

pub fn html(report: &Report) -> String {
    let title = "Replay · Evenkeel";
    let body = [headline(report), caveats(report), scatter(report), lines(report), plans(report)];
    document(title, &banner("replay:", &report.names[1]), &body.concat())
}

fn headline(report: &Report) -> String {
    format!(
        "<header class=\"head\">\n<h1>{}.</h1>\n<p class=\"setting\">{}</p>\n</header>\n",
        Text(&unbroken(&report.headline)),
        Text(&report.setting())
    )
}

fn caveats(report: &Report) -> String {
    if report.caveats.is_empty() {
        return String::new();
    }
    let item = |caveat: &Caveat| format!("<li>{}</li>\n", Text(&caveat.text));
    let items: String = report.caveats.iter().map(item).collect();
    let is_doubt = report.caveats.iter().any(|caveat| caveat.severity > Severity::Note);
    let class = if is_doubt { "caveats doubt" } else { "caveats" };
    section("caveats", "Caveats", "", &format!("<div class=\"{class}\"><ul>{items}</ul></div>"))
}

/// Verdicts in the order of the legend, with what they look like.
const LOOKS: [(&str, usize, Marker); 5] = [
    ("answers differ", 1, Marker::Triangle),
    ("slower", 3, Marker::Square),
    ("faster", 2, Marker::Diamond),
    ("same", 0, Marker::Circle),
    ("too few to tell", 5, Marker::Circle),
];

fn look(line: &Line) -> (&'static str, Look) {
    let at = match line.speed() {
        _ if line.differs() => 0,
        Speed::Worse => 1,
        Speed::Better => 2,
        Speed::Same => 3,
        Speed::NotKnown => 4,
    };
    let (words, hue, marker) = LOOKS[at];
    (words, Look { hue, marker, dashed: false })
}

fn scatter(report: &Report) -> String {
    let traces: Vec<Trace> = report.lines.iter().filter_map(|line| trace(line, &report.names)).collect();
    if traces.is_empty() {
        return String::new();
    }
    let chart = Chart {
        id: "scatter".to_owned(),
        title: "Response time against rows returned".to_owned(),
        description: "A mark for each kind of statement; the table below has the same figures.".to_owned(),
        size: WIDE,
        x: Axis::new("rows returned (0.5 for none)", Quantity::Plain, Spacing::Logarithmic),
        y: Axis::new("mean response time", Quantity::Time, Spacing::Logarithmic),
        guides: Vec::new(),
        traces,
    };
    let words = format!(
        "A mark for each kind of statement at {}, and a small dot for its time at {}.",
        report.names[1], report.names[0]
    );
    let looks = LOOKS.map(|(words, hue, marker)| (Look { hue, marker, dashed: true }, words));
    let legend = legend(looks.into_iter());
    let figure = card("Response time against rows returned", &words, &legend, &chart.svg());
    format!("<section id=\"charts\">\n{figure}</section>\n")
}

/// Each has a trace of its own, since points of a trace are joined.
fn trace(line: &Line, names: &[String; 2]) -> Option<Trace> {
    let (first, second) = (line.mean_ms[0], line.mean_ms[1]?);
    let (verdict, look) = look(line);
    let x = line.rows.max(NO_ROWS);
    let one = first.map_or_else(String::new, |ms| format!(", {} at {}", format::time(ms), names[0]));
    let tip = format!(
        "{}\n{verdict}\n{} at {}{one}\n{} rows, {} executions",
        line.name(NAME),
        format::time(second),
        names[1],
        format::short(line.rows),
        format::count(line.executions)
    );
    let hollow = line.speed() == Speed::NotKnown;
    Some(Trace {
        class: format!("s{}", look.hue),
        marker: look.marker,
        points: vec![Point { x, y: second, hollow, tip, ..Point::default() }],
        dots: first.map(|first| (x, first)).into_iter().collect(),
        ..Trace::default()
    })
}

fn lines(report: &Report) -> String {
    let heads = [
        head("statement", ""),
        "<th scope=\"col\" class=\"state\">answers</th>".to_owned(),
        "<th scope=\"col\" class=\"state\">speed</th>".to_owned(),
        head("ratio", "geometric mean"),
        head("first", "mean"),
        head("second", "mean"),
        head("second", "longest"),
        head("rows", "mean"),
        head("executions", ""),
    ];
    let body: String = report.lines.iter().map(one_line).collect();
    let words = format!(
        "Worst first. The ratio is that of the geometric means of response times, with its 95 % interval; worse and better are beyond {}, \
         corrected for the number of statements (Holm, 5 %).",
        format::percent(100.0 * report.tolerance)
    );
    let table = table("Statements", &heads.concat(), &format!("<tbody>\n{body}</tbody>"));
    section("outcomes", "Statements", &unbroken(&words), &table)
}

fn one_line(line: &Line) -> String {
    let time = |ms: Option<f64>| ms.map_or_else(|| ABSENT.to_owned(), format::time);
    let class = |is_bad| if is_bad { "state bad" } else { "state" };
    let speed = line.speed().words().replace(' ', "\u{a0}");
    let fields = [
        format!("<td class=\"{}\">{}</td>", class(line.differs()), Text(&line.answers())),
        format!("<td class=\"{}\">{speed}</td>", class(line.speed() == Speed::Worse)),
        field(&line.timing.as_ref().map_or_else(|| ABSENT.to_owned(), Timing::words)),
        field(&time(line.mean_ms[0])),
        field(&time(line.mean_ms[1])),
        field(&time(line.longest_ms[1])),
        field(&format::short(line.rows)),
        field(&format::count(line.executions)),
    ];
    row(&line.name(NAME), &fields.concat())
}

fn plans(report: &Report) -> String {
    let planned = report.lines.iter().filter(|line| !line.plans.is_empty());
    let items: String = planned.enumerate().map(|(at, line)| plan(report, line, at == 0)).collect();
    if items.is_empty() {
        return items;
    }
    let words = "Statements with different results, or that are or may be slower, with an example of each difference and their plans.";
    section("plans", "The worst", words, &items)
}

fn plan(report: &Report, line: &Line, is_open: bool) -> String {
    let words = |found: &Difference| format!("<p class=\"bad\">{}</p>", Text(&found.words()));
    let differences: String = line.differences.iter().map(words).collect();
    // Against a recording there is one server, the second side.
    let names = report.names.iter().skip(report.names.len().saturating_sub(line.plans.len()));
    let one = |(name, plan): (&String, &Option<String>)| {
        let plan = plan.as_deref().unwrap_or(ABSENT);
        format!("<div><h4>Plan at {}</h4><pre>{}</pre></div>", Text(name), Text(plan.trim_end()))
    };
    let plans: String = names.zip(&line.plans).map(one).collect();
    format!(
        "<details class=\"plan\"{}><summary><b>{}</b> <span class=\"chip\">{}</span></summary>{differences}\
         <pre>{}{}</pre><div class=\"grid\">{plans}</div></details>\n",
        if is_open { " open" } else { "" },
        Text(&line.name(NAME)),
        look(line).0,
        Text(line.sql.trim()),
        if line.is_cut { "\n… (cut here)" } else { "" }
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::replay;
    use crate::report::legend::check::fault;

    #[test]
    fn the_page_says_what_differs_and_draws_each_statement() {
        let page = html(&replay::report());
        assert_eq!(fault(&page), None);
        assert_eq!(page.matches("class=\"trace ").count(), 12);
        for part in [
            "11.8 answers 2 of 13 statements differently, and 1 is slower",
            "error 1055 (statement 12)",
            "Plan at 10.11",
            "Plan at 11.8",
            "new errors: 20",
            "ran them twice",
        ] {
            assert!(page.contains(part), "{part}");
        }
    }

    #[test]
    fn no_text_of_statements_and_plans_becomes_markup() {
        let mut report = replay::report();
        report.names[1] = "<evil>".to_owned();
        report.headline = "<evil>".to_owned();
        for line in &mut report.lines {
            line.sql = "SELECT '<evil>\"'".to_owned();
        }
        report.lines[0].plans[1] = Some("</pre><evil>".to_owned());
        let page = html(&report);
        assert_eq!(fault(&page), None);
        assert!(!page.contains("<evil"));
    }
}
