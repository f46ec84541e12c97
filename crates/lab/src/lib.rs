//! Makes load and records it. It never judges while measuring.
//!
//! `data` fills a server, `workload` says what is asked, `load` asks it at scheduled instants, `explain` reads plans.
#![forbid(unsafe_code)]

pub mod csv;
pub mod data;
pub mod explain;
pub mod load;
pub mod replay;
pub mod workload;
