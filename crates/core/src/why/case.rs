use super::timed::Scale;
use super::verdict::{Facts, Gap, OWN_MAX, Seen, Unit, gap_of};
use crate::statistics::Sample;

/// Two targets that are compared, block by block.
pub(super) struct Case<'a> {
    pub units: Vec<Unit<'a>>,
    pub scale: Scale,
    pub facts: &'a Facts,
}

impl Case<'_> {
    pub(super) fn gap(&self, figure: impl Fn(&Seen) -> Option<f64>) -> Option<Gap> {
        gap_of(&self.units, self.scale.pairs, |run| figure(&run.seen))
    }

    /// The mean of a figure of the slow one; `None` if it is not known of any block.
    pub(super) fn of_slow(&self, figure: impl Fn(&Seen) -> Option<f64>) -> Option<f64> {
        let all = self.units.iter().filter_map(|unit| Some(unit.means(|run| figure(&run.seen))?.0));
        all.collect::<Sample>().mean()
    }

    pub(super) fn is_idle(&self) -> bool {
        self.of_slow(|seen| seen.theta_percent).is_some_and(|theta| theta < OWN_MAX)
    }
}

pub(super) fn capitalised(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}
