//! The audit that ends a load.

use super::audit;
use super::told::Shown;
use crate::clock::Clock;
use crate::failure::WithHint;
use anyhow::Result;
use evenkeel_haul::audit::Report;
use evenkeel_haul::load::{Check, Loaded};
use serde_json::{Value, json};
use std::sync::{Mutex, PoisonError};

/// What it found, and its price.
pub(super) struct Audited {
    reports: Vec<Report>,
    took_s: f64,
}

impl Audited {
    /// Audits.
    pub fn of(check: &Check<'_>, loaded: &Loaded, shown: Shown) -> Result<Self> {
        let (shown, clock) = (Mutex::new(shown), Clock::start());
        let found = check
            .run(loaded, &|progress| shown.lock().unwrap_or_else(PoisonError::into_inner).tell(progress));
        let reports =
            found.hint("the load is done, and was not audited: evenkeel cdr audit does that by hand")?;
        Ok(Self { reports, took_s: clock.now().as_secs_f64() })
    }

    /// How much was found.
    pub fn total(&self) -> u64 {
        self.reports.iter().map(Report::total).sum()
    }

    /// In words: as `evenkeel cdr audit` says it, table by table.
    pub fn text(&self) -> String {
        let share = self.took_s / self.reports.len().max(1) as f64;
        self.reports.iter().map(|report| format!("audited: {}", audit::text(report, share))).collect()
    }

    /// The same for programs.
    pub fn json(&self) -> Result<Value> {
        Ok(
            json!({ "took_s": self.took_s, "found": self.total(), "tables": serde_json::to_value(&self.reports)? }),
        )
    }
}
