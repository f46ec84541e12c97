//! Keys of configuration files that were called otherwise before. They are still taken.

use crate::old_names::Renamed;

/// Under `[control]` of a guard.
pub const CONTROL: [Renamed; 2] = [("limit", "initial_limit"), ("limit_max", "max_limit")];
/// Under `[window]` of a host that shares storage.
pub const WINDOW: [Renamed; 3] =
    [("controller", "law"), ("initial", "initial_window"), ("most", "max_window")];
/// At the top of a scenario.
pub const SCENARIO: [Renamed; 2] = [("start", "initial-limit"), ("limit-max", "max-limit")];
/// Under `[[expect]]` of a scenario.
pub const EXPECT: [Renamed; 2] = [("limit-min", "min-limit"), ("limit-max", "max-limit")];

/// All of them; a name of now has one old name, whatever the table.
pub fn all() -> impl Iterator<Item = Renamed> {
    [&CONTROL[..], &WINDOW, &SCENARIO, &EXPECT].into_iter().flatten().copied()
}

/// What a key was called before.
pub fn before(key: &str) -> impl Iterator<Item = &'static str> {
    all().filter(move |(_, new)| *new == key).map(|(old, _)| old)
}
