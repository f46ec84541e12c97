//! Flags of `evenkeel replay`.

use evenkeel_lab::replay::play::Pace;
use std::path::PathBuf;

/// Flags of `evenkeel replay`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Each recorded session is replayed on its own connection, in its original order. Only reads are sent, unless --allow-writes is given. \
Compared are errors, rows, results (in any order), warnings and response times, by normalized statement (without its literals).

Examples:
  evenkeel guard --listen 127.0.0.1:3307 --backend 127.0.0.1:3306 --dry-run --capture monday
  evenkeel replay monday --check
  evenkeel replay monday mysql://app@db2/shop
  evenkeel replay monday mysql://app@db1/shop mysql://app@db2/shop --page upgrade.html
  evenkeel replay db1-slow.log mysql://app@db2/shop --clients 8 --pace flat
  evenkeel replay reports.sql mysql://app@db2/shop --mix orders.sql --clients 12 --pace flat
  evenkeel replay monday mysql://app@db2/shop --csv monday.csv --resume
  zcat general.log.gz | evenkeel replay - sandbox:copy/shop --allow-writes

Exit codes: 0 done, nothing found; 1 a result differs, a statement is slower, or nothing was sent; 2 wrong use, or no server; 130, 143 \
stopped by Ctrl-C, SIGTERM (what was sent until then counts).")]
pub struct Args {
    /// General log, slow log, capture of `evenkeel guard --capture` (file or folder), or SQL; - is standard input
    #[arg(value_name = "LOG")]
    pub log: PathBuf,
    /// The server to send it to; a second one is asked the same, and compared with the first
    #[arg(value_name = "URL", num_args = 1..=2, required_unless_present = "check")]
    pub targets: Vec<String>,
    /// Send nothing: say what the log has, and what it lacks
    #[arg(long, conflicts_with = "targets")]
    pub check: bool,
    /// A second log, sent at the same time; with --clients every other client sends it
    #[arg(long, value_name = "LOG", conflicts_with = "check")]
    pub mix: Option<PathBuf>,
    /// Run N clients, each sending the whole log over one connection (default: the recorded sessions)
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub clients: Option<u32>,
    /// 1x as recorded, 2x twice as fast, or flat: no waiting, each session sends its next command once the last one is answered
    #[arg(long, value_name = "PACE", default_value = "1x", value_parser = pace)]
    pub pace: Pace,
    /// Also send statements that change data or schema
    #[arg(long)]
    pub allow_writes: bool,
    /// With --clients: spread statements whose recorded results have 10,000 rows or more evenly through the log
    #[arg(long, requires = "clients")]
    pub spread: bool,
    /// Move dates in the text of statements by the days since the recording began, so that "yesterday" is yesterday again;
    /// parameters of prepared statements stay as they are
    #[arg(long)]
    pub shift_dates: bool,
    /// Keep the recorded order between sessions: a command waits until every command that had finished before it has finished again
    #[arg(long)]
    pub order: bool,
    /// Report a statement as slower only if it takes this much longer, percent
    #[arg(long, value_name = "PERCENT", default_value_t = 10.0, value_parser = tolerance)]
    pub tolerance: f64,
    /// @@hostname of a server whose data may be changed; --allow-writes needs it except for sandboxes; may be repeated
    #[arg(long, value_name = "NAME")]
    pub staging: Vec<String>,
    /// Write one CSV line per command to FILE
    #[arg(long, value_name = "FILE")]
    pub csv: Option<PathBuf>,
    /// Continue a replay that was stopped: what the file of --csv has is not sent again
    #[arg(long, requires = "csv", conflicts_with = "allow_writes")]
    pub resume: bool,
    /// Write an HTML page to FILE: response times, what differs, and the plans of the ten worst
    #[arg(long, value_name = "FILE")]
    pub page: Option<PathBuf>,
    /// Show all statements, not only the first 20
    #[arg(long)]
    pub wide: bool,
    /// Print the result as JSON
    #[arg(long)]
    pub json: bool,
}

fn pace(text: &str) -> Result<Pace, String> {
    if text == "flat" {
        return Ok(Pace::Flat);
    }
    let times = text.strip_suffix('x').and_then(|times| times.parse().ok());
    let times = times.filter(|times| (1e-3..=1e3).contains(times));
    times.map(Pace::Times).ok_or_else(|| "write 1x, 0.5x, 10x or flat".to_owned())
}

fn tolerance(text: &str) -> Result<f64, String> {
    let number = text.trim_end_matches('%').parse().ok().filter(|number| (0.0..=1000.0).contains(number));
    number.ok_or_else(|| "a number from 0 to 1000 is wanted".to_owned())
}
