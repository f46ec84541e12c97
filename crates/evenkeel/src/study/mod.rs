//! Studies as several commands need them: `stored` finds one by its name, `published` begins, goes on with and shows a published one,
//! `program` does for it what only a program can do, `comparison` says how two compare, `sizing` what a load needs, and
//! `narrower` which profile would say more.

pub mod comparison;
pub mod goes_on;
pub mod narrower;
mod program;
pub mod published;
pub mod sizing;
pub mod stored;
