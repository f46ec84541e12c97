//! How a failure is told: what went wrong, while doing what, and what to do next.

use crate::study::goes_on;
use crate::{out, signals};
use evenkeel_bus::BusError;
use evenkeel_haul::HaulError;
use evenkeel_haul::dispatch::DispatchError;
use evenkeel_lab::data::DataError;
use evenkeel_lab::explain::ExplainError;
use evenkeel_lab::load::LoadError;
use evenkeel_os::tools::ToolError;
use evenkeel_sense::pages::PagesError;
use evenkeel_share::FuseError;
use evenkeel_share::backing::FileError;
use evenkeel_site::copy::CopyError;
use evenkeel_site::elsewhere::ElsewhereError;
use evenkeel_site::relayout::RelayoutError;
use evenkeel_site::sandbox::SandboxError;
use evenkeel_site::server::TargetError;
use evenkeel_study::profile::StudyError;
use evenkeel_study::published::PublishedError;
use evenkeel_study::store::StoreError;
use std::borrow::Cow;
use std::fmt;
use std::io;
use std::process::ExitCode;

/// Exit code of a finding: the command did what it was asked, and the answer is a bad one.
pub const FINDING: u8 = 1;
/// Wrong use or configuration.
pub const WRONG_USE: u8 = 2;
/// No figure stands: a profile without any bound, or a single run whose generator failed.
pub const NOT_VALID: u8 = 3;

/// Commands whose hints need the same home.
const OF_HOME: [&str; 8] = ["profile", "sandbox", "runs", "runs`", "report", "compare", "export", "size"];

/// Somebody asked to stop; with how far it had come.
#[derive(Debug)]
pub struct Stopped(pub String);

impl fmt::Display for Stopped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "stopped {}", self.0)
    }
}

impl std::error::Error for Stopped {}

/// What to do next; attached to an error as a context.
#[derive(Debug)]
pub struct Hint(pub String);

impl fmt::Display for Hint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Adds a hint to a result.
pub trait WithHint<T> {
    /// Attaches what to do next.
    fn hint(self, text: impl Into<String>) -> anyhow::Result<T>;
}

impl<T, E: Into<anyhow::Error>> WithHint<T> for Result<T, E> {
    fn hint(self, text: impl Into<String>) -> anyhow::Result<T> {
        self.map_err(|error| error.into().context(Hint(text.into())))
    }
}

/// Prints an error to the terminal's error stream. That somebody asked to stop is none.
pub fn report(error: &anyhow::Error) -> ExitCode {
    let Some(stopped) = stopped(error) else {
        out::tell(&render(error));
        return ExitCode::from(WRONG_USE);
    };
    out::tell(&format!("{stopped}\n"));
    signals::exit_code()
}

/// How far it had come when somebody asked to stop; `None` where something else went wrong.
fn stopped(error: &anyhow::Error) -> Option<String> {
    let is_stop = |cause: &(dyn std::error::Error + 'static)| {
        cause.is::<Stopped>()
            || matches!(cause.downcast_ref(), Some(TargetError::Stopped))
            || cause.downcast_ref().is_some_and(DataError::is_stop)
            || cause.downcast_ref().is_some_and(ExplainError::is_stop)
            || cause.downcast_ref().is_some_and(StudyError::is_stop)
            || cause.downcast_ref().is_some_and(HaulError::is_stop)
            || cause.downcast_ref().is_some_and(PagesError::is_stop)
            || cause.downcast_ref().is_some_and(RelayoutError::is_stop)
            || cause.downcast_ref().is_some_and(DispatchError::is_stop)
            || matches!(cause.downcast_ref(), Some(SandboxError::Stopped { .. }))
    };
    error.chain().find(|cause| is_stop(*cause)).map(ToString::to_string)
}

/// `error:` the cause, `while:` what was going on, `hint:` the way out.
fn render(error: &anyhow::Error) -> String {
    let hint = hint(error);
    let mut told = told(error, hint.as_ref());
    let cause = told.pop().unwrap_or_else(|| "unknown".to_owned());
    // A server's own begin like that: "error 1142 (42000): ...".
    let mut text =
        if cause.starts_with("error ") { format!("{cause}\n") } else { format!("error: {cause}\n") };
    for context in told {
        text.push_str(&format!("  while: {context}\n"));
    }
    if let Some(hint) = hint {
        text.push_str(&format!("  hint: {hint}\n"));
        let is_home = |word: std::ffi::OsString| word.to_string_lossy().starts_with("--home");
        let mut commands = hint.split("evenkeel ").skip(1).filter_map(|command| command.split(' ').next());
        let needs_home = commands.any(|command| OF_HOME.contains(&command))
            || (hint.contains("--resume") && !hint.contains("--home"))
            || hint.contains("sandbox:");
        if needs_home && std::env::args_os().any(is_home) {
            text.push_str("  (with the same --home)\n");
        }
    }
    text
}

/// The same in one line, without the way out.
pub fn line(error: &anyhow::Error) -> String {
    told(error, hint(error).as_ref()).join(": ")
}

/// What an error and its causes say, the last cause at the end.
fn told(error: &anyhow::Error, hint: Option<&String>) -> Vec<String> {
    let mut told: Vec<String> = Vec::new();
    for text in error.chain().map(ToString::to_string).filter(|text| hint != Some(text)) {
        // A typed error often repeats its source at its end; the longer of the two says more.
        if !told.iter().any(|before| before.ends_with(text.as_str())) {
            told.push(text);
        }
    }
    told
}

/// The way out, where somebody has named one or the library knows it.
pub fn hint(error: &anyhow::Error) -> Option<String> {
    error.downcast_ref::<Hint>().map(ToString::to_string).or_else(|| known_hint(error))
}

/// What to do about a disk that is full, or an address that is taken.
fn of_system(error: &io::Error) -> Option<&'static str> {
    match error.kind() {
        io::ErrorKind::StorageFull => Some("free some space where it is written, or write it elsewhere"),
        io::ErrorKind::AddrInUse => Some("choose another address; `ss -lxtnp` shows who has this one"),
        _ => None,
    }
}

/// What the libraries' own errors know about the way out.
fn known_hint(error: &anyhow::Error) -> Option<String> {
    error.chain().find_map(|cause| {
        let plain = [
            cause.downcast_ref::<TargetError>().and_then(TargetError::hint),
            cause.downcast_ref::<DataError>().and_then(DataError::hint),
            cause.downcast_ref::<HaulError>().and_then(HaulError::hint),
            cause.downcast_ref::<CopyError>().and_then(CopyError::hint),
            cause.downcast_ref::<DispatchError>().and_then(DispatchError::hint),
            cause.downcast_ref::<LoadError>().and_then(LoadError::hint),
            cause.downcast_ref::<PublishedError>().and_then(PublishedError::hint),
            cause.downcast_ref::<FileError>().and_then(FileError::hint),
            cause.downcast_ref::<FuseError>().and_then(FuseError::hint),
            cause.downcast_ref::<ElsewhereError>().and_then(ElsewhereError::hint),
            cause.downcast_ref::<PagesError>().and_then(PagesError::hint),
            cause.downcast_ref::<RelayoutError>().and_then(RelayoutError::hint),
            cause.downcast_ref::<ToolError>().and_then(ToolError::hint),
            cause.downcast_ref::<io::Error>().and_then(of_system),
        ];
        let stored = cause.downcast_ref::<StoreError>();
        let named = [
            stored.and_then(|error| Some(goes_on::named_by_file(error.hint()?, error.path()).into())),
            cause.downcast_ref::<SandboxError>().and_then(SandboxError::hint),
            cause.downcast_ref::<StudyError>().and_then(StudyError::hint),
            cause.downcast_ref::<BusError>().and_then(BusError::hint),
        ];
        let plain = plain.into_iter().flatten().map(str::to_owned).next();
        plain.or_else(|| named.into_iter().flatten().map(Cow::into_owned).next())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use anyhow::{Context, anyhow};

    #[test]
    fn an_error_names_cause_moment_and_way_out() {
        let error = Err::<(), _>(anyhow!("connection refused"))
            .context("opening connection 17 of 64")
            .hint("start the server")
            .unwrap_err();
        assert_eq!(
            render(&error),
            "error: connection refused\n  while: opening connection 17 of 64\n  hint: start the server\n"
        );
    }

    #[test]
    fn a_stop_is_no_error_however_deep_it_was_noticed() {
        let told = |error: anyhow::Error| stopped(&error.context("in round 2"));
        assert_eq!(
            told(Stopped("after 3 of 9 plants".into()).into()).as_deref(),
            Some("stopped after 3 of 9 plants")
        );
        assert_eq!(told(DataError::Stopped.into()).as_deref(), Some("stopped"));
        assert_eq!(told(TargetError::Stopped.into()).as_deref(), Some("stopped"));
        assert_eq!(told(ExplainError::Target(TargetError::Stopped).into()).as_deref(), Some("stopped"));
        assert_eq!(told(StudyError::Target(TargetError::Stopped).into()).as_deref(), Some("stopped"));
        assert_eq!(
            told(SandboxError::Stopped { name: "a".into() }.into()).as_deref(),
            Some("stopped before sandbox \"a\" was up")
        );
        assert_eq!(told(anyhow!("no such file")), None);
    }

    #[test]
    fn a_source_that_is_told_already_is_not_told_twice() {
        let error = anyhow!("no such file").context("cannot read x: no such file");
        assert_eq!(render(&error), "error: cannot read x: no such file\n");
        assert_eq!(line(&error.context("measuring")), "measuring: cannot read x: no such file");
    }
}
