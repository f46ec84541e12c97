//! What `-h` shows of a command with many flags: those that most people use, and two examples. `--help` shows all.

use super::modes::at;
use clap::Command;

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
    (&["sandbox", "up"], &["server-binary", "set", "cpus", "memory", "ebs", "items", "copy-of", "port"]),
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
