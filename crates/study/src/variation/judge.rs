//! What the runs come to, beside what was published.

use super::found::{Found, shares};
use super::record::Setting;
use super::seen::is_valid;
use super::{findings, references, words};
use crate::harness::{Judgement, Plan, Run, cells};

pub fn judge(plan: &Plan, setting: &Setting, runs: &[Run]) -> Judgement {
    let found = Found::of(setting, &cells(plan, runs));
    // Of rates that are judged, those that failed are among them and make it known; no finding is about what made the load.
    let valid: Vec<Run> = runs.iter().filter(|run| is_valid(run)).cloned().collect();
    let findings = findings::all(setting, &cells(plan, &valid), &found);
    Judgement {
        headline: words::headline(setting, &found),
        published: words::PUBLISHED,
        source: words::SOURCE,
        rule: words::rule(),
        setting: words::setting(plan, setting),
        findings,
        verdicts: found
            .judged()
            .and_then(|at| at.why.as_ref())
            .map(|why| why.verdicts.clone())
            .unwrap_or_default(),
        components: found.components.as_ref().map(shares).unwrap_or_default(),
        sentences: words::sentences(setting, &found),
        caveats: words::caveats(setting, runs),
        place: setting.machine.known(),
        references: references::references(),
        ..Judgement::default()
    }
}
