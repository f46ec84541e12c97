//! Flags that mean nothing beside another one are refused, and never ignored.

use clap::Command;
use clap::builder::StyledStr;
use clap::error::{ContextKind, ContextValue, Error, ErrorKind};

/// A command, the flag or argument that decides what it does, and what alone means something beside it.
type Alone = (&'static [&'static str], &'static str, &'static [&'static str]);

const ALONE: [Alone; 8] = [
    (&["profile"], "resume", &["output", "json", "repeats", "wide"]),
    (&["study", "throttling"], "resume", &["out", "json"]),
    (&["study", "shares"], "resume", &["out", "json", "databases"]),
    (&["study", "variation"], "resume", &["out", "json"]),
    (&["study", "telecom"], "resume", &["out", "json"]),
    (&["cdr", "load"], "print_table", &["layout", "table", "engine", "index", "when"]),
    (&["cdr", "audit"], "export", &["target", "tables", "json"]),
    (&["cdr", "generate"], "print_layout", &[]),
];

/// What has no meaning for a server that is there already.
const PRIVATE: [(&[&str], &[&str]); 2] = [
    (
        &["profile"],
        &[
            "server_binary",
            "set",
            "cpus",
            "memory",
            "disk_iops",
            "disk_bandwidth",
            "factor",
            "sandboxes",
            "ebs",
            "size",
            "items",
            "via",
            "data_seed",
        ],
    ),
    (
        &["study", "variation"],
        &["servers", "pool", "via", "ebs", "items", "set", "cpus", "server_binary"],
    ),
];

/// The line of a profile, as a study or a stored plan has it.
pub fn profile(command: Command) -> Command {
    let (path, ids) = PRIVATE[0];
    at(command, path, |of| conflict(of, ids, "targets"))
}

/// The command line with these rules.
pub fn strict(mut command: Command) -> Command {
    for (path, mode, beside) in ALONE {
        command = at(command, path, |of| {
            let all: Vec<String> = of.get_arguments().map(|argument| argument.get_id().to_string()).collect();
            let others = all.iter().filter(|id| *id != mode && !beside.contains(&id.as_str()));
            others.fold(of.clone(), |of, id| of.mut_arg(id, |argument| argument.conflicts_with(mode)))
        });
    }
    for (path, ids) in PRIVATE {
        command = at(command, path, |of| conflict(of, ids, "targets"));
    }
    command = at(command, &["explain"], |of| conflict(of, &["target", "workload"], "list"));
    // Without --ebs there are no rows whose kind they could say.
    at(command, &["sandbox", "up"], |of| {
        ["items", "via", "data_seed"]
            .iter()
            .fold(of, |of, id| of.mut_arg(id, |argument| argument.requires("ebs")))
    })
}

/// The refusal of a flag beside a URL, with what to do.
pub fn explained(mut error: Error) -> Error {
    let names = |name: &str| {
        let kinds = [ContextKind::InvalidArg, ContextKind::PriorArg];
        kinds.iter().filter_map(|kind| error.get(*kind)).any(|value| value.to_string().contains(name))
    };
    let tip = match error.kind() {
        ErrorKind::ArgumentConflict if names("--resume") => {
            "a study is continued with the flags it began with: leave the others out"
        }
        ErrorKind::ArgumentConflict if names("[URL]") => {
            "this flag shapes a private server: leave the URL out to profile one, or leave the flag out"
        }
        _ => return error,
    };
    error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![StyledStr::from(tip)]));
    error
}

fn conflict(of: Command, ids: &[&'static str], mode: &'static str) -> Command {
    ids.iter().fold(of, |of, id| of.mut_arg(id, |argument| argument.conflicts_with(mode)))
}

/// Changes the command of this path.
pub fn at(command: Command, path: &[&'static str], change: impl FnOnce(Command) -> Command) -> Command {
    match path {
        [] => change(command),
        [first, rest @ ..] => command.mut_subcommand(first, |below| at(below, rest, change)),
    }
}
