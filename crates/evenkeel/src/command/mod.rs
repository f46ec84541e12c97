//! The commands: flags and how each is done. None uses anything of another one: what several need stands in folders beside this one.

pub mod cdr;
pub mod compare;
pub mod data;
pub mod doctor;
pub mod drill;
pub mod explain;
pub mod export;
pub mod guard;
pub mod interfere;
pub mod layout;
pub mod load;
pub mod man;
pub mod profile;
pub mod relayout;
pub mod replay;
pub mod report;
pub mod runs;
pub mod sandbox;
pub mod sense;
pub mod share;
pub mod size;
pub mod study;
pub mod workload;

pub use crate::console::{Session, look, mode};
