//! What the runs come to, beside the published tables.

use super::setting::{BESIDE, LOAD, SELECT, STARVE, Setting};
use crate::format::significant;
use crate::harness::{
    Cell, Claim, Finding, Judgement, Number, Plan, Reference, Run, cell, cells, direction, doubts, findings, standing,
};

const SOURCE: &str = "usability study: Xen 3 on a 2.6 GHz Pentium 4 with 512 MB, two guests of 145 MB on files of 8 GB";
const PUBLISHED: &str = "A guest loads 30 % slower and selects 22 % slower than the host; two at once take twice as long each. A host \
                         whose CPU is at 97 % leaves its guests less than 1 %.";
const RULE: &str = "A ratio is above 1, or near a value, where its whole 95 % interval over runs is.";

const CLAIMS: [Claim; 6] = [
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
    found.extend(starving(&cells));
    let headline = found.last().filter(|last| last.name == STARVES).map(|last| last.here.clone());
    Judgement {
        headline: headline.into_iter().chain([direction(&found)]).collect::<Vec<_>>().join(" "),
        published: PUBLISHED,
        source: SOURCE,
        rule: RULE.to_owned(),
        setting: what(plan, setting),
        place: setting.place.known(),
        caveats: doubts(plan.parts.iter(), runs).chain(standing(STANDING)).collect(),
        references: references().into_iter().filter(|reference| plan.part(&reference.part).is_some()).collect(),
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

fn references() -> Vec<Reference> {
    let seconds = |part, words, seconds| Reference::of(part, words, [("seconds", seconds)]);
    vec![
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
