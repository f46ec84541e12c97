//! Headline, experiments and doubts of the page.

use super::{Made, Setting, Study, division, look, off, percent, plots, words};
use crate::format;
use crate::report::legend::swatch;
use crate::report::markup::Text;
use crate::report::page::figure;
use crate::report::sections::{section, table};
use evenkeel_core::share::experiment::{Division, Eased, Experiment, Outcome, Published, Treatment as Way};
use std::fmt::Write as _;

/// What came out, over all experiments.
pub fn headline(studies: &[Study], setting: Setting) -> String {
    let outcomes = |way: Way| {
        let made = studies.iter().flat_map(|study| &study.made).filter(move |made| made.way == way);
        made.map(|made| &made.outcome)
    };
    let judged = outcomes(Way::Evenkeel).filter(|outcome| outcome.division.is_some()).count();
    let [ours, theirs] = [Way::Evenkeel, Way::Parda].map(|way| reached(outcomes(way)));
    let [our_latency, their_latency] = [Way::Evenkeel, Way::Parda].map(|way| most_off(outcomes(way)));
    format!(
        "<header class=\"head\">\n<h1>{}</h1>\n<p class=\"setting\">{}</p>\n</header>\n",
        Text(&format!(
            "Shares within 10\u{a0}% {ours}, by the published law {theirs}; latency {our_latency} off the threshold instead \
             of {their_latency}",
        )),
        Text(&format!(
            "{} {}, in {judged} of which shares are judged, one run each, seed {}, a window every {} s; simulated arrays that \
             were calibrated on table 3 and on table 7 without control",
            format::counted(studies.len(), "experiment"),
            if setting.live { "in real time with fio as the clients" } else { "on the virtual clock" },
            setting.seed,
            setting.period_s
        ))
    )
}

/// When the shares were reached, in the worst experiment that is judged by them.
fn reached<'a>(outcomes: impl Iterator<Item = &'a Outcome>) -> String {
    let divisions: Vec<Division> = outcomes.filter_map(|outcome| outcome.division).collect();
    let periods: Option<Vec<usize>> = divisions.iter().map(|division| division.periods).collect();
    match periods.map(|periods| periods.into_iter().max()) {
        None => "not in every experiment".to_owned(),
        Some(None) => "not judged".to_owned(),
        Some(Some(periods)) => format!("after {}", format::counted(periods, "period")),
    }
}

/// The most by which the latency was below the threshold while somebody was held back, and above it.
fn most_off<'a>(outcomes: impl Iterator<Item = &'a Outcome> + Clone) -> String {
    let under = outcomes.clone().filter_map(|outcome| outcome.under).fold(0.0, f64::max);
    let over = outcomes.map(|outcome| outcome.over).fold(0.0, f64::max);
    format!("{} to {}\u{a0}%", percent(-under), percent(over))
}

/// Figures and charts of one experiment.
pub fn experiment(study: &Study, setting: Setting) -> String {
    let Experiment { name, what, .. } = study.experiment;
    let charts: String = plots::all(study, setting.period_s).iter().map(|plot| figure(plot, "")).collect();
    let inner =
        format!("{}{}{}<div class=\"grid\">\n{charts}</div>\n", figures(study), eased(study), legend());
    section(name, &format!("{name}: {what}"), study.experiment.why_off.unwrap_or_default(), &inner)
}

fn legend() -> String {
    let item = |way: Way| format!("<li>{}{}</li>\n", swatch(look(way)), Text(words(way)));
    format!("<ul class=\"legend\">\n{}</ul>\n", Way::ALL.map(item).concat())
}

fn figures(study: &Study) -> String {
    let heads = [
        "",
        "I/Os per s",
        "of each host",
        "last host / first",
        "latency, ms",
        "off the threshold, %",
        "periods to shares",
        "share error, %",
    ];
    let head: String = heads.iter().map(|head| format!("<th scope=\"col\">{}</th>", Text(head))).collect();
    let mut body = String::from("<tbody>\n");
    let experiment = &study.experiment;
    for way in [Way::Uncontrolled, Way::Parda] {
        let published = experiment.published(way);
        if published != Published::default() {
            row(&mut body, &format!("{}, published", words(way)), &told(&published, experiment.hosts.len()));
        }
    }
    for made in &study.made {
        row(&mut body, &format!("{}, here", words(made.way)), &made_here(made));
    }
    body.push_str("</tbody>\n");
    table(&format!("{}: published and here", study.experiment.name), &head, &body)
}

/// What was published of a way.
fn told(published: &Published, hosts: usize) -> [String; 7] {
    let of = |host: usize| published.hosts.iter().find(|(place, _)| *place == host).map(|(_, iops)| *iops);
    let each: Vec<String> =
        (0..hosts).map(|host| of(host).map_or_else(|| "-".to_owned(), |iops| format!("{iops:.0}"))).collect();
    let each = if published.hosts.is_empty() { String::new() } else { each.join(" · ") };
    let iops = published.iops.map_or_else(String::new, |iops| format::count(iops as u64));
    let latency = published.latency_s.map_or_else(String::new, |seconds| format!("{:.1}", 1e3 * seconds));
    let orders = published.orders.map_or_else(String::new, |orders| format!("{orders:.2} (orders)"));
    [iops, each, orders, latency, String::new(), String::new(), String::new()]
}

fn made_here(made: &Made) -> [String; 7] {
    let outcome = &made.outcome;
    let each: Vec<String> = outcome.iops.iter().map(|iops| format!("{iops:.0}")).collect();
    let ratio = outcome.iops.last().zip(outcome.iops.first()).map(|(last, first)| last / first);
    let controlled = made.way != Way::Uncontrolled;
    let of_law = |text: String| if controlled { text } else { String::new() };
    let (periods, error) = division(outcome);
    [
        format::count(outcome.iops.iter().sum::<f64>().round() as u64),
        each.join(" · "),
        ratio.filter(|ratio| ratio.is_finite()).map_or_else(String::new, |ratio| format!("{ratio:.2}")),
        format!("{:.1}", 1e3 * outcome.latency_s),
        of_law(off(outcome).trim_end_matches(" %").to_owned()),
        of_law(periods),
        of_law(error.trim_end_matches(" %").to_owned()),
    ]
}

/// What became of windows and beta in the lull; nothing where there is none.
fn eased(study: &Study) -> String {
    let Some((host, (from_s, until_s))) = study.experiment.lull() else { return String::new() };
    let heads =
        ["windows of each host, over those before", "beta of that host before", "in the lull", "after it"];
    let head = heads.iter().map(|head| format!("<th scope=\"col\">{}</th>", Text(head))).collect::<String>();
    let mut body = String::from("<tbody>\n");
    for made in &study.made {
        let Some(Eased { opened, used, .. }) = &made.outcome.lull else { continue };
        let opened: Vec<String> = opened.iter().map(|opened| format!("{opened:.1}")).collect();
        let beta = used.map(|used| format!("{:.2}", study.experiment.k * used));
        let cells = [vec![opened.join(" · ")], beta.into()].concat();
        row(&mut body, words(made.way), &cells);
    }
    body.push_str("</tbody>\n");
    let caption = format!(
        "The last quarter of the lull: from {from_s:.0} to {until_s:.0} s host {} asks for less",
        host + 1
    );
    table(&caption, &format!("<th></th>{head}"), &body)
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
         table 3, and the six disks of table 7 on that table's own, and on nothing else: these figures agree because they \
         were made to.",
        "Latencies that were published for the published law in figures 8, 9 and 11 and table 6 are read as \u{201c}near\u{201d} the \
         threshold.",
        "Mail and web servers of the publication's table 6 are clients that keep 32 reads outstanding.",
        "Shares are not judged where they cannot be met or are not wanted. Below the threshold counts only while windows \
         hold somebody back.",
        last,
    ];
    let items: String = doubts.iter().map(|doubt| format!("<li>{}</li>\n", Text(doubt))).collect();
    section("doubts", "What this leaves out", "", &format!("<ul>\n{items}</ul>\n"))
}
