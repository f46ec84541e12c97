//! Numbers as people read them, which studies write into their findings too; who saw a server, and who told the parts of response times; commands as one types them.

mod parts;
mod sensed;
mod typed;

pub use evenkeel_study::format::*;
pub use parts::parts;
pub use sensed::{generator, sensed};
pub use typed::{capital, command, distinct};
