//! Words of a guard's flags and keys, of which there are a few.

use anyhow::{Result, anyhow, bail};
use clap::builder::{PossibleValuesParser, TypedValueParser};
use evenkeel_guard::proxy::{BackendMode, TenantBy, TlsMode};

/// A flag that takes one of these words, which `read` knows.
pub(super) fn flag<T: Clone + Send + Sync + 'static, const N: usize>(
    known: [&'static str; N],
    read: fn(&str) -> Result<T>,
) -> impl TypedValueParser<Value = T> {
    PossibleValuesParser::new(known).try_map(move |word| read(&word))
}

/// Reads by what clients share the gate.
pub(super) fn tenants(text: &str) -> Result<TenantBy> {
    match text {
        "user" => Ok(TenantBy::User),
        "database" => Ok(TenantBy::Database),
        other => bail!("is {other:?}, and must be \"user\" or \"database\""),
    }
}

/// Reads a mode of TLS in the clients' own words.
pub(super) fn client_mode(text: &str) -> Result<TlsMode> {
    match text {
        "required" => Ok(TlsMode::Required),
        "preferred" => Ok(TlsMode::Preferred),
        "disabled" => Ok(TlsMode::Disabled),
        other => bail!("is {other:?}, and must be \"required\", \"preferred\" or \"disabled\""),
    }
}

/// Reads a mode of TLS towards the server, in the words of clients and of the lab.
pub(super) fn backend_mode(text: &str) -> Result<BackendMode> {
    let found = BackendMode::NAMES.iter().find(|(name, _)| *name == text);
    let names = || BackendMode::NAMES.map(|(name, _)| format!("{name:?}")).join(", ");
    found.map(|(_, mode)| *mode).ok_or_else(|| anyhow!("is {text:?}, and must be one of {}", names()))
}
