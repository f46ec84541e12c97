//! `evenkeel sandbox`: private servers.

use clap::Subcommand;
use std::path::PathBuf;

/// What a private server is like.
#[derive(Clone, Debug, Default, clap::Args)]
#[command(next_help_heading = "Private server")]
pub struct ServerArgs {
    /// Another mariadbd than the system's
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
}

/// Flags of `evenkeel sandbox`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  evenkeel sandbox up                                     a private server named `default`
  evenkeel sandbox up demo --ebs 10 --items 10000         with TPC-W data
  evenkeel sandbox up small --set innodb_buffer_pool_size=64M --cpus 0 --memory 1G
  evenkeel sandbox shell demo -- -e 'SHOW TABLES' tpcw
  evenkeel sandbox down demo")]
pub struct Args {
    /// What to do
    #[command(subcommand)]
    pub action: Action,
}

/// What to do with a sandbox.
#[derive(Debug, Subcommand)]
pub enum Action {
    /// Start a private server and leave it running
    Up {
        /// Name
        #[arg(default_value = "default")]
        name: String,
        /// What it is like
        #[command(flatten)]
        server: ServerArgs,
        /// Port on 127.0.0.1 [default: a free one]
        #[arg(long)]
        port: Option<u16>,
        /// Fill it with TPC-W data
        #[command(flatten)]
        data: super::data::OptionalDataArgs,
    },
    /// Stop it; its data stays
    Down {
        /// Name
        #[arg(default_value = "default")]
        name: String,
    },
    /// List sandboxes
    List {
        /// As JSON
        #[arg(long)]
        json: bool,
    },
    /// Open the mariadb client on it
    Shell {
        /// Name
        #[arg(default_value = "default")]
        name: String,
        /// Further arguments for the client, after `--`
        #[arg(last = true)]
        arguments: Vec<String>,
    },
    /// Print the server's log
    Logs {
        /// Name
        #[arg(default_value = "default")]
        name: String,
        /// Lines from the end
        #[arg(long, short = 'n', default_value_t = 50)]
        lines: usize,
    },
    /// Remove stopped sandboxes with their data
    Clean {
        /// Name [default: every stopped one]
        name: Option<String>,
        /// Do not ask
        #[arg(long, short)]
        yes: bool,
    },
}
