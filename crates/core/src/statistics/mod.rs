//! Statistics of measurements: means and intervals over runs, batches inside a run, percentiles and
//! ratios.
//!
//! Intervals are 95 % intervals by Student's t unless said otherwise. What one measurement cannot tell,
//! such as its own spread, is `None` and never zero.

mod blocks;
mod mean;
pub mod pooled;
mod ratio;
mod special;
mod spectrum;
mod student;

pub use blocks::{Compared, first_over_others, holm};
pub use mean::{BATCHES, BatchMeans, ErrorBar, Estimate, Sample};
pub use ratio::{Ratio, deviations_ratio, difference, fisher_quantile, paired_ratio, unpaired_ratio};
pub use special::{chi_square_quantile, chi_square_tail, normal_quantile, normal_tail, standard_error_bound};
pub(crate) use special::{halved, halved_to};
pub use spectrum::{Spectrum, SpectrumCounter};
pub use student::{student_quantile, student_tail};

/// Confidence of all intervals, unless a function says otherwise.
pub const CONFIDENCE: f64 = 0.95;
