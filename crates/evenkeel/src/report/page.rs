//! The page as a whole.

use super::legend::{Study, Text, swatch};
use super::plots::Plot;
use super::{legend, plots, sections};

const STYLE: &str = include_str!("style.css");
const SCRIPT: &str = include_str!("script.js");

/// The report of a study in any state, also of one that has no runs yet.
pub fn page(study: &Study) -> String {
    let title = format!("{} · Evenkeel {}", study.plan.id, study.plan.kind);
    let body = [
        sections::headline(study),
        sections::caveats(study),
        sections::cells(study),
        charts(study),
        sections::timelines(study),
        sections::outcomes(study),
        sections::server(study),
        sections::plans(study),
        sections::environment(study),
    ]
    .concat();
    document(&title, &banner(&study.plan.kind, &study.plan.id), &body)
}

/// A whole document around a body that is markup already.
pub fn document(title: &str, banner: &str, body: &str) -> String {
    // The policy makes the promise of no network one that the browser keeps.
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; \
         script-src 'unsafe-inline'\">\n\
         <title>{}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n{banner}<main>\n{body}</main>\n\
         <div id=\"tip\" role=\"status\" hidden></div>\n<script>\n{SCRIPT}</script>\n</body>\n</html>\n",
        Text(title)
    )
}

/// The line at the top: the program, what was done, and its name.
pub fn banner(kind: &str, id: &str) -> String {
    format!(
        "<div class=\"banner\"><span class=\"name\">Evenkeel</span><span class=\"words\">{} {}</span>\
         <button id=\"theme\" type=\"button\" hidden>dark</button></div>\n",
        Text(kind),
        Text(id)
    )
}

fn charts(study: &Study) -> String {
    if study.summary.cells.is_empty() {
        return sections::GUIDE.to_owned();
    }
    let wide = figure(&plots::tau(study), &format!("{}{}", legend::series(study), legend::MARKS));
    let spectra = plots::spectra(study);
    let mut half = vec![plots::theta(study), plots::throughput(study)];
    let mut panels = String::new();
    match (study.has_several(), spectra.as_slice()) {
        (false, [one]) => {
            panels.push_str(&figure(one, ""));
            half.extend(plots::percentiles(study));
        }
        (_, spectra) => {
            panels.push_str(&small(study, plots::SPECTRUM, plots::SPECTRUM_WORDS, spectra));
            panels.push_str(&small(study, "Percentiles", PERCENTILES, &plots::percentiles(study)));
        }
    }
    let half: String = half.iter().map(|plot| figure(plot, "")).collect();
    format!(
        "<section id=\"charts\">\n{wide}{panels}<div class=\"grid\">\n{half}{}</div></section>\n",
        sections::GUIDE
    )
}

pub fn figure(plot: &Plot, legend: &str) -> String {
    card(&plot.heading, &plot.words, &format!("{}{legend}", note(plot)), &plot.chart.svg())
}

/// A drawing with its heading, what it shows in words, and further markup above it.
pub fn card(heading: &str, words: &str, more: &str, drawing: &str) -> String {
    format!(
        "<figure class=\"card\"><figcaption><h3>{}</h3><p class=\"words\">{}</p>{more}</figcaption>\n\
         <div class=\"drawing\">{drawing}</div></figure>\n",
        Text(heading),
        Text(words)
    )
}

fn note(plot: &Plot) -> String {
    match plot.note.as_str() {
        "" => String::new(),
        note => format!("<p class=\"notes\">{}</p>", Text(note)),
    }
}

const PERCENTILES: &str = "Percentiles of the response time against the arrival rate, all on the same scales. Half of the requests \
                           are faster than p50, one in a thousand is slower than p99.9.";

/// A small chart for each series side by side, on the same scales.
fn small(study: &Study, heading: &str, words: &str, plots: &[Plot]) -> String {
    let panel = |(at, plot): (usize, &Plot)| {
        let (look, heading) = (swatch(study.look(at)), Text(&plot.heading));
        format!("<div><h4>{look} {heading}</h4>{}{}</div>\n", note(plot), plot.chart.svg())
    };
    let panels: String = plots.iter().enumerate().map(panel).collect();
    format!(
        "<figure class=\"card\"><figcaption><h3>{}</h3><p class=\"words\">{}</p></figcaption>\n\
         <div class=\"panels\">\n{panels}</div></figure>\n",
        Text(heading),
        Text(words)
    )
}
