//! Flags that mean nothing beside another one are refused, and never ignored.

use clap::Command;

/// A command, the flag or argument that decides what it does, and what alone means something beside it.
type Alone = (&'static [&'static str], &'static str, &'static [&'static str]);

const ALONE: [Alone; 7] = [
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
        &["servers", "populations", "pool", "via", "ebs", "items", "set", "cpus", "server_binary"],
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

fn conflict(of: Command, ids: &[&'static str], mode: &'static str) -> Command {
    ids.iter().fold(of, |of, id| of.mut_arg(id, |argument| argument.conflicts_with(mode)))
}

/// Changes the command of this path.
fn at(command: Command, path: &[&'static str], change: impl FnOnce(Command) -> Command) -> Command {
    match path {
        [] => change(command),
        [first, rest @ ..] => command.mut_subcommand(first, |below| at(below, rest, change)),
    }
}
