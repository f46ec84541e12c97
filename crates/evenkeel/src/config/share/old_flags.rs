//! Flags of a shared disk that were called otherwise before. They are still taken.

use super::LAWS;
use crate::old_names::either;

/// The law and its windows under their old names.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct OldFlags {
    /// Now called --law
    #[arg(long, hide = true, value_name = "NAME", value_parser = LAWS, conflicts_with = "law")]
    controller: Option<String>,
    /// Now called --initial-window
    #[arg(long, hide = true, value_name = "N", conflicts_with = "initial_window")]
    window: Option<f64>,
    /// Now called --max-window
    #[arg(long, hide = true, value_name = "N", conflicts_with = "max_window")]
    window_max: Option<f64>,
}

impl OldFlags {
    /// The name of the law, under whichever name of the flag it was given.
    pub fn law(&self, new: &Option<String>) -> Option<String> {
        either(("--law", new), ("--controller", &self.controller))
    }

    /// The initial window, under whichever name it was given.
    pub fn initial_window(&self, new: &Option<f64>) -> Option<f64> {
        either(("--initial-window", new), ("--window", &self.window))
    }

    /// The largest window, under whichever name it was given.
    pub fn max_window(&self, new: &Option<f64>) -> Option<f64> {
        either(("--max-window", new), ("--window-max", &self.window_max))
    }
}
