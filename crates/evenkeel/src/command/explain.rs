//! `evenkeel explain`: plans, classes and heavy hitters of a workload.

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
