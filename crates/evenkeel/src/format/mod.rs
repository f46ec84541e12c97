//! Numbers as people read them, which studies write into their findings too; and who saw a server.

mod sensed;

pub use evenkeel_study::format::*;
pub use sensed::sensed;
