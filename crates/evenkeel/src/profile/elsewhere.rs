//! `--sense-with` and `--sense-from`: who sees a server that runs on another machine.

use super::flags::Args;
use crate::failure::WithHint;
use anyhow::{Result, anyhow};
use evenkeel_site::elsewhere::Elsewhere;

pub fn check(args: &Args) -> Result<()> {
    let (flag, given) = match (args.sense_with.len(), args.sense_from.len()) {
        (0, 0) => return Ok(()),
        (0, given) => ("--sense-from", given),
        (given, _) => ("--sense-with", given),
    };
    let is_private =
        args.targets.is_empty() || args.targets.iter().any(|target| target.starts_with("sandbox:"));
    if is_private {
        return Err(anyhow!("{flag} is for a server on another machine; a private one is seen from here"))
            .hint(format!("name your server as mysql://..., or leave {flag} out"));
    }
    if given != args.targets.len() {
        let urls = crate::format::counted(args.targets.len(), "URL");
        return Err(anyhow!("{flag} is given {given} times with {urls}"))
            .hint(format!("give {flag} once for each URL, in their order"));
    }
    Ok(())
}

/// Who sees each target, in their order; nobody where nobody is asked to.
pub fn of(args: &Args) -> Result<Vec<Elsewhere>> {
    check(args)?;
    let with = args.sense_with.iter().map(|command| Ok(Elsewhere::command(command)));
    let from = args.sense_from.iter().map(|url| Elsewhere::metrics(url));
    Ok(with.chain(from).collect::<Result<_, _>>()?)
}
