//! `evenkeel data`: the data of TPC-W and of DVD Store on any server.

use super::{Session, mode};
use crate::progress::View;
use crate::server::data::{DataArgs, ITEMS_DEFAULT, fill, print_stamp, set, spec};
use crate::server::place;
use anyhow::Result;
use clap::{Subcommand, ValueEnum};
use evenkeel_lab::data::dvdstore;
use evenkeel_lab::data::{self, DataSet};
use evenkeel_site::server::Target;
use std::process::ExitCode;

/// The data set that is filled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum SetName {
    /// TPC-W, the web shop; its size by --ebs and --items
    #[default]
    Tpcw,
    /// DVD Store 2; its size by --size
    Dvdstore,
}

/// Flags of `evenkeel data`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  evenkeel data fill sandbox:demo --ebs 10 --items 10000
  evenkeel data fill mysql://root@db1/tpcw --ebs 100 --via insert
  evenkeel data fill sandbox:demo --workload dvdstore --size small
      into the database `dvdstore` of the sandbox
  evenkeel data check mysql://root@db1/tpcw
  evenkeel data check sandbox:demo/dvdstore

Exit codes: 0 done; 2 wrong use, no server, or an error of the server; 130, 143 stopped by
Ctrl-C, SIGTERM: a data set that is half filled is marked as such, and --replace fills it again.")]
pub struct Args {
    /// What to do
    #[command(subcommand)]
    pub action: Action,
}

/// What to do with data.
#[derive(Debug, Subcommand)]
pub enum Action {
    /// Make the tables of a data set and fill them
    Fill {
        /// Server and database, as mysql://user@host/database or sandbox:NAME
        target: String,
        /// Workload whose data is filled in
        #[arg(long, short, value_enum, default_value_t = SetName::Tpcw)]
        workload: SetName,
        /// What data is filled in
        #[command(flatten)]
        data: DataArgs,
        /// Drop an existing data set first, complete or not
        #[arg(long)]
        replace: bool,
        /// Threads [default: one for each CPU, 8 at most]
        #[arg(long)]
        threads: Option<usize>,
    },
    /// Show which data set is there and whether it is complete
    Check {
        /// Server and database
        target: String,
    },
}

pub fn run(session: &Session, args: &Args) -> Result<ExitCode> {
    let mut view = View::new(mode(session, false));
    match &args.action {
        Action::Fill { target, workload, data, replace, threads } => {
            let name = match workload {
                SetName::Tpcw => "tpcw",
                SetName::Dvdstore => dvdstore::NAME,
            };
            let target = place::target(session, target, name)?;
            let set = set(name, data, data.rows.items.unwrap_or(ITEMS_DEFAULT))?;
            if *replace {
                remove(&target, set)?;
            }
            let wanted = spec(set, data.rows.data_seed, data.rows.via, *threads);
            let stamp = fill(session, &target, &wanted, &mut view, false)?;
            drop(view);
            print_stamp(&stamp)?;
        }
        Action::Check { target } => print_stamp(&data::verify(&place::target(session, target, "")?, None)?)?,
    }
    Ok(ExitCode::SUCCESS)
}

/// Drops a data set that is there; where there is none, there is nothing to drop.
fn remove(target: &Target, set: DataSet) -> Result<()> {
    let database = target.database.as_deref().unwrap_or(set.name());
    match data::remove(target, Some(database)) {
        Ok(()) | Err(data::DataError::Missing { .. }) => Ok(()),
        Err(error) => Err(error.into()),
    }
}
