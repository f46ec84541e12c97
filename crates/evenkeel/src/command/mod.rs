//! The commands: flags and how each is done.

pub mod cdr;
pub mod compare;
mod console;
mod cpus;
pub mod data;
pub mod doctor;
mod elsewhere;
pub mod explain;
pub mod export;
pub mod guard;
mod live;
pub mod load;
pub mod man;
pub mod place;
pub mod profile;
mod progress_events;
pub mod report;
mod resume;
pub mod runs;
pub mod sandbox;
pub mod sense;
pub mod servers;
mod session;
pub mod share;
pub mod simulate;
mod spec;
mod stored;
pub mod study;

pub use console::{console_size, look, look_at_errors, mode};
pub use session::Session;
