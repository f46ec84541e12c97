//! (to come)
/// why a target cannot be used
#[derive(Debug)]
pub struct TargetError;
