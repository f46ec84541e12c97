//! Words for the parts of response times: of how many requests they are, and what the telling cost.

use super::{ABSENT, count, estimate_time, mean, percent, time};
use evenkeel_study::profile::price_over;
use evenkeel_study::store::format::{PartMeansRecord, PartsRecord, RunFile};

/// A sentence each; none where no run has parts.
pub fn parts(runs: &[RunFile]) -> Vec<String> {
    let all: Vec<&PartsRecord> = runs.iter().filter_map(|run| run.parts.as_ref()).collect();
    let Some(first) = all.first() else { return Vec::new() };
    let (drawn, told) =
        all.iter().fold((0, 0), |(drawn, told), parts| (drawn + parts.drawn, told + parts.told));
    let mut words = vec![format!(
        "parts of {} of {} requests drawn ({} of all), execution times from SHOW PROFILES",
        count(told),
        count(drawn),
        percent(first.share_percent)
    )];
    let means: Vec<&PartMeansRecord> = all.iter().filter_map(|parts| parts.means.as_ref()).collect();
    if means.is_empty() {
        words.push("no part is known: the server reported no request".to_owned());
        return words;
    }
    words.push(waking(&means));
    words.push(price(runs, &means));
    words
}

fn waking(means: &[&PartMeansRecord]) -> String {
    let noted = means.iter().map(|means| means.noted_percent).sum::<f64>() / means.len() as f64;
    let own = match noted {
        0.0 => "waking up is the wait of the generator's thread for a CPU".to_owned(),
        noted => format!("waking up is from the arrival of an answer to its reading, for {}", percent(noted)),
    };
    let server = match means.iter().all(|means| means.server_waking_ms.is_some()) {
        true => "the waits of the server's threads for a CPU are shown beside it",
        false => "the server's waking up is not separated from the network",
    };
    format!("{own}; {server}")
}

fn price(runs: &[RunFile], means: &[&PartMeansRecord]) -> String {
    let question = means.iter().map(|means| means.question_ms).sum::<f64>() / means.len() as f64;
    let beside = match price_over(runs) {
        Some(price) => {
            let ends = price.low.zip(price.high);
            let between = ends.map_or_else(
                || ABSENT.to_owned(),
                |(low, high)| format!("{} to {}", signed(low), signed(high)),
            );
            let told = mean(&price).map_or_else(|| estimate_time(&price), signed);
            format!("--mu made a sampled request {told} slower ({between})")
        }
        None => "the overhead of --mu is unknown, since every request was sampled".to_owned(),
    };
    format!("price: {beside}; a query of {} follows each sampled request", time(question))
}

fn signed(ms: f64) -> String {
    if ms < 0.0 { format!("-{}", time(-ms)) } else { time(ms) }
}
