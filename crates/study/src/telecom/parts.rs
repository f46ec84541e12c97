//! Which runs the study has.

use super::record::{Method, Setting};
use crate::harness::{Cell, Factor, Part};

/// Names of the parts, in their order.
pub const LOAD: &str = "load";
/// A server that is killed in the middle of a load.
pub const CRASH: &str = "crash";
/// From one table to a table for each day.
pub const DISPATCH: &str = "dispatch";
pub const DAYS: &str = "days";
pub const EXPORT: &str = "export";

/// All of them; each of its combinations is measured so often.
pub fn parts(setting: &Setting, repeats: u32) -> Vec<Part> {
    let records = crate::format::count(setting.records);
    let all = crate::format::count(setting.records * u64::from(setting.days));
    let days = setting.days;
    let part = |name: &str, title: &str, about: String, factors| Part {
        name: name.to_owned(),
        title: title.to_owned(),
        about,
        factors,
        repeats,
        marks: Vec::new(),
    };
    vec![
        part(EXPORT, "export of one day", format!("{records} rows of InnoDB as delimited files, by one connection."), vec![connections()]),
        part(LOAD, "load of one day", format!("{records} records of fixed width become rows with three indexes beside the primary key; the index was there before or came after the rows."), vec![ways(&Method::ALL), order()]),
        part(CRASH, "a server that is killed in the middle of a load", "Half of a day is in when the server is killed (SIGKILL) and started again; the load is run again and goes on.".to_owned(), vec![ways(&[Method::Tuned, Method::MyIsam])]),
        part(DISPATCH, "from one table to a table for each day", format!("{all} rows of {days} days, InnoDB tuned."), vec![dispatch_ways()]),
        part(DAYS, "the chain, day by day", format!("{days} days of {records} records, one after the other, InnoDB tuned: convert, load into one table, dispatch to the day's table, audit."), vec![sources()]),
    ]
}

/// The cell with these levels, in the order of the part's factors.
pub(super) fn cell<'a, 'b>(cells: &'b [Cell<'a>], part: &str, levels: &[&str]) -> Option<&'b Cell<'a>> {
    cells.iter().find(|cell| {
        cell.part.name == part && cell.levels.iter().map(String::as_str).eq(levels.iter().copied())
    })
}

fn ways(of: &[Method]) -> Factor {
    Factor::named("way", of.iter().map(|way| (way.name(), way.words())))
}

fn order() -> Factor {
    Factor::named("indexes", [("before", "indexes before"), ("after", "indexes after")])
}

fn connections() -> Factor {
    Factor::named("connections", [("one", "one connection")])
}

fn dispatch_ways() -> Factor {
    Factor::named("way", [("procedure", "stored procedure"), ("insert", "INSERT ... SELECT")])
}

fn sources() -> Factor {
    Factor::named(
        "source",
        [
            ("widths", "separators added, by a file between"),
            ("direct", "separators added on the way into the table"),
            ("delimited", "separators from the source"),
        ],
    )
}
