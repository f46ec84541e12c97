//! `evenkeel guard`: as many transactions run as keep the server at its peak, by a proxy or by a plugin of the server.

mod account;
mod capture;
mod demo;
mod install;
mod run;
mod serve;
mod stage;

use super::Session;
use crate::config::guard::{EXAMPLE, Flags};
use crate::guard::inside;
use crate::guard::show::read;
use crate::guard::top::History;
use crate::out;
use crate::server::place;
use crate::view::live::{self, LiveFlags};
use anyhow::Result;
use evenkeel_site::server::{Control, Target};
use std::process::ExitCode;
use std::sync::{Mutex, PoisonError};

/// Flags of `evenkeel guard`.
#[derive(Debug, clap::Args)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "\
Examples:
  evenkeel guard demo
  evenkeel guard --listen 127.0.0.1:3307 --backend 127.0.0.1:3306 --metrics 127.0.0.1:9307
  evenkeel guard --print-config > guard.toml
  evenkeel guard --config guard.toml --check
  evenkeel guard --listen /run/evenkeel.sock --listen [::]:3307 --backend db1:3306 --config guard.toml
  evenkeel guard --listen 127.0.0.1:3307 --backend /run/mysqld/mysqld.sock --dry-run
  evenkeel guard top 127.0.0.1:9307
  evenkeel guard install mysql://root@db1

A guard needs --listen and --backend, here or in the file. All other settings are keys of the file: limits, queue, \
weights, TLS, log. A flag wins over the file. SIGHUP reads the file again.

SIGTERM or Ctrl-C lets transactions end and stops with exit code 0; a second one stops at once, with 143 (130).

Sessions that hold locks never queue. With named locks (GET_LOCK) this is limited to as many sessions of a user as \
the limit, at least 4 and at most 64. Compression is not offered. Accounts that \
authenticate by a socket's system user (unix_socket, auth_socket) are refused on a unix-socket backend.

--print-config prints every key with its default."
)]
pub struct Args {
    /// What to do instead of running a guard
    #[command(subcommand)]
    action: Option<Action>,
    /// Flags of a running guard
    #[command(flatten)]
    flags: Flags,
    /// What passes, written down
    #[command(flatten)]
    capture: capture::CaptureFlags,
}

#[derive(Debug, clap::Subcommand)]
enum Action {
    /// Show the effect in two minutes: a private server, a flash sale, without and with the guard
    Demo(stage::DemoArgs),
    /// Install the guard inside a server, as a plugin, or set its mode
    Install(install::InstallArgs),
    /// Watch a running guard: limit, queue, throughput, sensors, and why
    Top(TopArgs),
}

impl Args {
    /// Whether a guard is to run here, and not something about one.
    pub fn is_a_guard(&self) -> bool {
        self.action.is_none()
    }
}

/// Runs a guard, or looks at one.
/// Errors: wrong flags or files, taken ports, a guard that cannot be reached.
pub fn run(session: &Session, args: &Args) -> Result<ExitCode> {
    match &args.action {
        Some(Action::Demo(demo)) => demo::run(session, demo),
        Some(Action::Install(args)) => install::run(session, args),
        Some(Action::Top(args)) if inside::is_server(&args.address) => run_top_inside(session, args),
        Some(Action::Top(args)) => run_top(session, args),
        None if args.flags.print_config => {
            out::write(EXAMPLE)?;
            Ok(ExitCode::SUCCESS)
        }
        None => {
            let config = args.flags.read()?;
            if args.flags.check {
                out::line("the configuration is valid")?;
                return Ok(ExitCode::SUCCESS);
            }
            run::run(session, (&args.flags, &args.capture), config)
        }
    }
}

/// Flags of `evenkeel guard top`.
#[derive(Debug, clap::Args)]
pub struct TopArgs {
    /// Address at which the guard serves its metrics, or the server that has it inside, as mysql://user@host:port
    #[arg(value_name = "ADDRESS|URL", default_value = "127.0.0.1:9307")]
    address: String,
    /// How it is shown
    #[command(flatten)]
    live: LiveFlags,
}

/// Draws until q or Ctrl-C.
fn run_top(session: &Session, args: &TopArgs) -> Result<ExitCode> {
    let mut history = History::default();
    let address = args.address.clone();
    live::show(session, &args.live, &mut history, move || read(&address), History::push, History::draw)
}

/// The same of the guard inside a server.
fn run_top_inside(session: &Session, args: &TopArgs) -> Result<ExitCode> {
    let target = Target { database: None, ..place::target(session, &args.address, "")? };
    let control = Control::connect_until(&target, &session.stop)?;
    let mut history = inside::History::of(&control);
    let control = Mutex::new(control);
    let read = move || inside::Status::read(&mut control.lock().unwrap_or_else(PoisonError::into_inner));
    live::show(session, &args.live, &mut history, read, inside::History::push, inside::History::draw)
}
