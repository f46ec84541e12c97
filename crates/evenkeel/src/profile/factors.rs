//! What changes between series of a profile besides the rate.

use crate::config::factor::{self, Factor, Layout, Pool};
use anyhow::Result;

/// What changes between series.
pub struct Factors {
    /// Sizes of the buffer pool; one `None` where that is no factor, as for the others.
    pub pools: Vec<Option<Pool>>,
    /// How the data came in.
    pub layouts: Vec<Option<Layout>>,
    /// Whether tables share a file.
    pub shared: Vec<Option<bool>>,
}

impl Factors {
    /// Reads all texts of `--factor`.
    pub fn read(texts: &[String]) -> Result<Self> {
        let (mut pools, mut layouts, mut shared) = (vec![None], vec![None], vec![None]);
        for text in texts {
            match factor::parse(text)? {
                Factor::BufferPool(levels) => pools = levels.into_iter().map(Some).collect(),
                Factor::Layout(levels) => layouts = levels.into_iter().map(Some).collect(),
                Factor::Shared(levels) => shared = levels.into_iter().map(Some).collect(),
            }
        }
        Ok(Self { pools, layouts, shared })
    }

    /// Smallest pool in percent of the tables.
    pub fn smallest_percent(&self) -> Option<f64> {
        let percents = self.pools.iter().filter_map(|pool| match pool {
            Some(Pool::Percent(percent)) => Some(*percent),
            _ => None,
        });
        percents.min_by(f64::total_cmp)
    }
}
