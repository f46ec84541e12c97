//! How far a prediction is off, with the choice of its model taken into account.

use super::basis::{Basis, Measured};
use super::curve::Kind;
use super::fit::fit;
use super::sizing::{LeftOut, Rival};

/// Each rate as it is told by the model that the other rates alone would have chosen, of those that tell it: whether one does follows from the others
/// too.
pub(super) fn chosen(rivals: &[Rival], points: &[Measured], basis: &Basis, degree: usize) -> Vec<LeftOut> {
    let told = |at: usize| {
        let mut others = points.to_vec();
        others.remove(at);
        let says_nothing = |rival: &Rival| !rival.left_out[at].told.is_some_and(|told| told.says());
        let best = rivals
            .iter()
            .map(|rival| (says_nothing(rival), squares(rival.kind, &others, basis, degree), rival))
            .min_by(|one, other| one.0.cmp(&other.0).then(one.1.total_cmp(&other.1)));
        best.map(|(_, _, rival)| rival.left_out[at])
    };
    (0..points.len()).filter_map(told).collect()
}

/// Sum of the squared errors of the logarithm over points that are left out one after the other; infinite where one could not be told.
fn squares(kind: Kind, points: &[Measured], basis: &Basis, degree: usize) -> f64 {
    let off = |at: usize| {
        let mut others = points.to_vec();
        let measured = others.remove(at);
        let told = fit(kind, &others, &basis.by(&others), degree).map(|curve| curve.at(measured.rate));
        let told = told.filter(|response| *response > 0.0 && response.is_finite());
        told.map_or(f64::INFINITY, |response| (response / measured.response).ln().powi(2))
    };
    (0..points.len()).map(off).sum()
}
