//! What the search says of the saturation.

use crate::store::format::ProbeRecord;

/// The saturation that the search found, per second; `None` where there was none.
pub(super) fn saturation(probes: &[ProbeRecord], series: usize) -> Option<f64> {
    let own = probes.iter().filter(|probe| probe.series == series);
    own.map(|probe| probe.throughput_per_s).filter(|found| *found > 0.0).reduce(f64::max)
}
