//! Flags that mean nothing beside another one are refused, and never ignored.

use crate::config::{guard, share};
use clap::Command;
use clap::builder::StyledStr;
use clap::error::{ContextKind, ContextValue, Error, ErrorKind};

/// A command, the flag or argument that decides what it does, and what alone means something beside it.
type Alone = (&'static [&'static str], &'static str, &'static [&'static str]);

const ALONE: [Alone; 7] = [
    (&["profile"], "resume", &["output", "json", "repeats", "wide"]),
    (&["study"], "resume", &["output", "json", "repeats"]),
    (&["cdr", "load"], "print_table", &["layout", "table", "engine", "index", "when"]),
    (&["cdr", "audit"], "export", &["target", "tables", "json"]),
    (&["cdr", "generate"], "print_layout", &[]),
    (&["guard"], "print_config", &[]),
    (&["share", "disk"], "print_config", &[]),
];

/// What of a profile has no meaning for a server that is there already.
const PRIVATE: [&str; 10] =
    ["server_binary", "set", "at", "factor", "sandboxes", "ebs", "size", "items", "via", "data_seed"];

/// The line of a profile, as a study or a stored plan has it.
pub fn profile(command: Command) -> Command {
    at(command, &["profile"], |of| conflict(of, &PRIVATE, "targets"))
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
    command = profile(command);
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
    let is_of_a_study =
        error.get(ContextKind::Usage).is_some_and(|usage| usage.to_string().contains("evenkeel study"));
    let of_file =
        key(&error).map(|key| format!("`{key}` is a key of the file of --config (--print-config shows all)"));
    let tip = match error.kind() {
        ErrorKind::ArgumentConflict if names("--resume") => {
            "a study is continued with the flags it began with: leave the others out"
        }
        ErrorKind::ArgumentConflict if names("[URL]") => {
            "this flag shapes a private server: leave the URL out to profile one, or leave the flag out"
        }
        ErrorKind::UnknownArgument if is_of_a_study => {
            "settings of a study have no dashes: clients=4,16; `evenkeel study NAME --list` shows them"
        }
        ErrorKind::UnknownArgument if of_file.is_some() => of_file.as_deref().unwrap_or_default(),
        _ => return error,
    };
    error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![StyledStr::from(tip.to_owned())]));
    error
}

/// The key of a file that an unknown flag means: `--fuse`, or `--limit` of `initial_limit`.
fn key(error: &Error) -> Option<&'static str> {
    let usage = error.get(ContextKind::Usage)?.to_string();
    let files = [("guard [", guard::EXAMPLE), ("guard -", guard::EXAMPLE), ("share disk ", share::EXAMPLE)];
    let (_, example) = files.iter().find(|(of, _)| usage.contains(&format!("evenkeel {of}")))?;
    let flag = error.get(ContextKind::InvalidArg)?.to_string().trim_start_matches('-').replace('-', "_");
    let key = |line: &'static str| Some(line.trim_start_matches("#: ").split_once(" = ")?.0);
    let is_meant = |key: &&str| *key == flag || key.ends_with(&format!("_{flag}"));
    example.lines().filter_map(key).find(is_meant)
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

/// A command, and the flags that its `-h` shows beside its arguments.
const SHOWN: [(&[&str], &[&str]); 8] = [
    (
        &["profile"],
        &[
            "workload",
            "rate",
            "within",
            "until",
            "duration",
            "objective",
            "allow-writes",
            "set",
            "name",
            "resume",
        ],
    ),
    (&["load"], &["workload", "rate", "clients", "duration", "max-sessions", "allow-writes", "seed", "json"]),
    (
        &["share", "knee"],
        &["backing", "direct", "block", "depth-max", "duration", "rounds", "costs", "overwrite", "json"],
    ),
    (&["sandbox", "up"], &["server-binary", "set", "at", "ebs", "items", "copy-of", "port"]),
    (
        &["cdr", "load"],
        &["layout", "table", "engine", "index", "indexes", "rejects", "warnings", "transaction", "json"],
    ),
    (&["cdr", "dispatch"], &["table", "by", "name", "batch", "max-days", "no-audit", "json"]),
    (&["cdr", "watch"], &["layout", "table", "by", "pattern", "keep", "done", "rejects", "once", "metrics"]),
    (&["cdr", "audit"], &["layout", "table", "rejects", "type", "export", "json"]),
];

/// Examples that `-h` shows.
const EXAMPLES: usize = 2;

/// The command line with short help for these.
pub fn short(mut command: Command) -> Command {
    for (path, flags) in SHOWN {
        command = at(command, path, |of| {
            let all = of.get_after_help().map(ToString::to_string).unwrap_or_default();
            let few = format!("{}All flags: --help", examples(&all));
            let of = of.after_help(few).after_long_help(all);
            of.mut_args(|argument| {
                let is_shown = argument.get_long().is_none_or(|name| flags.contains(&name));
                argument.hide_short_help(!is_shown)
            })
        });
    }
    command
}

/// Help whose paragraphs fill the terminal: the lines of the source would be wrapped once more there.
pub fn filled(command: Command) -> Command {
    let text = command.get_after_help().map(ToString::to_string);
    let command = match text {
        Some(text) => command.after_help(joined(&text)),
        None => command,
    };
    command.mut_subcommands(filled)
}

/// One line for each paragraph. A line that begins with a space stays one: examples and lists.
fn joined(text: &str) -> String {
    let (mut whole, mut is_open) = (String::new(), false);
    for line in text.lines() {
        let is_plain = !line.is_empty() && !line.starts_with(' ');
        if !whole.is_empty() {
            whole.push(if is_open && is_plain { ' ' } else { '\n' });
        }
        whole.push_str(line);
        is_open = is_plain;
    }
    whole
}

/// The first examples of a text that has them below `Examples:`, each on a line with its notes below.
fn examples(text: &str) -> String {
    let Some((_, below)) = text.split_once("Examples:\n") else { return String::new() };
    let of_one = |line: &&str| !line.trim().is_empty();
    let mut count = 0;
    let lines = below.lines().take_while(of_one).take_while(|line| {
        count += usize::from(line.trim_start().starts_with("evenkeel "));
        count <= EXAMPLES
    });
    lines.fold("Examples:\n".to_owned(), |text, line| text + line + "\n") + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::Cli;
    use clap::CommandFactory;

    fn at_path<'c>(command: &'c Command, path: &[&str]) -> &'c Command {
        path.iter().fold(command, |of, name| of.find_subcommand(name).unwrap())
    }

    #[test]
    fn short_help_names_flags_that_there_are_and_few_of_them() {
        let whole = Cli::<crate::cli::Command>::command();
        let mut whole = short(whole);
        whole.build();
        for (path, flags) in SHOWN {
            let of = at_path(&whole, path);
            let there: Vec<&str> = of.get_arguments().filter_map(|argument| argument.get_long()).collect();
            let strange: Vec<&&str> = flags.iter().filter(|flag| !there.contains(flag)).collect();
            assert!(strange.is_empty(), "{path:?}: {strange:?}");
            let help = of.clone().render_help().to_string();
            let shown = help.lines().filter(|line| line.trim_start().starts_with('-')).count();
            assert!(shown <= 15 && help.contains("--help"), "{path:?}: {shown} flags\n{help}");
            let long = of.clone().render_long_help().to_string();
            assert!(long.len() > help.len(), "{path:?}");
        }
    }
}
