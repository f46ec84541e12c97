//! The study of shared storage as a page: the published experiments, by the published law and by ours, beside the
//! published figures.
//!
//! `plots` says what is drawn, `sections` writes the rest.

pub mod databases;
mod plots;
mod sections;

use super::chart::Marker;
use super::page;
use super::study::Look;
use evenkeel_core::share::experiment::{Division, Experiment, Outcome, Treatment as Way};
use evenkeel_core::share::simulation::Trace;

/// An experiment under a way, and what it came to.
pub struct Made {
    /// Which.
    pub way: Way,
    /// All periods.
    pub trace: Trace,
    /// What it came to.
    pub outcome: Outcome,
}

/// An experiment under all ways.
pub struct Study {
    /// Which.
    pub experiment: Experiment,
    /// Each way once.
    pub made: Vec<Made>,
}

/// How it was made.
#[derive(Clone, Copy, Debug)]
pub struct Setting {
    /// Seed.
    pub seed: u64,
    /// Seconds between two windows.
    pub period_s: f64,
    /// In real time, with fio as the clients, instead of on the virtual clock.
    pub live: bool,
}

/// The page.
pub fn html(id: &str, setting: Setting, studies: &[Study]) -> String {
    let experiments: String = studies.iter().map(|study| sections::experiment(study, setting)).collect();
    let body = [sections::headline(studies, setting), experiments, sections::caveats(setting)].concat();
    page::document(&format!("{id} · Evenkeel study of shares"), &page::banner("study of shares", id), &body)
}

/// Hue, shape and line of a way.
fn look(way: Way) -> Look {
    let (hue, marker, dashed) = match way {
        Way::Uncontrolled => (5, Marker::Square, true),
        Way::Parda => (3, Marker::Triangle, false),
        Way::Evenkeel => (0, Marker::Circle, false),
    };
    Look { hue, marker, dashed }
}

/// A way in words.
pub fn words(way: Way) -> &'static str {
    match way {
        Way::Uncontrolled => "uncontrolled",
        Way::Parda => "the published law",
        Way::Evenkeel => "Evenkeel",
    }
}

/// Periods to shares and the error of a share, in words.
pub fn division(outcome: &Outcome) -> (String, String) {
    match outcome.division {
        None => ("not judged".to_owned(), "-".to_owned()),
        Some(Division { periods, error }) => (
            periods.map_or("never".to_owned(), |periods| periods.to_string()),
            format!("{:.1} %", 100.0 * error),
        ),
    }
}

/// A part in percent with its sign, which what is next to nothing has not.
fn percent(part: f64) -> String {
    if (100.0 * part).abs() < 0.05 { "0.0".to_owned() } else { format!("{:+.1}", 100.0 * part) }
}

/// Most by which the latency was below the threshold while somebody was held back, and above it.
pub fn off(outcome: &Outcome) -> String {
    let under = outcome.under.map_or_else(|| "-".to_owned(), |under| percent(-under));
    format!("{under} to {} %", percent(outcome.over))
}

#[cfg(test)]
mod tests {
    use super::super::markup::check::fault;
    use super::*;
    use evenkeel_core::random::Seed;
    use evenkeel_core::share::experiment::{judge, published};
    use evenkeel_core::share::simulation::run;

    fn study(number: usize) -> Study {
        let experiment = published().swap_remove(number);
        let made = |way| {
            let trace = run(&experiment.scenario(way, 2.0, Seed(1)));
            Made { way, outcome: judge(&experiment, &trace), trace }
        };
        Study { made: Way::ALL.map(made).into(), experiment }
    }

    #[test]
    fn shares_that_were_never_reached_are_in_the_headline() {
        let mut study = study(1);
        study.made[2].outcome.division = Some(Division { periods: None, error: 0.5 });
        let setting = Setting { seed: 1, period_s: 2.0, live: true };
        let page = html("shares-1", setting, &[study]);
        assert!(page.contains("Shares within 10\u{a0}% not in every experiment, by the published law after"));
    }

    #[test]
    fn the_page_has_every_experiment_beside_its_published_figures() {
        let setting = Setting { seed: 1, period_s: 2.0, live: false };
        let page = html("shares-1", setting, &[study(0), study(1)]);
        assert_eq!(fault(&page), None);
        for part in ["table-3", "figure-8", "published", "3,360", "the published law", "latency-figure-8"] {
            assert!(page.contains(part), "{part}");
        }
        for amiss in [">NaN", ">inf", "http://", "https://"] {
            assert!(!page.contains(amiss), "{amiss}");
        }
    }

    #[test]
    fn the_page_claims_nothing_of_shares_that_were_not_judged() {
        let setting = Setting { seed: 1, period_s: 2.0, live: false };
        let page = html("shares-1", setting, &[study(5)]);
        assert!(page.contains("<td>not judged</td><td>-</td>"), "{page}");
        assert!(page.contains("Shares within 10\u{a0}% not judged, by the published law not judged;"));
        assert!(page.contains("in 0 of which shares are judged"));
        assert!(!page.contains("0 periods"));
    }

    #[test]
    fn the_lull_of_table_7_is_told_and_drawn_with_windows_and_beta() {
        let setting = Setting { seed: 1, period_s: 2.0, live: false };
        let page = html("shares-1", setting, &[study(7)]);
        assert_eq!(fault(&page), None);
        for part in [
            "beta-parda-table-7",
            "beta-evenkeel-table-7",
            "Between the dashed lines host 2 asks for less",
            "1.78 (orders)",
            "from 300 to 380 s",
        ] {
            assert!(page.contains(part), "{part}");
        }
        assert!(
            !html("shares-1", setting, &[study(1)]).contains("beta-parda"),
            "without a lull there is none"
        );
    }
}
