//! `evenkeel explain`: plans, classes and heavy hitters of a workload.

use super::{Session, place, servers};
use crate::out;
use crate::table;
use anyhow::Result;
use evenkeel_lab::explain::Effort;
use evenkeel_lab::study::statement_plans;
use evenkeel_lab::target::Control;
use evenkeel_lab::workload::catalog;
use std::process::ExitCode;

/// Flags of `evenkeel explain`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  evenkeel explain --list
  evenkeel explain sandbox:demo --workload tpcw.shopping
  evenkeel explain mysql://app@db1/shop --workload orders.toml --json")]
pub struct Args {
    /// Server, as mysql://user@host:port/database or sandbox:NAME
    #[arg(value_name = "URL", required_unless_present = "list")]
    pub target: Option<String>,
    /// Workload by name, or a TOML file
    #[arg(long, short, value_name = "NAME|FILE", default_value = "tpcw.shopping")]
    pub workload: String,
    /// Name the workloads that are built in
    #[arg(long)]
    pub list: bool,
    /// As JSON, with the whole plans
    #[arg(long)]
    pub json: bool,
}

/// Explains a workload on a server, or names the workloads.
pub fn run(session: &Session, args: &Args) -> Result<ExitCode> {
    let Some(text) = args.target.as_ref().filter(|_| !args.list) else {
        for entry in catalog() {
            out::line(format!("{:<28} {}", entry.name, entry.help))?;
        }
        return Ok(ExitCode::SUCCESS);
    };
    let target = place::target(session, text, &args.workload)?;
    let workload = servers::remote_workload(session, &args.workload, &target)?;
    let mut control = Control::connect(&target)?;
    let plans = statement_plans(&mut control, workload.as_ref(), &Effort::default(), &session.stop)?;
    if args.json {
        out::line(serde_json::to_string_pretty(&plans)?)?;
    } else {
        out::write(&table::plans(&plans, super::look()))?;
    }
    Ok(ExitCode::SUCCESS)
}
