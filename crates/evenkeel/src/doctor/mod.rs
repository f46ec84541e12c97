//! What this machine allows, and what is lost without it.

mod finding;
mod probes;

pub use finding::{Finding, State};

/// Tries everything; takes some five seconds and leaves nothing behind.
pub fn examine() -> Vec<Finding> {
    probes::ALL.iter().map(|probe| probe()).collect()
}

/// A line for each finding.
pub fn text(findings: &[Finding]) -> String {
    let width = findings.iter().map(|finding| finding.name.len()).max().unwrap_or(0);
    findings.iter().map(|finding| line(finding, width)).collect()
}

fn line(finding: &Finding, width: usize) -> String {
    let Finding { name, state, seen, lost, remedy } = finding;
    match state {
        State::Ok => format!("{state:<7}  {name:<width$}  {seen}\n"),
        _ => format!("{state:<7}  {name:<width$}  {seen}: {lost}; {remedy}\n"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_there_is_one_line_and_what_is_not_has_its_loss_and_its_remedy() {
        let findings = [
            Finding::ok("CPUs", "4"),
            Finding::less(
                "FUSE",
                State::Missing,
                "no /dev/fuse",
                "`share mount` does not work",
                "load the module fuse",
            ),
        ];
        assert_eq!(
            text(&findings),
            "ok       CPUs  4\nmissing  FUSE  no /dev/fuse: `share mount` does not work; load the module fuse\n"
        );
    }

    #[test]
    fn every_probe_says_something_of_this_machine() {
        let findings = examine();
        assert_eq!(findings.len(), probes::ALL.len());
        for finding in findings {
            let is_whole = !finding.lost.is_empty() && !finding.remedy.is_empty();
            assert!(!finding.seen.is_empty() && is_whole == (finding.state != State::Ok), "{finding:?}");
        }
    }
}
