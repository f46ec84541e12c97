//! What the runs come to, beside the published tables.

use super::setting::{BESIDE, CPUS, DISK, FILES, FLUSH, LOAD, NET, RECORDS, SELECT, STARVE, Setting, WHERES};
use crate::format::{ratio, significant};
use crate::harness::{
    Cell, Claim, Finding, Judgement, Mark, Matrix, Number, Plan, Reference, Rule, Run, above, cell, cells,
    direction, doubts, findings, standing,
};
use evenkeel_core::statistics::{Estimate, Ratio, unpaired_ratio};

const SOURCE: &str =
    "usability study: Xen 3 on a 2.6 GHz Pentium 4 with 512 MB, two guests of 145 MB on files of 8 GB";
const PUBLISHED: &str = "A guest loads 30 % slower and selects 22 % slower than the host; two at once take twice as long each. A host \
                         whose CPU is at 97 % leaves its guests less than 1 %.";
const RULE: &str = "A ratio is above 1, or near a value, where its whole 95 % interval over runs is.";

const CLAIMS: [Claim; 11] = [
    Claim::above("guests-beyond-the-line", Some(NET), "mbit", &["guest-guest"], Some(&["client-guest"]))
        .published("two guests exchange 1.43 times what the line carries (135 to 94.1 Mbit/s; printed as kb/s, which they cannot be)")
        .here("guest_guest_over_line", "it is {} times as much"),
    Claim::above("host-and-guest-beyond-guests", Some(NET), "mbit", &["guest-host"], Some(&["guest-guest"]))
        .published("host and guest exchange 1.70 times what two guests do (230 to 135 Mbit/s)")
        .here("guest_host_over_guest_guest", "it is {} times as much"),
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
    Claim::longer("two-guests-load", LOAD, [&["two"], &["one"]])
        .published("two guests at once load 2.11 times as long each (1142 s)")
        .here("two_over_one_load", "they take {} times as long"),
    Claim::longer("guest-selects-slower", SELECT, [&["one"], &["host"]])
        .published("a guest selects 1.22 times as long as the host (477 s to 391 s)")
        .here("guest_over_host_select", "it takes {} times as long"),
    Claim::longer("two-guests-select", SELECT, [&["two"], &["one"]])
        .published("two guests at once select 2.29 times as long each (1094 s)")
        .here("two_over_one_select", "they take {} times as long"),
    Claim::above("read-beside-write", Some(BESIDE), "read_s", &["both"], Some(&["read"]))
        .published("a read takes 1.92 times as long beside a write in the other guest (918 s to 477 s)")
        .here("read_beside_over_alone", "it takes {} times as long"),
    Claim::above("write-beside-read", Some(BESIDE), "write_s", &["both"], Some(&["write"]))
        .published("a write takes 1.70 times as long beside a read in the other guest (920 s to 542 s)")
        .here("write_beside_over_alone", "it takes {} times as long"),
];

const STANDING: [(&str, &str); 2] = [
    (
        "domains-are-not-machines",
        "A domain limits and separates a server; it has no kernel of its own, so that what a hypervisor costs is not in these figures. \
         Servers in real virtual machines are measured by URL.",
    ),
    (
        "host-is-limited",
        "The host's server has 3.5 times a guest's memory and the same CPU, as the published host had.",
    ),
];

pub fn judge(plan: &Plan, setting: &Setting, runs: &[Run]) -> Judgement {
    let cells = cells(plan, runs);
    let measured = |finding: &Finding| plan.part(&finding.part).is_some();
    let mut found: Vec<Finding> = findings(&CLAIMS, plan, &cells).into_iter().filter(measured).collect();
    let starves = starving(&cells);
    let headline = starves.as_ref().map(|finding| finding.here.clone());
    let more = [client_cpu(&cells), peak(&cells), buffer(&cells), durable(&cells), several_cpus(&cells)];
    found.extend(starves.into_iter().chain(more.into_iter().flatten()).chain(elsewhere(plan)));
    Judgement {
        headline: headline.into_iter().chain([direction(&found)]).collect::<Vec<_>>().join(" "),
        published: PUBLISHED,
        source: SOURCE,
        rule: RULE.to_owned(),
        setting: what(plan, setting),
        place: setting.place.known(),
        matrices: surfaces(&cells),
        caveats: doubts(plan.parts.iter(), runs).chain(standing(STANDING)).collect(),
        references: references()
            .into_iter()
            .filter(|reference| plan.part(&reference.part).is_some())
            .collect(),
        findings: found,
        ..Judgement::default()
    }
}

fn what(plan: &Plan, setting: &Setting) -> String {
    format!(
        "A server on the host ({}) and two guests ({}), {} rows each; the clients run on other CPUs; seed {}",
        setting.domain(0),
        setting.domain(1),
        crate::format::count(setting.rows()),
        plan.seed
    )
}

const STARVES: &str = "host-starves-guests";

/// What a host that spins leaves its guests.
fn starving(cells: &[Cell<'_>]) -> Option<Finding> {
    let at = |level: &str, figure: &str| cell(cells, STARVE, &[level])?.estimate(figure);
    let [a, b] = ["theta_a", "theta_b"].map(|theta| at("first", theta));
    let (a, b, spins) = (a?, b?, at("first", "spin_percent")?);
    let most = a.high().zip(b.high()).map(|(a, b)| a.max(b));
    let kept = at("first", "queries_per_s")?.mean / at("idle", "queries_per_s")?.mean;
    let equal = at("eight", "theta_a").map_or_else(String::new, |a| {
        format!("; beside eight processes of the same rank it keeps {} %", significant(a.mean, 2))
    });
    let here = format!(
        "A host that spins before all others ({} % of the CPU) leaves each guest {} % of it and {} % of its queries{equal}.",
        significant(spins.mean, 3),
        significant((a.mean + b.mean) / 2.0, 2),
        significant(100.0 * kept, 2)
    );
    let published = "a host whose CPU is at 97 % leaves its guests less than 1 %";
    let holds = most.map(|most| most < 1.0);
    Some(Finding::of(STARVES, STARVE, published, holds, here).with(vec![
        Number::mean("guest_cpu_percent", &a),
        Number::mean("host_cpu_percent", &spins),
        Number::plain("queries_kept", kept),
    ]))
}

/// At what the client machine's CPU stayed.
fn client_cpu(cells: &[Cell<'_>]) -> Option<Finding> {
    let used =
        cells.iter().filter(|cell| cell.part.name == NET).filter_map(|cell| cell.estimate("theta_client"));
    let most = used.max_by(|one, other| one.mean.total_cmp(&other.mean))?;
    let holds = most.high().map(|high| high < 5.0);
    let here = format!("Here its iperf3 used {} % of a CPU at most.", significant(most.mean, 2));
    let published = "the client machine's CPU stays below 5 % at 94 Mbit/s";
    Some(
        Finding::of("client-is-idle", NET, published, holds, here)
            .with(vec![Number::mean("client_percent", &most)]),
    )
}

/// Random reads of a file in records of this many KiB are where the regions of a surface are told.
const RECORD: &str = "64";

fn reads(cells: &[Cell<'_>], place: &str, file: u32) -> Option<Vec<f64>> {
    Some(cell(cells, DISK, &[place, RECORD, &file.to_string()])?.values("read_mb_per_s"))
}

/// A file that fits into the CPU's cache is read faster than a larger one that memory holds: on the host and not in a guest?
fn peak(cells: &[Cell<'_>]) -> Option<Finding> {
    let of = |place| unpaired_ratio(&reads(cells, place, FILES[0])?, &reads(cells, place, FILES[2])?);
    let (host, guest): (Ratio, Ratio) = (of("host")?, of("one")?);
    let holds = match (above(Some(&host), PEAK), above(Some(&guest), PEAK)) {
        (Some(true), Some(in_guest)) => Some(!in_guest),
        // Without a peak on the host there is nothing to miss.
        _ => None,
    };
    let here = format!(
        "Here a file of {} MiB is read {} times as fast as one of {} MiB on the host, {} times in a guest.",
        FILES[0],
        ratio(&host),
        FILES[2],
        ratio(&guest)
    );
    let published = "the peak of the CPU's cache is there on the host and missing in guests";
    let numbers = [Number::of("host_peak", Some(&host)), Number::of("guest_peak", Some(&guest))].concat();
    Some(Finding::of("cache-peak-missing", DISK, published, holds, here).with(numbers))
}

/// By how much the smallest file must be read faster than a larger one to count as a peak.
const PEAK: f64 = 1.1;
/// A file is buffered that is read at this part of the best rate or faster.
const BUFFERED: f64 = 0.5;

/// The largest file that memory holds, in MiB.
fn buffer(cells: &[Cell<'_>]) -> Option<Finding> {
    let edge = |place: &str| {
        let rates = FILES.map(|file| Some((file, Estimate::of(&reads(cells, place, file)?)?.mean)));
        let rates = rates.into_iter().collect::<Option<Vec<(u32, f64)>>>()?;
        let best = rates.iter().map(|(_, rate)| *rate).fold(0.0, f64::max);
        rates.iter().filter(|(_, rate)| *rate >= BUFFERED * best).map(|(file, _)| *file).max()
    };
    let [host, one, two] = [edge("host")?, edge("one")?, edge("two")?];
    let repeats = cells.iter().find(|cell| cell.part.name == DISK)?.part.repeats;
    let here = format!(
        "Here files are read from memory up to {host} MiB on the host, {one} in one guest, {two} in two."
    );
    let published = "the region of the buffer cache is smaller in a guest, and smallest with two";
    let holds = (repeats > 1).then_some(two < one && one < host);
    let numbers = [("host", host), ("one", one), ("two", two)];
    let number = |(place, mib)| Number::plain(&format!("buffered_mib_{place}"), f64::from(mib));
    Some(
        Finding::of("buffer-smallest-with-two", DISK, published, holds, here)
            .with(numbers.map(number).to_vec()),
    )
}

/// What a loss of power leaves is not tried here; how long a flush takes is measured.
fn durable(cells: &[Cell<'_>]) -> Option<Finding> {
    let of = |place: &str| cell(cells, FLUSH, &[place])?.estimate("flush_ms");
    let (host, guest) = (of("host")?, of("one")?);
    let here = format!(
        "Whether a loss of power leaves what was flushed is not tried. A flush takes {} ms on the host, {} ms in a guest.",
        significant(host.mean, 2),
        significant(guest.mean, 2)
    );
    let numbers = vec![Number::mean("host_flush_ms", &host), Number::mean("guest_flush_ms", &guest)];
    Some(
        Finding::of("durable", FLUSH, "disks in files are stable, and nothing is lost", None, here)
            .with(numbers),
    )
}

fn several_cpus(cells: &[Cell<'_>]) -> Option<Finding> {
    let seconds = |cpus: &str| Some(cell(cells, CPUS, &[cpus])?.values("seconds"));
    let found = unpaired_ratio(&seconds("1")?, &seconds("2")?)?;
    let here = format!("Here two guests on one CPU select {} times as long as on two.", ratio(&found));
    let published = "left as a wish: the same with several CPUs";
    Some(
        Finding::of("several-cpus", CPUS, published, above(Some(&found), 1.0), here)
            .with(Number::of("one_over_two_cpus", Some(&found))),
    )
}

/// What this study does not try, and what does.
fn elsewhere(plan: &Plan) -> Vec<Finding> {
    let part = plan.parts.first().map_or("", |part| part.name.as_str());
    let not = |(name, published, here): (&'static str, &str, &str)| {
        Finding::of(name, part, published, None, here.to_owned())
    };
    ELSEWHERE.into_iter().map(not).collect()
}

const ELSEWHERE: [(&str, &str, &str); 3] = [
    (
        "other-systems",
        "left as a wish: other guest and host systems",
        "A domain has the kernel of its host. Real virtual machines are measured by their URL: `evenkeel interfere --server`.",
    ),
    (
        "cloning-beside",
        "left as a wish: creating or copying a guest beside running ones",
        "`evenkeel interfere --jobs select,clone` measures it.",
    ),
    (
        "large-image",
        "left as a wish: an image with data beyond 8 GB",
        "`data=70 memory=128M parts=load` makes images with 9 GB of data.",
    ),
];

/// Figures 1 to 6: MB/s of files by records, for reads and for writes of each place.
fn surfaces(cells: &[Cell<'_>]) -> Vec<Matrix> {
    let of = |title: &str, figure: &str, place: &str| {
        let mark = |record: u32, file: u32| {
            let cell = cell(cells, DISK, &[place, &record.to_string(), &file.to_string()])?;
            Some(Mark { number: Number::mean("mb_per_s", &cell.estimate(figure)?), is_strong: false })
        };
        let row = |record: u32| (format!("{record} KiB"), FILES.map(|file| mark(record, file)).to_vec());
        Matrix {
            part: DISK.to_owned(),
            title: format!("random {title}, {place}: MB/s"),
            words: "Files across, records down.",
            fine: None,
            columns: FILES.map(|file| format!("{file} MiB")).to_vec(),
            rows: RECORDS.map(row).to_vec(),
        }
    };
    if !cells.iter().any(|cell| cell.part.name == DISK) {
        return Vec::new();
    }
    let ways = [("reads", "read_mb_per_s"), ("writes", "write_mb_per_s")];
    ways.into_iter().flat_map(|(title, figure)| WHERES.map(|(place, _)| of(title, figure, place))).collect()
}

fn references() -> Vec<Reference> {
    let seconds = |part, words, seconds| Reference::of(part, words, [("seconds", seconds)]);
    let flow = |words, mbit| Reference::of(NET, words, [("mbit", mbit)]);
    let together = |words, mbit, figure, over| Reference::of(NET, words, [("mbit", mbit), (figure, over)]);
    vec![
        flow("guest from client machine", 94.0),
        flow("client machine from guest", 94.1),
        flow("client machine from host", 94.1),
        flow("host from client machine", 94.2),
        flow("guest from guest", 135.0),
        flow("guest from host", 230.0),
        together("two guests at once", 94.0, "a_over_b", 1.0),
        together("host and guest", 93.8, "host_over_a", 1.99),
        together("host and two guests", 94.2, "host_over_a", 1.97),
        seconds(LOAD, "the host, 2.5 GB", 416.0),
        seconds(LOAD, "one guest", 542.0),
        seconds(LOAD, "two guests at once, each", 1142.0),
        seconds(SELECT, "the host", 391.0),
        seconds(SELECT, "one guest", 477.0),
        seconds(SELECT, "two guests at once, each", 1094.0),
        Reference::of(BESIDE, "beside each other", [("read_s", 918.0), ("write_s", 920.0)]),
        Reference::of(STARVE, "a loaded host", [("spin_percent", 97.0), ("theta_a", 1.0)]),
    ]
}
