//! `evenkeel data`: TPC-W data on any server.

use clap::{Subcommand, ValueEnum};

/// How rows come in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum ViaName {
    /// One row at a time with a commit every 1,000: the layout that users' own inserts give
    Insert,
    /// LOAD DATA, indexes afterwards
    #[default]
    Load,
    /// Dump what is there, drop it and load it again: the repair of a layout
    Dump,
}

/// What data the private server holds.
#[derive(Clone, Debug, clap::Args)]
#[command(next_help_heading = "Data")]
pub struct DataArgs {
    /// TPC-W NUM_EBS: 2,880 customers each
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub ebs: u32,
    /// TPC-W NUM_ITEMS [default: 10000, or more where the smallest buffer pool asks for it]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(100..=10_000_000))]
    pub items: Option<u32>,
    /// How rows come in
    #[arg(long, value_enum, default_value_t = ViaName::Load)]
    pub via: ViaName,
    /// Seed of the rows
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub data_seed: u64,
}

/// The same where data is asked for by naming its size.
#[derive(Clone, Debug, clap::Args)]
#[command(next_help_heading = "Data")]
pub struct OptionalDataArgs {
    /// Fill with TPC-W data of this NUM_EBS: 2,880 customers each
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub ebs: Option<u32>,
    /// TPC-W NUM_ITEMS
    #[arg(long, value_name = "N", default_value_t = 10_000, value_parser = clap::value_parser!(u32).range(100..=10_000_000))]
    pub items: u32,
    /// How rows come in
    #[arg(long, value_enum, default_value_t = ViaName::Load)]
    pub via: ViaName,
    /// Seed of the rows
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub data_seed: u64,
}

/// Flags of `evenkeel data`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  evenkeel data fill sandbox:demo --ebs 10 --items 10000
  evenkeel data fill mysql://root@db1/tpcw --ebs 100 --via insert
  evenkeel data check mysql://root@db1/tpcw
  evenkeel data reload mysql://root@db1/tpcw")]
pub struct Args {
    /// What to do
    #[command(subcommand)]
    pub action: Action,
}

/// What to do with data.
#[derive(Debug, Subcommand)]
pub enum Action {
    /// Make the TPC-W tables and fill them
    Fill {
        /// Server and database, as mysql://user@host/database or sandbox:NAME
        target: String,
        /// What data
        #[command(flatten)]
        data: DataArgs,
        /// Drop a set that is there, whole or half-finished
        #[arg(long)]
        replace: bool,
        /// Threads [default: one for each CPU, 8 at most]
        #[arg(long)]
        threads: Option<usize>,
    },
    /// Say what set is there and whether it is whole
    Check {
        /// Server and database
        target: String,
    },
    /// Dump, drop and load again what is there: repairs a grown storage layout
    Reload {
        /// Server and database
        target: String,
    },
}
