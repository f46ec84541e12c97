//! Studies as several commands need them: `stored` finds one by its name, `published` begins, goes on with and shows a published one,
//! and `program` does for it what only a program can do.

mod program;
pub mod published;
pub mod stored;
