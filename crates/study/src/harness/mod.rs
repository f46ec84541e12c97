//! What every published study shares, so that a study itself says only what is its own.
//!
//! A study has *parts*, each a set of factors with levels and a number of repeats (`plan`). It prepares a server or an array for a
//! part, makes one run at a time and judges all of them ([`Study`]). Everything else stands here once: the plan on disk, the order
//! in blocks, what a kill or Ctrl-C leaves and how it goes on (`measure`), the runs with their figures by name (`run`), means over
//! repeats (`cells`), published claims and how they are judged (`claim`), and what is said of them (`judgement`).

mod claim;
mod course;
mod judgement;
mod measure;
mod plan;
mod study;

pub use crate::store::Series;
pub use claim::{Cell, Moment, cells, moments};
pub(crate) use claim::{Claim, Rule, cell, direction, findings};
pub(crate) use course::{Block, Course, go_through, is_complete as is_course_complete};
pub use judgement::{Finding, Judgement, Mark, Matrix, Number, Outcome, Reference, Share};
pub(crate) use judgement::{above, doubts, kinds, of_runs, standing};
pub use measure::{is_complete, measure, plan_of, unfinished};
pub use plan::{FORMAT, Factor, Level, Part, Plan, Run, keep, read};
pub use study::{Chart, Event, Figure, Notify, Order, Scale, Study, Unit};

#[cfg(test)]
mod tests;
