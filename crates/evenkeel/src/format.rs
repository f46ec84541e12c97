//! Numbers as people read them, which studies write into their findings too; who saw a server, and who told the parts of response times; commands as one types them.

pub use evenkeel_study::format::*;
use evenkeel_study::profile::price_over;
use evenkeel_study::store::format::{PartMeansRecord, PartsRecord, RunFile, SensedBy, SensedRecord};

pub fn capital(words: &str) -> String {
    let mut letters = words.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

/// One digit behind the point, for a table; a dash where there is no number.
pub fn decimal(value: Option<f64>) -> String {
    value.map_or("-".to_owned(), |value| format!("{value:.1}"))
}

/// Each name once, in the order of its first.
pub fn distinct<'a>(names: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let mut found: Vec<&str> = Vec::new();
    for name in names {
        if !found.contains(&name) {
            found.push(name);
        }
    }
    found
}

/// The command as one would type it: words with blanks or signs of the shell are quoted.
pub fn command(words: &[String]) -> String {
    let plain = |word: &String| {
        !word.is_empty()
            && word.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_./:=,@%+".contains(&byte))
    };
    let quoted =
        |word: &String| if plain(word) { word.clone() } else { format!("'{}'", word.replace('\'', r"'\''")) };
    let program = words.first().is_none_or(|word| word != "evenkeel").then(|| "evenkeel".to_owned());
    program.into_iter().chain(words.iter().map(quoted)).collect::<Vec<_>>().join(" ")
}

/// The program with the home that it was given, as the beginning of a command that is to be typed next.
pub fn program() -> String {
    let words: Vec<String> = std::env::args_os().map(|word| word.to_string_lossy().into_owned()).collect();
    let from = words.iter().position(|word| word.starts_with("--home")).unwrap_or(words.len());
    let has_value = words.get(from).is_some_and(|word| word.contains('='));
    command(&words.into_iter().skip(from).take(if has_value { 1 } else { 2 }).collect::<Vec<_>>())
}

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

/// A line for each way in which runs were sensed, in the order of the runs.
pub fn sensed(runs: &[RunFile]) -> Vec<String> {
    let mut ways: Vec<(&SensedRecord, Vec<&SensedRecord>)> = Vec::new();
    for record in runs.iter().filter_map(|run| run.sensed.as_ref()) {
        let same =
            |(first, _): &&mut (&SensedRecord, _)| (first.by, &first.with) == (record.by, &record.with);
        match ways.iter_mut().find(same) {
            Some((_, all)) => all.push(record),
            None => ways.push((record, vec![record])),
        }
    }
    ways.iter().map(|(first, all)| way(first, all)).collect()
}

fn way(first: &SensedRecord, all: &[&SensedRecord]) -> String {
    let with = first.with.as_ref().map_or_else(String::new, |with| format!(" ({with})"));
    let host = first.host.as_ref().map_or_else(String::new, |host| format!(" on {host}"));
    let what = match first.by {
        SensedBy::Statistics => "; work per request, without threads in the background, and no utilisation",
        SensedBy::NodeExporter => "; of all processes of that machine",
        SensedBy::Nobody => "; where the server runs elsewhere, --sense-with or --sense-from shows it",
        SensedBy::ThisMachine | SensedBy::Command => "",
    };
    let mut text = format!("server sensed by {}{with}{host}{what}", first.by);
    if let Some(gap) = most(all, |record| record.gap_ms) {
        text.push_str(&format!("; a reading every {} ms", significant(gap, 3)));
        // A process has a clock of its own that counts nanoseconds; only what is coarse is worth a word.
        let coarse = most(all, |record| record.resolution_ms).filter(|step| *step >= 0.1);
        text.push_str(
            &coarse.map_or_else(String::new, |step| format!(" in steps of {} ms", significant(step, 3))),
        );
    }
    if let Some(error) = most(all, |record| record.clock_error_ms) {
        text.push_str(&format!(", placed within {} ms", significant(error, 2)));
    }
    let missing: Vec<&String> = all.iter().filter_map(|record| record.missing.as_ref()).collect();
    if let Some(last) = missing.last() {
        let runs = counted(all.len(), "run");
        text.push_str(&format!("; not available to the end in {} of {runs}: it {last}", missing.len()));
    }
    text
}

/// What the load generator took of the machine where the server runs too.
pub fn generator(runs: &[RunFile]) -> Option<String> {
    let is_beside = |run: &&RunFile| run.sensed.as_ref().is_some_and(|by| by.by == SensedBy::ThisMachine);
    let used = runs.iter().filter(is_beside).filter_map(|run| run.generator_cpu_percent).reduce(f64::max)?;
    Some(format!("on the same machine the load generator used up to {used:.0} % of a CPU"))
}

fn most(all: &[&SensedRecord], of: fn(&SensedRecord) -> Option<f64>) -> Option<f64> {
    all.iter().filter_map(|record| of(record)).reduce(f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_can_be_typed_again() {
        let words = ["evenkeel", "profile", "--set", "a b", "it's", ""].map(str::to_owned);
        assert_eq!(command(&words), r"evenkeel profile --set 'a b' 'it'\''s' ''");
        assert_eq!(command(&words[1..2]), "evenkeel profile", "plans keep the arguments alone");
    }

    fn run(sensed: SensedRecord) -> RunFile {
        RunFile { sensed: Some(sensed), ..RunFile::default() }
    }

    #[test]
    fn a_command_is_named_with_how_fine_it_sees_and_when_it_ended() {
        let record = SensedRecord {
            by: SensedBy::Command,
            with: Some("ssh db1 evenkeel sense".into()),
            host: Some("db1".into()),
            readings: 90,
            gap_ms: Some(100.0),
            resolution_ms: Some(1e-6),
            clock_error_ms: Some(0.25),
            missing: None,
        };
        let ended = SensedRecord { missing: Some("ended (exit status: 255)".into()), ..record.clone() };
        assert_eq!(
            sensed(&[run(record), run(ended)]),
            [
                "server sensed by command (ssh db1 evenkeel sense) on db1; a reading every 100 ms, placed within 0.25 ms; \
              not available to the end in 1 of 2 runs: it ended (exit status: 255)"
            ]
        );
    }
}
