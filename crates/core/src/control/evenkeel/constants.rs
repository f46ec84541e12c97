//! The figures that the controller reckons with, and why each is what it is.

/// Price of a transaction in flight: ln X must rise by this much for each factor of e by which the limit is higher.
pub const EPSILON: f64 = 0.02;
/// Most completions that a test takes: before any probe has failed, which doubles with every second one that fails, and ever.
pub const HORIZON: (f64, f64) = (200.0, 2_400.0);
/// From this limit on a drain takes long. While no limit was found too low, a much lower one that gives no less is taken.
pub const HIGH: u32 = 32;
/// Probability with which a test may take an equal limit for a better one: before any probe has failed, when a mistake is soon
/// undone, and the least, which it falls to as probes fail.
pub const ALPHA_BETTER: (f64, f64) = (0.2, 0.01);
/// Probability with which a test may take an equal limit for a worse one.
pub const ALPHA_WORSE: f64 = 0.02;
/// A limit whose throughput is lower by this logarithm, which is by a fifth, is far worse.
pub const FAR_WORSE: f64 = 0.25;
/// Seconds before and after a pause of the server that are no evidence either.
pub const PAUSE_S: f64 = 0.1;
/// When throughput falls within so many seconds after another limit came into use, the one that was left is tried first.
pub const SUSPECT_S: f64 = 3.0;
/// Throughput that has fallen by this logarithm, which is to 0.7, has collapsed.
pub const COLLAPSE: f64 = 0.357;
/// Seconds that the server is expected to take until it feels a change of the limit, before that was measured.
pub const LAG_S: f64 = 0.2;
/// Completions at the limit in use that are remembered.
pub const MEMORY: f64 = 4_000.0;
/// The latest of these, which say what the limit in use gives now.
pub const FRESH: f64 = 1_000.0;
/// Longest time between two tests of a near limit: in seconds and in completions, whichever takes longer.
pub const PATIENCE: (f64, f64) = (30.0, 10_000.0);
/// A change of throughput counts from this logarithm on, which is a tenth.
pub const CHANGE: f64 = 0.1;
