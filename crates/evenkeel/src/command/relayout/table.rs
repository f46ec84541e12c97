//! A table, and what became of it.

use super::measured::Pages;
use evenkeel_site::relayout::{Done, Facts};
use serde::Serialize;

/// What is said of a table that has nothing to gain.
pub const WELL: &str = "good layout";

#[derive(Debug, Serialize)]
pub struct Table {
    #[serde(flatten)]
    pub facts: Facts,
    /// How its indexes lay before; none where pages cannot be read from here.
    pub before: Option<Vec<Pages>>,
    pub unread: Option<String>,
    pub after: Option<Vec<Pages>>,
    pub done: Option<Done>,
    pub took_s: Option<f64>,
    /// How long writers waited while its pages were read, before and after.
    pub pages_s: f64,
    pub left: Option<String>,
}
