//! What the runs come to, beside the published tables.

use super::setting::{BESIDE, DISK, FILES, FLUSH, LOAD, NET, PAIRS, SELECT, STARVE, Setting};
use crate::format::significant;
use crate::harness::{
    Cell, Claim, Finding, Judgement, Number, Outcome, Plan, Reference, Rule, Run, cell, cells, direction,
    doubts, findings, standing,
};
use evenkeel_core::statistics::unpaired_ratio;

const SOURCE: &str =
    "usability study: Xen 3 on a 2.6 GHz Pentium 4 with 512 MB, two guests of 145 MB on files of 8 GB";
const PUBLISHED: &str = "A guest loads 30 % slower and selects 22 % slower than the host; two at once take twice as long each. A host \
                         whose CPU is at 97 % leaves its guests less than 1 %.";
const RULE: &str = "A ratio is above 1, or near a value, where its whole 95 % interval over runs is.";

const CLAIMS: [Claim; 10] = [
    Claim::above("guests-beyond-the-line", Some(NET), "mbit", &["guest-guest"], Some(&["client-guest"]))
        .published("two guests exchange 1.43 times what the line carries (135 to 94.1 Mbit/s; printed as kb/s, which they cannot be)")
        .here("guest_guest_over_line", "it is {} times as much"),
    Claim::above("sum-at-the-limit", Some(NET), "mbit", &["host-two-guests"], Some(&["host-client"]))
        .rule(Rule::Near(0.05))
        .published("several servers at once add up to the line's limit (46.8 + 23.7 + 23.7 to 94.2 Mbit/s)")
        .here("sum_over_one", "the sum is {} times what one has"),
    Claim::above("guests-share-evenly", Some(NET), "a_over_b", &["two-guests"], None)
        .rule(Rule::Near(0.1))
        .published("two guests at once get the same (47 and 47 Mbit/s)")
        .here("a_over_b", "a gets {} times what b gets"),
    Claim::above("host-gets-twice", Some(NET), "host_over_a", &["host-guest"], None)
        .published("beside a guest the host gets 1.99 times its bandwidth (62.4 and 31.4 Mbit/s)")
        .here("host_over_guest", "it gets {} times a guest's"),
    Claim::longer("guest-loads-slower", LOAD, [&["one"], &["host"]])
        .published("a guest loads 1.30 times as long as the host (542 s to 416 s)")
        .here("guest_over_host_load", "it takes {} times as long"),
    Claim::longer("guest-selects-slower", SELECT, [&["one"], &["host"]])
        .published("a guest selects 1.22 times as long as the host (477 s to 391 s)")
        .here("guest_over_host_select", "it takes {} times as long"),
    Claim::above("read-beside-write", Some(BESIDE), "read_s", &["both"], Some(&["read"]))
        .published("a read takes 1.92 times as long beside a write in the other guest (918 s to 477 s)")
        .here("read_beside_over_alone", "it takes {} times as long"),
    Claim::above("write-beside-read", Some(BESIDE), "write_s", &["both"], Some(&["write"]))
        .published("a write takes 1.70 times as long beside a read in the other guest (920 s to 542 s)")
        .here("write_beside_over_alone", "it takes {} times as long"),
    Claim::above("cache-peak-on-host", Some(DISK), "read_mb_per_s", &["host", "64", "1"], Some(&["host", "64", "32"]))
        .published("the host reads a file that fits into the CPU's cache faster than a larger one in memory")
        .here("host_peak", "1 MiB is read {} times as fast as 32 MiB"),
    Claim::above("no-cache-peak-in-guests", Some(DISK), "read_mb_per_s", &["one", "64", "1"], Some(&["one", "64", "32"]))
        .rule(Rule::Near(0.1))
        .published("in a guest that peak is missing")
        .here("guest_peak", "1 MiB is read {} times as fast as 32 MiB"),
];

const STANDING: [(&str, &str); 3] = [
    (
        "domains-are-not-machines",
        "A domain limits and separates a server; it has no kernel of its own, so that what a hypervisor costs is not in these figures. \
         Servers in real virtual machines are measured by URL.",
    ),
    (
        "host-is-limited",
        "The host's server has 3.5 times a guest's memory and the same CPU, as the published host had.",
    ),
    (
        "kernel-threads",
        "Other CPU leaves the kernel's threads out, since some of them do the work of the file disks.",
    ),
];

pub fn judge(plan: &Plan, setting: &Setting, runs: &[Run]) -> Judgement {
    let cells = cells(plan, runs);
    let measured = |finding: &Finding| plan.part(&finding.part).is_some();
    let mut found: Vec<Finding> = findings(&CLAIMS, plan, &cells).into_iter().filter(measured).collect();
    let starves = starving(&cells);
    let headline = starves.as_ref().map(|finding| finding.here.clone());
    found.extend([starves, client_cpu(&cells), buffer(&cells)].into_iter().flatten());
    let single = single(plan, &cells, &found);
    found.extend(elsewhere(plan, &cells));
    let headline = headline.into_iter().chain([direction(&found)]).chain(single);
    Judgement {
        headline: headline.collect::<Vec<_>>().join(" "),
        published: PUBLISHED,
        source: SOURCE,
        rule: RULE.to_owned(),
        setting: what(plan, setting),
        place: setting.place.known(),
        caveats: doubts(plan.parts.iter(), runs).chain(standing(STANDING)).collect(),
        references: if plan.part(NET).is_some() { references() } else { Vec::new() },
        findings: found,
        ..Judgement::default()
    }
}

fn what(plan: &Plan, setting: &Setting) -> String {
    format!(
        "A server on the host ({}) and two guests ({}), {} rows each; the clients run on other CPUs; seed {}",
        setting.domain(0),
        setting.domain(1),
        crate::format::count(setting.rows(1)),
        plan.seed
    )
}

/// How many of those that are undecided were measured once: no interval, no decision.
fn single(plan: &Plan, cells: &[Cell<'_>], found: &[Finding]) -> Option<String> {
    let is_single = |finding: &&Finding| {
        let part = plan.part(&finding.part);
        let is_measured = cells.iter().any(|cell| cell.part.name == finding.part);
        is_measured && finding.outcome == Outcome::NotTestable && part.is_some_and(|part| part.repeats == 1)
    };
    let count = found.iter().filter(is_single).count();
    (count > 0).then(|| {
        format!("Of the undecided, {count} stand on single runs (--repeats 3 may decide them), {} are not tried here.", ELSEWHERE.len())
    })
}

const STARVES: &str = "host-starves-guests";

/// What a busy host leaves its guests.
fn starving(cells: &[Cell<'_>]) -> Option<Finding> {
    let at = |level: &str, figure: &str| cell(cells, STARVE, &[level])?.estimate(figure);
    let [a, b] = ["theta_a", "theta_b"].map(|theta| at("top-priority", theta));
    let (a, b, spins) = (a?, b?, at("top-priority", "spin_percent")?);
    let most = a.high().zip(b.high()).map(|(a, b)| a.max(b));
    let queries = |level: &str| Some(cell(cells, STARVE, &[level])?.values("queries_per_s"));
    let kept = unpaired_ratio(&queries("top-priority")?, &queries("0")?)?;
    let percent = |part: f64| significant(100.0 * part, 2);
    let within = kept.interval.map(|(low, high)| format!(" ({} to {} %)", percent(low), percent(high)));
    let here = format!(
        "When one top-priority process on the host takes {} % of the CPU, each guest keeps {} % of the CPU and {} %{} of its queries.",
        significant(spins.mean, 3),
        significant((a.mean + b.mean) / 2.0, 2),
        percent(kept.ratio),
        within.unwrap_or_default()
    );
    let published = "a host whose CPU is at 97 % leaves its guests less than 1 % of it";
    let holds = most.map(|most| most < 1.0);
    let cpu = [Number::mean("guest_cpu_percent", &a), Number::mean("host_cpu_percent", &spins)];
    let numbers = cpu.into_iter().chain(Number::of("queries_kept", Some(&kept)));
    Some(Finding::of(STARVES, STARVE, published, holds, here).with(numbers.collect()))
}

/// At what the client machine's CPU stayed.
fn client_cpu(cells: &[Cell<'_>]) -> Option<Finding> {
    let used =
        cells.iter().filter(|cell| cell.part.name == NET).filter_map(|cell| cell.estimate("theta_client"));
    let most = used.max_by(|one, other| one.mean.total_cmp(&other.mean))?;
    let holds = match most.low().zip(most.high()) {
        Some((_, high)) if high < 5.0 => Some(true),
        Some((low, _)) if low > 5.0 => Some(false),
        _ => None,
    };
    let here = format!("Here its iperf3 used {} % of a CPU at most.", significant(most.mean, 2));
    let published = "the client machine's CPU stays below 5 % at 94 Mbit/s";
    Some(Finding::of("client-is-idle", NET, published, holds, here))
}

/// Records of this many KiB tell which files memory holds.
const RECORD: &str = "64";
/// Where the best rate is less than so many times the worst, memory holds all files.
const DROP: f64 = 4.0;

/// The largest file that memory holds, in MiB.
fn buffer(cells: &[Cell<'_>]) -> Option<Finding> {
    let edge = |place: &str| {
        let rate = |file: u32| cell(cells, DISK, &[place, RECORD, &file.to_string()])?.mean("read_mb_per_s");
        let rates: Vec<(u32, f64)> = FILES.into_iter().filter_map(|file| Some((file, rate(file)?))).collect();
        let best = rates.iter().map(|(_, rate)| *rate).fold(0.0, f64::max);
        let worst = rates.iter().map(|(_, rate)| *rate).fold(best, f64::min);
        // Nearer to the best than to the worst, by ratio: the CPU's cache makes small files several times as fast again.
        let least = if best < DROP * worst { worst } else { (best * worst).sqrt() };
        rates.iter().filter(|(_, rate)| *rate >= least).map(|(file, _)| *file).max()
    };
    let [host, one, two] = [edge("host")?, edge("one")?, edge("two")?];
    let repeats = cells.iter().find(|cell| cell.part.name == DISK)?.part.repeats;
    let here = format!(
        "Here files are read from memory up to {host} MiB on the host, {one} in one guest, {two} in two."
    );
    let published = "the region of the buffer cache is smaller in a guest, and smallest with two";
    let holds = (repeats > 1).then_some(two < one && one < host);
    Some(Finding::of("buffer-smallest-with-two", DISK, published, holds, here))
}

/// What this study does not try, and what does.
fn elsewhere(plan: &Plan, cells: &[Cell<'_>]) -> Vec<Finding> {
    let flush = |place| cell(cells, FLUSH, &[place])?.mean("flush_ms").map(|ms| significant(ms, 2));
    let flushes = flush("host").zip(flush("one")).map_or_else(String::new, |(host, guest)| {
        format!(" A flush takes {host} ms on the host, {guest} ms in a guest.")
    });
    let more = cell(cells, NET, &["guest-host"]).and_then(|cell| cell.mean("mbit"));
    let more = more.map_or_else(String::new, |mbit| {
        format!(
            " Without the line of 100 Mbit/s a guest takes {} Mbit/s from the host.",
            significant(mbit, 2)
        )
    });
    let part = plan.parts.first().map_or("", |part| part.name.as_str());
    let not = |(name, published, here): (&'static str, &str, &str)| {
        let measured = if name == WISHES { &more } else { &flushes };
        Finding::of(name, part, published, None, here.replace("{}", measured))
    };
    ELSEWHERE.into_iter().map(not).collect()
}

const WISHES: &str = "more-wishes";

const ELSEWHERE: [(&str, &str, &str); 3] = [
    ("durable", "disks in files are stable", "No loss of power is tried.{}"),
    (
        "other-systems",
        "a wish: other guest and host systems",
        "A domain has the kernel of its host. `evenkeel interfere --server` measures servers in real virtual machines.",
    ),
    (
        WISHES,
        "wishes: several CPUs, cloning beside running servers, data beyond 8 GB, more bandwidth",
        "Not tried here: `evenkeel interfere` has `--at cpus=` and the job `clone`; `data=70 memory=128M` makes images with 9 GB of data.{}",
    ),
];

fn references() -> Vec<Reference> {
    PAIRS.map(|(name, _, mbit)| Reference::of(NET, name, [("mbit", mbit)])).to_vec()
}

#[cfg(test)]
mod tests {
    use super::super::setting::parts;
    use super::*;

    /// Runs with the figures that these planted.
    fn judged(figures: impl Fn(&str, &[String], u32) -> Vec<(&'static str, f64)>) -> Judgement {
        let plan = Plan { parts: parts(3), ..Plan::default() };
        let mut runs = Vec::new();
        for part in &plan.parts {
            for (levels, repeat) in part.order(1) {
                let mut run =
                    Run { part: part.name.clone(), levels: levels.clone(), repeat, ..Run::default() };
                let jitter = 1.0 + 0.001 * f64::from(repeat);
                figures(&part.name, &levels, repeat)
                    .iter()
                    .for_each(|(name, value)| run.set(name, value * jitter));
                runs.push(run);
            }
        }
        let setting = Setting { memory: 128 << 20, data: 5.0, seconds: 1.0, place: Default::default() };
        judge(&plan, &setting, &runs)
    }

    fn outcome(said: &Judgement, name: &str) -> Outcome {
        said.findings.iter().find(|finding| finding.name == name).expect(name).outcome
    }

    #[test]
    fn a_host_that_leaves_its_guests_nothing_is_the_headline() {
        let starved = |theta: f64| {
            judged(move |part, levels, _| match (part, levels[0].as_str()) {
                (STARVE, "top-priority") => {
                    vec![
                        ("theta_a", theta),
                        ("theta_b", theta),
                        ("spin_percent", 97.0),
                        ("queries_per_s", 1.0),
                    ]
                }
                (STARVE, "0") => vec![("queries_per_s", 100.0)],
                _ => Vec::new(),
            })
        };
        let said = starved(0.5);
        assert!(
            said.headline
                .contains("each guest keeps 0.50 % of the CPU and 1.0 % (1.0 to 1.0 %) of its queries"),
            "{}",
            said.headline
        );
        assert_eq!(outcome(&said, STARVES), Outcome::Holds);
        assert_eq!(outcome(&starved(5.0), STARVES), Outcome::DoesNotHold);
    }

    #[test]
    fn a_guest_with_less_memory_buffers_smaller_files_and_two_of_fixed_memory_no_smaller_ones() {
        let said = judged(|part, levels, _| {
            let most = if levels[0] == "host" { 128 } else { 32 };
            let file: u32 = levels.last().and_then(|file| file.parse().ok()).unwrap_or_default();
            if part == DISK {
                vec![("read_mb_per_s", if file <= most { 2e3 } else { 100.0 })]
            } else {
                Vec::new()
            }
        });
        let finding = said.findings.iter().find(|one| one.name == "buffer-smallest-with-two").unwrap();
        assert!(
            finding.here.contains("up to 128 MiB on the host, 32 in one guest, 32 in two"),
            "{}",
            finding.here
        );
        assert_eq!(finding.outcome, Outcome::DoesNotHold);
        assert_eq!(outcome(&said, "no-cache-peak-in-guests"), Outcome::Holds);
        assert_eq!(outcome(&said, "guest-loads-slower"), Outcome::NotTestable);
    }

    #[test]
    fn what_is_not_tried_is_said_with_who_tries_it() {
        let said = judged(|_, _, _| Vec::new());
        assert_eq!(outcome(&said, "durable"), Outcome::NotTestable);
        assert!(said.findings.iter().any(|one| one.here.contains("evenkeel interfere --server")));
    }
}
