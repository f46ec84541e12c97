//! Statistics of measurements: means and intervals over runs, batches inside a run, percentiles and
//! ratios.
//!
//! Intervals are 95 % intervals by Student's t unless said otherwise. What one measurement cannot tell,
//! such as its own spread, is `None` and never zero.

mod batch_means;
mod chi_square;
mod mean;
mod percentile;
pub mod pooled;
mod ratio;
mod special;
mod spectrum;
mod student;

pub use batch_means::{BATCHES, BatchMeans};
pub use chi_square::{chi_square_quantile, standard_error_bound};
pub use mean::{ErrorBar, Estimate, Sample};
pub use percentile::{merged, percentile};
pub use ratio::{Ratio, deviations_ratio, difference, fisher_quantile, paired_ratio, unpaired_ratio};
pub(crate) use special::halved;
pub use special::{chi_square_tail, normal_quantile, normal_tail};
pub use spectrum::{Spectrum, SpectrumCounter};
pub use student::{student_quantile, student_tail};

/// Confidence of all intervals, unless a function says otherwise.
pub const CONFIDENCE: f64 = 0.95;
