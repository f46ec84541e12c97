//! A private server as flags describe it, and what happens to it as a view shows it.

use crate::config::units;
use crate::console::Session;
use crate::progress::{ProgressEvent, View};
use anyhow::{Context, Result, bail};
use evenkeel_site::sandbox::{DiskLimit, SandboxEvent, SandboxSpec};
use std::path::PathBuf;

/// What a private server is like.
#[derive(Clone, Debug, Default, clap::Args)]
#[command(next_help_heading = "Private server")]
pub struct ServerArgs {
    /// Path of another mariadbd or mysqld than the system's; it may be inside the root of another system
    #[arg(long, value_name = "PATH")]
    pub server_binary: Option<PathBuf>,
    /// A setting of the server, for example innodb_buffer_pool_size=64M
    #[arg(long, value_name = "NAME=VALUE")]
    pub set: Vec<String>,
    /// CPUs of the server [default in a profile: all but the last]
    #[arg(long, value_name = "LIST")]
    pub cpus: Option<String>,
    /// Memory limit of the server
    #[arg(long, value_name = "SIZE")]
    pub memory: Option<String>,
    /// Limit of its disk in I/Os per second, for reads and for writes each; tested first, and refused if it has no effect
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=10_000_000))]
    pub disk_iops: Option<u64>,
    /// Limit of its disk in bytes per second, for reads and for writes each, for example 20M
    #[arg(long, value_name = "SIZE")]
    pub disk_bandwidth: Option<String>,
}

/// A sandbox as the flags describe it.
pub fn spec(session: &Session, args: &ServerArgs, name: String) -> Result<SandboxSpec> {
    let mut spec = SandboxSpec::new(&session.home, name);
    spec.server_binary.clone_from(&args.server_binary);
    for setting in &args.set {
        let Some((name, value)) = setting.split_once('=') else {
            bail!("--set {setting:?} is not a setting; write it as innodb_buffer_pool_size=64M");
        };
        spec.settings.insert(name.trim().replace('-', "_"), value.trim().to_owned());
    }
    if let Some(text) = &args.cpus {
        spec.cpus = Some(units::machine_cpus(text, "--cpus")?);
    }
    spec.memory = args.memory.as_deref().map(units::bytes).transpose().context("reading --memory")?;
    spec.disk = disk(args)?;
    Ok(spec)
}

/// What its disk gives at most.
pub fn disk(args: &ServerArgs) -> Result<DiskLimit> {
    let bytes_per_s = args.disk_bandwidth.as_deref().map(units::disk_bandwidth).transpose();
    let bytes_per_s = bytes_per_s.context("reading --disk-bandwidth")?;
    let iops = args.disk_iops.map(|iops| units::disk_iops(&iops.to_string())).transpose();
    let iops = iops.context("reading --disk-iops")?;
    Ok(DiskLimit { iops, bytes_per_s })
}

/// Shows what happens to a sandbox.
pub fn tell(view: &mut View, event: &SandboxEvent) {
    let text = match event {
        SandboxEvent::Bootstrapping { server } => format!("making a data directory for {server}"),
        SandboxEvent::Starting { pid } => format!("starting the server (process {pid})"),
        SandboxEvent::Stopping { pid } => format!("stopping the server (process {pid})"),
        SandboxEvent::Note(text) => text.clone(),
        _ => return,
    };
    view.show(&ProgressEvent::Step { text });
}
