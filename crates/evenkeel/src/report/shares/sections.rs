//! Headline, experiments and doubts of the page.

use super::{Setting, Study, look, plots, words};
use crate::format;
use crate::report::legend::swatch;
use crate::report::markup::Text;
use crate::report::page::figure;
use crate::report::sections::{section, table};
use evenkeel_core::share::experiment::{Experiment, Way};
use std::fmt::Write as _;

/// What came out, over all experiments.
pub fn headline(studies: &[Study], setting: Setting) -> String {
    let worst = |way: Way| {
        let outcomes = studies.iter().flat_map(|study| &study.made).filter(|made| made.way == way);
        let periods: Option<Vec<usize>> =
            outcomes.clone().map(|made| made.outcome.periods_to_share).collect();
        let over = outcomes.map(|made| made.outcome.overshoot).fold(f64::NEG_INFINITY, f64::max);
        (periods.map(|periods| periods.into_iter().max().unwrap_or(0)), 100.0 * over)
    };
    let ((theirs, their_over), (ours, our_over)) = (worst(Way::Parda), worst(Way::Evenkeel));
    let reached = |periods: Option<usize>| match periods {
        Some(periods) => format!("after {}", format::counted(periods, "period")),
        None => "not in every experiment".to_owned(),
    };
    format!(
        "<header class=\"head\">\n<h1>{}</h1>\n<p class=\"setting\">{}</p>\n</header>\n",
        Text(&format!(
            "Shares within 10\u{a0}% {}, by the published law {}; latency at worst {our_over:+.1}\u{a0}% off the threshold \
             instead of {their_over:+.0}\u{a0}%",
            reached(ours),
            reached(theirs)
        )),
        Text(&format!(
            "{} {}, one run each, seed {}, a window every {} s; a simulated array of ten spindles of 2.9 ms, \
             calibrated on table 3 alone",
            format::counted(studies.len(), "experiment"),
            if setting.live { "in real time with fio as the clients" } else { "on the virtual clock" },
            setting.seed,
            setting.period_s
        ))
    )
}

/// Figures and charts of one experiment.
pub fn experiment(study: &Study, setting: Setting) -> String {
    let Experiment { name, what, .. } = study.experiment;
    let charts: String = plots::all(study, setting.period_s).iter().map(|plot| figure(plot, "")).collect();
    let inner = format!("{}{}<div class=\"grid\">\n{charts}</div>\n", figures(study), legend());
    section(name, &format!("{name}: {what}"), "", &inner)
}

fn legend() -> String {
    let item = |way: Way| format!("<li>{}{}</li>\n", swatch(look(way)), Text(words(way)));
    format!("<ul class=\"legend\">\n{}</ul>\n", Way::ALL.map(item).concat())
}

fn figures(study: &Study) -> String {
    let heads = ["", "I/Os per s", "of each host", "latency, ms", "periods to shares", "share error, %"];
    let head: String = heads.iter().map(|head| format!("<th scope=\"col\">{}</th>", Text(head))).collect();
    let mut body = String::from("<tbody>\n");
    let experiment = &study.experiment;
    let published = [("uncontrolled", experiment.uncontrolled), ("the published law", experiment.parda)];
    for (way, (iops, latency_s)) in published.into_iter().filter(|(_, figures)| *figures != (None, None)) {
        let iops = iops.map_or_else(String::new, |iops| format::count(iops as u64));
        let latency = latency_s.map_or_else(String::new, |seconds| format!("{:.1}", 1e3 * seconds));
        row(
            &mut body,
            &format!("{way}, published"),
            &[iops, String::new(), latency, String::new(), String::new()],
        );
    }
    for made in &study.made {
        let outcome = &made.outcome;
        let each: Vec<String> = outcome.iops.iter().map(|iops| format!("{iops:.0}")).collect();
        let controlled = made.way != Way::Uncontrolled;
        let periods =
            outcome.periods_to_share.map_or_else(|| "never".to_owned(), |periods| periods.to_string());
        let cells = [
            format::count(outcome.iops.iter().sum::<f64>().round() as u64),
            each.join(" · "),
            format!("{:.1}", 1e3 * outcome.latency_s),
            if controlled { periods } else { String::new() },
            if controlled { format!("{:.1}", 100.0 * outcome.share_error) } else { String::new() },
        ];
        row(&mut body, &format!("{}, here", words(made.way)), &cells);
    }
    body.push_str("</tbody>\n");
    table(&format!("{}: published and here", study.experiment.name), &head, &body)
}

fn row(body: &mut String, name: &str, cells: &[String]) {
    let _ = write!(body, "<tr><th scope=\"row\">{}</th>", Text(name));
    for cell in cells {
        let _ = write!(body, "<td>{}</td>", Text(cell));
    }
    body.push_str("</tr>\n");
}

/// What the figures leave out.
pub fn caveats(setting: Setting) -> String {
    let last = match setting.live {
        true => {
            "One run each. Hosts, clients and the array's clock shared the CPUs of one machine, so that latencies hold its \
             delays as well; a client takes some tenths of a second to start, and they count."
        }
        false => {
            "One run each: `bench/shares` has five seeds, and `--live` makes them in real time with fio as the clients."
        }
    };
    let doubts = [
        "The array is a model: no cache, no cost of seeks, no other load. It was calibrated on the uncontrolled run of \
         table 3 and on nothing else.",
        "Mail and web servers of the publication's table 6 are clients that keep 32 reads outstanding.",
        last,
    ];
    let items: String = doubts.iter().map(|doubt| format!("<li>{}</li>\n", Text(doubt))).collect();
    section("doubts", "What this leaves out", "", &format!("<ul>\n{items}</ul>\n"))
}
