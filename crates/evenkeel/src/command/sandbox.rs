//! `evenkeel sandbox`: private servers.

use super::{Session, mode};
use crate::failure::WithHint;
use crate::format;
use crate::out;
use crate::progress::{ProgressEvent, View};
use crate::server::data;
use crate::server::place::{ServerArgs, spec, tell};
use anyhow::{Result, anyhow, bail};
use clap::Subcommand;
use evenkeel_lab::data::DataSpec;
use evenkeel_site::sandbox::{self, Data, Lifetime, Sandbox, SandboxError, SandboxInfo, SandboxSpec, State};
use evenkeel_site::server::Target;
use evenkeel_study::profile;
use std::io::{BufRead, IsTerminal};
use std::process::ExitCode;

/// Flags of `evenkeel sandbox`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  evenkeel sandbox up                                     a private server named `default`
  evenkeel sandbox up demo --ebs 10 --items 10000         with TPC-W data
  evenkeel sandbox up small --set innodb_buffer_pool_size=64M --at cpus=0,memory=1G
  evenkeel sandbox up slow --at disk-iops=300             at most 300 reads and 300 writes per second
  evenkeel sandbox up guest --at cpus=0,quota=50%,memory=400M,file-disk=2G,net=20M
                                                          like a guest of its own (root)
  evenkeel sandbox up twin --copy-of demo                 the same files; stop demo first
  evenkeel sandbox shell demo -- -e 'SHOW TABLES' tpcw
  evenkeel sandbox down demo

Exit codes: 0 done; 2 wrong use, or the server does not start; 130, 143 stopped by Ctrl-C, SIGTERM
before it was up: no server is left running.")]
pub struct Args {
    /// What to do
    #[command(subcommand)]
    pub action: Action,
}

/// What to do with a sandbox.
#[derive(Debug, Subcommand)]
pub enum Action {
    /// Start a private server and leave it running; one that already runs with these flags is kept. A stopped one keeps its data and
    /// port, and takes its settings and domain from this call
    Up {
        /// Name of the sandbox
        #[arg(default_value = "default")]
        name: String,
        /// What it is like
        #[command(flatten)]
        server: Box<ServerArgs>,
        /// Port on 127.0.0.1 [default: a free one]
        #[arg(long)]
        port: Option<u16>,
        /// Copy the files of another, stopped sandbox: the same pages in the same places
        #[arg(long, value_name = "NAME", conflicts_with = "ebs")]
        copy_of: Option<String>,
        /// Fill with TPC-W data of this NUM_EBS: 2,880 customers each
        #[arg(long, value_name = "N", help_heading = "Data", value_parser = clap::value_parser!(u32).range(1..=10_000))]
        ebs: Option<u32>,
        /// The rest of the data
        #[command(flatten)]
        rows: data::RowArgs,
    },
    /// Stop it; its data stays
    Down {
        /// Name of the sandbox
        #[arg(default_value = "default")]
        name: String,
    },
    /// List all sandboxes
    List {
        /// Print it as JSON
        #[arg(long)]
        json: bool,
    },
    /// Open the mariadb client on it
    Shell {
        /// Name of the sandbox
        #[arg(default_value = "default")]
        name: String,
        /// A database, and further arguments for the client after `--`
        #[arg(trailing_var_arg = true)]
        arguments: Vec<String>,
    },
    /// Print the server's log
    Logs {
        /// Name of the sandbox
        #[arg(default_value = "default")]
        name: String,
        /// Number of lines from the end
        #[arg(long, short = 'n', default_value_t = 50)]
        lines: usize,
    },
    /// Remove stopped sandboxes with their data
    Clean {
        /// Names [default: every stopped one]
        names: Vec<String>,
        /// Do not ask
        #[arg(long, short)]
        yes: bool,
    },
}

pub fn run(session: &Session, args: &Args) -> Result<ExitCode> {
    match &args.action {
        Action::Up { name, server, port, copy_of, ebs, rows } => {
            if let Some(other) = copy_of
                && sandbox::list(&session.home)?.iter().any(|info| info.name == *name)
            {
                return Err(anyhow!("sandbox {name:?} has data already, and --copy-of {other} would not change it"))
                    .hint(format!(
                        "choose another name, or remove it first: evenkeel sandbox down {name}, evenkeel sandbox clean {name}"
                    ));
            }
            for name in copy_of.iter().chain([name]) {
                if let Some((study, what)) = unrestored(session, name)? {
                    return Err(anyhow!(
                        "study {study} changed the data of sandbox {name:?} and has not restored them"
                    ))
                    .hint(what);
                }
            }
            if profile::is_restored(&session.home, name) {
                out::tell(&format!(
                    "warning: profiles restore the data of {name} before their runs, and what you change is lost; for data of your own \
                     start another sandbox\n"
                ));
            }
            let wanted = ebs.map(|ebs| data::wanted(ebs, rows, None)).transpose()?;
            let spec = SandboxSpec {
                port: *port,
                lifetime: Lifetime::Detached,
                data: copy_of.clone().map_or(Data::Empty, Data::CopyOf),
                ..spec(session, server, name.clone())?
            };
            up(session, &spec, wanted.as_ref())?;
        }
        Action::Down { name } => down(session, name)?,
        Action::List { json } => list(session, *json)?,
        Action::Shell { name, arguments } => {
            if let Some((study, what)) = unrestored(session, name)? {
                out::tell(&format!(
                    "warning: study {study} changed the data of sandbox {name:?} and has not restored them: {what}\n"
                ));
            }
            let arguments: Vec<_> = arguments.iter().filter(|word| *word != "--").map(Into::into).collect();
            // Returns only where the client could not take this process's place.
            return Err(sandbox::shell(&session.home, name, &arguments).into());
        }
        Action::Logs { name, lines } => {
            for line in sandbox::logs(&session.home, name, *lines)? {
                out::line(line)?;
            }
        }
        Action::Clean { names, yes } => {
            evenkeel_haul::drill::sweep(&session.home);
            clean(session, names, *yes)?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// The study that has not restored the data it changed, and what to do about it.
fn unrestored(session: &Session, name: &str) -> Result<Option<(String, String)>> {
    let found = profile::unrestored(&session.home, name)?;
    Ok(found.map(|(study, note)| {
        let what = format!(
            "if it was killed, `evenkeel runs {study}` shows the command that restores the data and continues it, and what you change \
             before that is lost; to keep the data as they are now, remove {}",
            note.display()
        );
        (study, what)
    }))
}

fn up(session: &Session, spec: &SandboxSpec, data: Option<&DataSpec>) -> Result<()> {
    let mut view = View::new(mode(session, false));
    let (running, is_new) = match sandbox::find_as(spec) {
        Ok(running) => {
            view.show(&ProgressEvent::Step { text: format!("{} runs already", spec.name) });
            (running, false)
        }
        Err(SandboxError::Unknown { .. } | SandboxError::NotRunning { .. }) => {
            (Sandbox::up(spec, &session.stop, &mut |event| tell(&mut view, &event))?, true)
        }
        Err(error) => return Err(error.into()),
    };
    let target = Target { database: Some(DataSpec::DATABASE.to_owned()), ..running.target() };
    let stamp = match data.map(|wanted| data::fill(session, &target, wanted, &mut view, true)).transpose() {
        Ok(stamp) => stamp,
        // Nobody asked for a server without the data.
        Err(error) if is_new => {
            return Err(match running.down(&mut |event| tell(&mut view, &event)) {
                Ok(()) => error,
                Err(left) => error.context(format!("the server may run still: {left}")),
            });
        }
        Err(error) => return Err(error),
    };
    drop(view);
    stamp.as_ref().map_or(Ok(()), data::print_stamp)?;
    let name = &spec.name;
    out::line(format!("{name} runs as process {}", running.pid()))?;
    let mut urls = [running.target(), running.tcp_target()].map(|target| target.to_string()).to_vec();
    urls.dedup();
    for url in urls {
        out::line(format!("  {url}"))?;
    }
    out::line(format!("  password: in {}", running.dir().join("sandbox.json").display()))?;
    let evenkeel = format::program();
    out::line(format!("use it as sandbox:{name}, for example: {evenkeel} profile sandbox:{name}/DATABASE"))?;
    out::line(format!("SQL:  {evenkeel} sandbox shell {name}\nstop: {evenkeel} sandbox down {name}"))?;
    Ok(())
}

fn down(session: &Session, name: &str) -> Result<()> {
    let mut view = View::new(mode(session, false));
    match sandbox::find(&session.home, name) {
        Err(SandboxError::NotRunning { .. }) => out::line(format!("{name} is stopped already"))?,
        found => found?.down(&mut |event| tell(&mut view, &event))?,
    }
    Ok(())
}

fn list(session: &Session, json: bool) -> Result<()> {
    let found = sandbox::list(&session.home)?;
    if json {
        let rows: Vec<_> = found.iter().map(as_json).collect();
        out::line(serde_json::to_string_pretty(&rows)?)?;
        return Ok(());
    }
    if found.is_empty() {
        out::line("No sandboxes yet; `evenkeel sandbox up` makes one.")?;
    }
    if !found.is_empty() {
        out::line(format!(
            "{:<28} {:<18} {:<20} {:>9}  {:<21} domain",
            "name", "state", "server", "data", "address"
        ))?;
    }
    for info in &found {
        let place = if matches!(info.state, State::Running { .. }) {
            format!("{}:{}", info.address, info.port)
        } else {
            String::new()
        };
        out::line(format!(
            "{:<28} {:<18} {:<20} {:>9}  {place:<21} {}",
            info.name,
            state(info),
            info.server,
            format::bytes(info.bytes),
            info.domain
        ))?;
    }
    Ok(())
}

fn state(info: &SandboxInfo) -> String {
    match &info.state {
        State::Running { pid } => format!("running ({pid})"),
        State::Stopped => "stopped".to_owned(),
        other => format!("{other:?}").to_lowercase(),
    }
}

fn as_json(info: &SandboxInfo) -> serde_json::Value {
    serde_json::json!({
        "name": info.name, "state": state(info), "server": info.server, "port": info.port,
        "socket": info.socket.display().to_string(), "settings": info.settings,
        "address": info.address.to_string(), "domain": info.domain.to_string(), "cpus": info.domain.cpus.as_ref().map(ToString::to_string),
        "memory_bytes": info.domain.memory, "disk_bytes": info.bytes, "detached": info.detached,
    })
}

fn clean(session: &Session, named: &[String], yes: bool) -> Result<()> {
    let all = sandbox::list(&session.home)?;
    for name in named {
        let unknown = || SandboxError::Unknown { name: name.clone(), home: session.home.clone() };
        let found = all.iter().find(|info| info.name == *name).ok_or_else(unknown)?;
        if let State::Running { pid } = found.state {
            return Err(match found.detached {
                true => SandboxError::AlreadyRunning { name: name.clone(), pid },
                false => SandboxError::Busy { name: name.clone() },
            }
            .into());
        }
    }
    let stopped = all.iter().filter(|info| info.state == State::Stopped).map(|info| info.name.clone());
    let names = if named.is_empty() { stopped.collect() } else { named.to_vec() };
    for name in &names {
        if let Some((study, _)) = profile::unrestored(&session.home, name)? {
            out::tell(&format!("warning: study {study} cannot continue without the data of {name}\n"));
        }
    }
    if !yes && !confirmed(&names)? {
        out::line("nothing removed")?;
        return Ok(());
    }
    for cleaned in sandbox::clean(&session.home, &names)? {
        out::line(format!("removed {} ({})", cleaned.name, format::bytes(cleaned.bytes)))?;
    }
    Ok(())
}

/// Data of hours of loading is not removed by a slip of the finger.
fn confirmed(names: &[String]) -> Result<bool> {
    if !std::io::stdin().is_terminal() {
        bail!("removing data needs a confirmation, and standard input is not a terminal; add --yes");
    }
    if names.is_empty() {
        return Ok(false);
    }
    out::tell(&format!("remove {} with all data? [y/N] ", names.join(", ")));
    let mut answer = String::new();
    std::io::stdin().lock().read_line(&mut answer)?;
    Ok(answer.trim().eq_ignore_ascii_case("y"))
}
