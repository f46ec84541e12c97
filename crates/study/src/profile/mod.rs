//! A study: series of cells over arrival rates, each repeated, in blocks.
//!
//! `spec` says what is wanted; `run` walks through the whole: `prepare`, then `rates`, where `search` finds the
//! saturation, then blocks of `attempt`s at runs; `site` brings a server up cold; `measure` makes one run with its
//! observers (`observe`, `watch`); `apart` lends server and run to a study with an order of its own; `judge` raises doubts; `cells` and `summary` say
//! what follows. All of it is resumable: what stands in the folder is not measured again.

mod answer;
mod apart;
mod around;
mod attempt;
mod cells;
mod climb;
mod disk;
mod error;
mod event;
mod eyes;
mod figures;
mod held;
mod judge;
mod ledger;
mod length;
mod manifest;
mod measure;
mod observe;
mod order;
mod parts;
mod plan;
mod plans;
mod pool;
mod pooled;
mod preflight;
mod prepare;
mod rates;
mod run;
mod search;
mod sentence;
mod sequence;
mod server;
mod site;
mod spec;
mod stretch;
mod summary;
mod telling;
mod turns;
mod unanswered;
mod watch;

pub(crate) use answer::cpu_ms_per_request;
pub use answer::overload_throughputs;
pub(crate) use apart::{Asked, CPU_WAIT_MS, Server, tables};
pub use cells::{standing, stands};
pub use disk::READ_MS;
pub use error::StudyError;
pub use event::{RunPlace, StudyEvent};
pub use figures::{kinds, orders_per_minute, times};
pub(crate) use judge::REFUSALS;
pub use judge::load_caveats;
pub use ledger::written;
pub use measure::outlived;
pub(crate) use order::cell_of;
pub use order::is_same_rate;
pub use parts::price_over;
pub use plan::{new_plan, settings};
pub use plans::{plan_record, shapes};
pub use pool::POOL_BYTES_MIN;
pub use preflight::{announcement, prepared_statements};
pub use run::{finished, run};
pub use sequence::RUNS_FIRST;
pub use server::{COUNTERS_PER_REQUEST, server_measures};
pub use site::recover;
pub use spec::{Budget, PoolSize, Reset, SeriesSpec, ServerSpec, SiteSpec, StudySpec, writes};
pub use summary::{summarise, trust_limits};
pub use unanswered::Unanswered;

/// The study's name in plans and on the command line.
pub const NAME: &str = "profile";
