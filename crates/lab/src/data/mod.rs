//! Data sets: their rows, the ways into a server, and the stamp that says what is there.
pub mod tpcw;
