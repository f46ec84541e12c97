//! The page as a whole.

use super::chart::Chart;
use super::markup::Text;
use super::plots::{self, Plot};
use super::study::Study;
use super::{legend, palette, sections};

const STYLE: &str = include_str!("style.css");
const SCRIPT: &str = include_str!("script.js");

/// Writes the page.
pub fn page(study: &Study<'_>) -> String {
    let title = format!("{} · Evenkeel {}", study.plan.id, study.plan.kind);
    let body = [
        sections::headline(study),
        charts(study),
        sections::caveats(study),
        sections::cells(study),
        sections::split(study),
        sections::parts(study),
        sections::reduction(study),
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
         <title>{}</title>\n<style>\n{}{STYLE}</style>\n</head>\n<body>\n{banner}<main>\n{body}</main>\n\
         <div id=\"tip\" role=\"status\" hidden></div>\n<script>\n{SCRIPT}</script>\n</body>\n</html>\n",
        Text(title),
        palette::style()
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

fn charts(study: &Study<'_>) -> String {
    if study.summary.cells.is_empty() {
        return sections::guide();
    }
    let wide = figure(&plots::tau(study), &format!("{}{}", legend::series(study), legend::marks()));
    let mut half = vec![plots::theta(study), plots::throughput(study)];
    let mark = |series: usize| format!("{} ", legend::swatch(study.look(series)));
    let percentiles = plots::percentiles(study);
    let panels = if study.has_several() {
        small("Percentiles", PERCENTILES, &percentiles, mark)
    } else {
        half.extend(percentiles);
        String::new()
    };
    let spectra = plots::spectra(study);
    let spectra = match spectra.as_slice() {
        [one] => figure(one, ""),
        many => small(plots::SPECTRUM, plots::SPECTRUM_WORDS, many, mark),
    };
    half.push(plots::lag(study));
    half.extend(plots::standard_error(study));
    half.extend(plots::spread(study));
    half.extend(plots::probe_delay(study));
    half.extend(plots::reduction(study));
    let half: String = half.iter().map(|plot| figure(plot, "")).collect();
    format!(
        "<section id=\"charts\">\n{wide}{spectra}{panels}<div class=\"grid\">\n{half}{}</div></section>\n",
        sections::guide()
    )
}

/// A chart with its heading, words and legend.
pub fn figure(plot: &Plot, legend: &str) -> String {
    format!(
        "<figure class=\"card\"><figcaption><h3>{}</h3><p class=\"words\">{}</p>{}{legend}</figcaption>\n\
         <div class=\"drawing\">{}</div></figure>\n",
        Text(&plot.heading),
        Text(&plot.words),
        notes(&plot.notes),
        drawing(plot)
    )
}

/// The chart in two forms, of which the style sheet shows one: letters on a telephone would be too small in the form
/// that fits a desk.
fn drawing(plot: &Plot) -> String {
    let (narrow, class) = match &plot.narrow {
        // What is as wide as the page gives way earlier than what is half as wide.
        Some(narrow) => (narrow.clone(), "wide"),
        None => {
            (Chart { size: NARROW, id: format!("{}-narrow", plot.chart.id), ..plot.chart.clone() }, "half")
        }
    };
    let narrow = Chart { size: NARROW, ..narrow };
    format!(
        "<div class=\"for-desk {class}\">{}</div><div class=\"for-hand {class}\">{}</div>",
        plot.chart.svg(),
        narrow.svg()
    )
}

/// Drawn so that text keeps its size on a telephone.
const NARROW: (f64, f64) = (360.0, 300.0);

fn notes(notes: &[(String, String)]) -> String {
    if notes.is_empty() {
        return String::new();
    }
    let item = |(name, text): &(String, String)| format!("<li><b>{}</b> {}</li>", Text(name), Text(text));
    format!("<ul class=\"notes\">{}</ul>", notes.iter().map(item).collect::<String>())
}

const PERCENTILES: &str = "Percentiles of the response time against the arrival rate, all on the same scales. Half of the requests \
                           are faster than p50, one in a thousand is slower than p99.9.";

/// Small charts side by side, on the same scales, each with a mark before its heading.
pub fn small(heading: &str, words: &str, plots: &[Plot], mark: impl Fn(usize) -> String) -> String {
    let panels: String = plots
        .iter()
        .enumerate()
        .map(|(at, plot)| {
            let (heading, notes) = (Text(&plot.heading), notes(&plot.notes));
            format!("<div><h4>{}{heading}</h4>{notes}{}</div>\n", mark(at), plot.chart.svg())
        })
        .collect();
    format!(
        "<figure class=\"card\"><figcaption><h3>{}</h3><p class=\"words\">{}</p></figcaption>\n\
         <div class=\"panels\">\n{panels}</div></figure>\n",
        Text(heading),
        Text(words)
    )
}
