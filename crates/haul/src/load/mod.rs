//! Records of many files as rows of a database, each once, whatever ends the load in the middle.
//!
//! [`Job::run`] has the converter's pool make lines of the records; [`part`] gathers lines into parts of a bounded size, and
//! [`store`] sends each part by `LOAD DATA LOCAL` in a transaction of its own, which also says in the manifest ([`manifest`])
//! which bytes of which file are in. Parts are committed in the order of the records, also where several connections send them,
//! so that what is in is always the beginning of a file, and a record that was refused as a duplicate has the first of its kind
//! in the table. Tables without transactions have no such parts: a load of them that was cut is emptied and begun again
//! ([`files`]).

mod corrected;
mod corrections;
mod files;
mod job;
mod limit;
mod manifest;
mod part;
mod reading;
mod rejects;
mod store;
mod tables;
mod unload;
mod warnings;

pub(crate) use corrections::{Correction, Corrections, any as any_corrections, read as corrections};
pub use files::LoadedFile;
pub(crate) use files::content;
pub(crate) use job::lock;
pub use job::{Check, Job, Loaded};
pub use store::{Indexes, MaxRejects, Options, Warnings};
pub use unload::Unloaded;
