//! `evenkeel relayout`: tables are built anew so that they lie in the order of their keys, measured before and after.

mod measured;
mod pace;
mod replicas;
mod shown;

use super::{Session, mode};
use crate::config::units;
use crate::failure::{FINDING, Hint, Stopped, WithHint, line};
use crate::out;
use crate::pages::data_of;
use crate::progress::{ProgressEvent, View};
use crate::server::place;
use anyhow::{Result, anyhow};
use evenkeel_os::clock::monotonic;
use evenkeel_site::relayout::{Facts, Relayout, RelayoutError, Told, tables};
use evenkeel_site::server::{Control, Target, quoted};
use measured::Seen;
use pace::Pace;
use replicas::Replicas;
use shown::{Table, WELL};
use std::path::PathBuf;
use std::process::ExitCode;

/// Flags of `evenkeel relayout`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Rebuilds InnoDB tables in the order of their keys by ALTER TABLE ... FORCE, without blocking writers if the server can. Foreign \
keys, triggers, generated columns and partitions stay. It first shows how each index is laid out and the estimated gain, and \
afterwards what was gained. Without --tables it takes the tables with an index of at least 64 leaves that is fragmented (less \
than 0.9 in order, or less than 0.8 full); --all takes the others too.

Pages are read if the server runs on this machine. Each table is held by FLUSH TABLES ... FOR EXPORT while its file is read, \
and writers wait for that (privileges RELOAD, SELECT, LOCK TABLES). For a remote server nothing is estimated, and tables must \
be named. A rebuild needs space for the table once more.

At its begin and end a rebuild waits for open transactions on the table, at most for --lock-wait, and new users wait behind it; \
a table that is held longer is refused. The smallest table is rebuilt first; the time for the others is estimated from it. Replicas \
rebuild a table after this server, and fall behind meanwhile: name them by --replica, and the next rebuild starts only when every \
replica is within --max-lag. A rebuild that has started cannot be paused. Ctrl-C or a kill leaves the table as it was, or rebuilt. The \
gain is shown in pages; measure response times with a profile.

Examples:
  evenkeel relayout sandbox:demo --dry-run
  evenkeel relayout mysql://root@db1/shop --tables item,author --replica mysql://root@db2

Exit codes: 0 done, or no table is fragmented; 1 a table was refused, or its pages cannot be read; 2 wrong use, a missing privilege, or an error of the server; \
130, 143 stopped by Ctrl-C, SIGTERM.")]
pub struct Args {
    /// Server and database, as mysql://user@host:port/database or sandbox:NAME[/DATABASE]
    #[arg(value_name = "URL")]
    pub target: String,
    /// Tables to rebuild, separated by commas
    #[arg(long, value_name = "TABLES", value_delimiter = ',')]
    pub tables: Vec<String>,
    /// Also tables that lie well
    #[arg(long)]
    pub all: bool,
    /// Longest wait for open transactions on a table
    #[arg(long, value_name = "TIME", default_value = "5s")]
    pub lock_wait: String,
    /// A replica to wait for before each table; may be given several times
    #[arg(long, value_name = "URL")]
    pub replica: Vec<String>,
    /// How far each replica may be behind when a table begins
    #[arg(long, value_name = "TIME", default_value = "10s", requires = "replica")]
    pub max_lag: String,
    /// Show what would be done and the estimated gain, but change nothing
    #[arg(long)]
    pub dry_run: bool,
    /// Print the result as JSON
    #[arg(long)]
    pub json: bool,
}

/// Where pages can be read, or why they cannot.
type Place = std::result::Result<PathBuf, String>;

pub fn run(session: &Session, args: &Args) -> Result<ExitCode> {
    let target = target(session, &args.target)?;
    let mut control = Control::connect_until(&target, &session.stop)?;
    let place = place_of(&mut control)?;
    let mut view = View::new(mode(session, args.json));
    let (mut all, mut is_refused, mut failed) = (Vec::new(), false, None);
    for facts in tables(&mut control, &args.tables)? {
        step(&mut view, &format!("reading the pages of {}", facts.table));
        let begin = monotonic();
        let seen = seen(session, &target, &place, &facts)?;
        if let (Err(why), true, false) = (&seen, args.tables.is_empty(), args.all)
            && let Some(privilege) = missing_privilege(why)
        {
            let user = control.query_value("SELECT CURRENT_USER()")?.unwrap_or_default();
            return Err(cannot_see(&facts.table, privilege, &target, &user));
        }
        let pages_s = if seen.is_ok() { (monotonic() - begin).as_secs_f64() } else { 0.0 };
        let left = left(args, &facts, &seen);
        is_refused |= left.as_deref().is_some_and(|why| why != WELL);
        all.push(Table::new(facts, seen, pages_s, left));
    }
    if let (Err(why), true, false) = (&place, args.tables.is_empty(), args.all) {
        return Err(anyhow!("the page layout of the tables cannot be read from here: {why}"))
            .hint("name them by --tables, take --all, or run it on the server's machine");
    }
    if !args.json {
        out::painted(&shown::before(&all, args.dry_run, super::look()))?;
    }
    if !args.dry_run {
        let lock_wait = units::positive(&args.lock_wait, "--lock-wait")?;
        let lock_wait_s = (lock_wait.as_secs_f64().ceil() as u32).max(1);
        let data = place.as_deref().ok();
        let work = Relayout { target: &target, lock_wait_s, data, stop: &session.stop };
        let mut replicas = Replicas::new(session, &args.replica, &args.max_lag)?;
        let mut queue: Vec<&mut Table> = all.iter_mut().filter(|table| table.left.is_none()).collect();
        queue.sort_by_key(|table| table.rebuilt_bytes());
        let mut pace = Pace::new(queue.iter().map(|table| table.rebuilt_bytes()).sum());
        for table in queue {
            let done = replicas
                .wait(&session.stop, &mut view)
                .and_then(|()| relayout(&work, table, &mut pace, &mut view));
            if let Err(error) = done {
                let Some(why) = refusal(&error) else {
                    // What was done before it is told all the same.
                    failed = Some(error);
                    break;
                };
                // What only the rebuild showed is no reason to leave the other tables as they are.
                (is_refused, table.left) = (true, Some(why));
            }
            if !args.json {
                out::painted(&shown::after(table, super::look()))?;
            }
        }
    }
    drop(view);
    if args.json {
        out::line(serde_json::to_string_pretty(&all)?)?;
    }
    if let Some(error) = failed {
        return Err(error);
    }
    Ok(if is_refused { ExitCode::from(FINDING) } else { ExitCode::SUCCESS })
}

fn target(session: &Session, text: &str) -> Result<Target> {
    let target = place::target(session, text, "")?;
    place::named_database(&target)?;
    Ok(target)
}

/// Where the server's files are.
fn place_of(control: &mut Control) -> Result<Place> {
    Ok(data_of(control)?
        .ok_or_else(|| "the server does not run on this machine, or its files may not be read".to_owned()))
}

/// How the indexes of a table lie, or why that cannot be seen.
fn seen(
    session: &Session,
    target: &Target,
    place: &Place,
    facts: &Facts,
) -> Result<std::result::Result<Seen, String>> {
    let data = match place {
        _ if facts.refusal().is_some() => return Ok(Ok(Seen::default())),
        Err(why) => return Ok(Err(why.clone())),
        Ok(data) => data,
    };
    match measured::seen(target, data, &facts.table, &session.stop) {
        Err(_) if session.stop.is_set() => Err(Stopped("before anything was changed".to_owned()).into()),
        seen => Ok(seen.map_err(|error| line(&error))),
    }
}

fn missing_privilege(why: &str) -> Option<&str> {
    why.split_once("error 1227 ")?.1.split_once("(at least one of) the ")?.1.split(" privilege").next()
}

fn cannot_see(table: &str, privilege: &str, target: &Target, user: &str) -> anyhow::Error {
    let (user, host) = user.rsplit_once('@').unwrap_or((user, "%"));
    let account = format!("{}@{}", quoted(user), quoted(host));
    let database = quoted(target.database.as_deref().unwrap_or_default());
    anyhow!("cannot read the page layout of {table}: the account lacks the privilege {privilege}").context(Hint(format!(
        "GRANT PROCESS, RELOAD ON *.* TO {account}; GRANT SELECT, LOCK TABLES ON {database}.* TO {account}; \
         or name tables by --tables, without an estimate"
    )))
}

/// Why a table is left as it is; `None` where it is not.
fn left(args: &Args, facts: &Facts, seen: &std::result::Result<Seen, String>) -> Option<String> {
    if let Some(error) = facts.refusal() {
        return Some(refused(&error));
    }
    let is_asked = args.all || !args.tables.is_empty();
    match seen {
        Ok(seen) if !is_asked && seen.lies_well() => Some(WELL.to_owned()),
        Err(why) if !is_asked => Some(format!("skipped, since its page layout cannot be read: {why}")),
        _ => None,
    }
}

fn refused(error: &RelayoutError) -> String {
    format!("refused: {error}; {}", error.hint().unwrap_or_default())
}

/// What is said of a table that was refused, where that is what ended its relayout.
fn refusal(error: &anyhow::Error) -> Option<String> {
    let of_one =
        |error: &&RelayoutError| matches!(error, RelayoutError::Refused { .. } | RelayoutError::Held { .. });
    error.downcast_ref().filter(of_one).map(refused)
}

fn relayout(work: &Relayout<'_>, table: &mut Table, pace: &mut Pace, view: &mut View) -> Result<()> {
    let begin = monotonic();
    let (name, bytes) = (table.facts.table.clone(), table.rebuilt_bytes());
    view.show(&ProgressEvent::Announced { text: pace.told(&name, bytes) });
    let done = work.run((&table.facts, bytes), &mut |told| match told {
        Told::Step(text) => step(view, text),
        Told::Progress(progress) => view.show(&pace.event(&name, bytes, progress)),
    })?;
    let took_s = (monotonic() - begin).as_secs_f64();
    (table.took_s, table.done) = (Some(took_s), Some(done));
    pace.add(bytes, took_s);
    step(view, &format!("reading the pages of {}", table.facts.table));
    let begin = monotonic();
    // It is done, whatever can be seen of it.
    let after = work
        .data
        .filter(|_| table.before.is_some())
        .and_then(|data| measured::seen(work.target, data, &table.facts.table, work.stop).ok());
    (table.after, table.room_after) = after.map(|seen| (seen.indexes, seen.room)).unzip();
    table.pages_s += (monotonic() - begin).as_secs_f64();
    Ok(())
}

fn step(view: &mut View, text: &str) {
    view.show(&ProgressEvent::Step { text: text.to_owned() });
}
