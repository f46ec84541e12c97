//! By which rule the runs are judged.

/// Times that differ by less than this share differ little.
pub(super) const LITTLE: f64 = 0.2;

pub(super) fn rule() -> String {
    format!(
        "One way takes longer than another where the whole 95 % interval of the ratio of their times (over runs, Student's t) is above 1; that is the \
         direction of a finding. Its size is shown beside it: whether the published factor is within that \
         interval. Times \
         differ little where the whole interval is within {:.0} %. Every load is audited, record by record; one that lost or doubled a record \
         would have ended the study.",
        100.0 * LITTLE
    )
}
