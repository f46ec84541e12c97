//! Which runs the study has.

use super::record::{MYISAM, Setting, TUNED, WAYS, Way};
use crate::format::count;
use crate::harness::{Factor, Part};

/// Names of the parts, in their order.
pub const EXPORT: &str = "export";
pub const LOAD: &str = "load";
/// A server that is killed in the middle of a load.
pub const CRASH: &str = "crash";
/// From one table to a table for each day.
pub const DISPATCH: &str = "dispatch";
pub const DAYS: &str = "days";

/// All of them; each of its combinations is measured so often.
pub fn parts(setting: &Setting, repeats: u32) -> Vec<Part> {
    let (records, days) = (count(setting.records), setting.days);
    let part = |(name, title), about, factors| Part::new(name, title, about, factors, repeats);
    let ways = |of: &[Way]| Factor::named("way", of.iter().map(|way| (way.name, way.words)));
    let sources = [
        ("widths", "separators added, by a file between"),
        ("direct", "separators added on the way into the table"),
        ("delimited", "separators from the source"),
    ];
    vec![
        part(
            (EXPORT, "export of one day"),
            format!("{records} rows of InnoDB as delimited files, by one connection."),
            vec![Factor::named("connections", [("one", "one connection")])],
        ),
        part(
            (LOAD, "load of one day"),
            format!(
                "{records} records of fixed width; a primary key and three indexes, made before or after."
            ),
            vec![
                ways(&WAYS),
                Factor::named("indexes", [("before", "indexes before"), ("after", "indexes after")]),
            ],
        ),
        part(
            (CRASH, "a server that is killed in the middle of a load"),
            "With half of a day in, it is killed (SIGKILL) and started again; the load goes on.".to_owned(),
            vec![ways(&[TUNED, MYISAM])],
        ),
        part(
            (DISPATCH, "from one table to a table for each day"),
            format!("{} rows of {days} days, InnoDB tuned.", count(setting.all())),
            vec![Factor::named("way", [("procedure", "stored procedure"), ("insert", "INSERT ... SELECT")])],
        ),
        part(
            (DAYS, "the chain, day by day"),
            format!("{days} days of {records} records, InnoDB tuned: convert, load, dispatch, audit."),
            vec![Factor::named("source", sources)],
        ),
    ]
}
