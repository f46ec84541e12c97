use crate::caveat::threshold::{OTHER_LOAD_MAX, STEAL_REPEATED};

/// Response times that differ by less than this share differ little.
pub const LITTLE: f64 = 0.05;
/// Of what response times differ by, a cause makes this share at least.
pub const SHARE_MIN: f64 = 0.25;
/// Statements that touch this share of rows more are answered in another way.
pub const ROWS_MIN: f64 = 0.1;
/// Points of the CPUs' time by which stolen time has to differ.
pub const STOLEN_MIN: f64 = STEAL_REPEATED;
/// Points of the CPUs' time by which that of neighbours has to.
pub const NEIGHBOURS_MIN: f64 = OTHER_LOAD_MAX;
/// Threads of a server that uses less of its CPUs than this, percent, wait for those of others and not for one another.
pub const OWN_MAX: f64 = 50.0;
