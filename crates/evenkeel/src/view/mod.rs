//! What the views of running things have in common: pages, logs, metrics, pictures on a terminal.

pub mod http;
pub mod live;
pub mod log;
pub mod metric;
