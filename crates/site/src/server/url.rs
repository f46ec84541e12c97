//! URLs of targets are read and printed.

use super::option_file::{ClientOptions, port_number};
use super::{Address, Target, TargetError, TlsMode};
use std::fmt::{self, Write as _};
use std::path::PathBuf;
use std::str::FromStr;

/// What may stand behind the `?`.
const PARAMETERS: [&str; 4] = ["tls", "ca", "socket", "defaults-file"];

/// Environment variable with the password, so that it is not in the process list.
const PASSWORD_VARIABLE: &str = "EVENKEEL_PASSWORD";

impl Target {
    /// Reads `mysql://user:password@host:port/database?tls=MODE&ca=FILE`, the same with `mariadb://`, or
    /// `mysql://user@/database?socket=PATH`. Parts are percent-decoded.
    ///
    /// What the URL leaves open comes from the [client] groups of `?defaults-file=FILE`, then the password
    /// from EVENKEEL_PASSWORD, then the defaults: localhost's 127.0.0.1, port 3306, the user's login name.
    pub fn parse(text: &str) -> Result<Self, TargetError> {
        Self::parse_with(text, &|name| std::env::var(name).ok().filter(|value| !value.is_empty()))
    }

    /// As [`Target::parse`], with the environment as an argument.
    fn parse_with(text: &str, environment: &dyn Fn(&str) -> Option<String>) -> Result<Self, TargetError> {
        let fail = |reason: String| TargetError::Url { url: without_password(text), reason };
        let parts = Parts::parse(text).map_err(fail)?;
        let file = match &parts.defaults_file {
            Some(path) => ClientOptions::read(path)?,
            None => ClientOptions::default(),
        };
        let user = parts.user.or(file.user).or_else(|| environment("USER"));
        let password = parts.password.or(file.password).or_else(|| environment(PASSWORD_VARIABLE));
        let address = match (parts.socket, parts.host) {
            (Some(_), Some(host)) => return Err(fail(format!("both host {host:?} and a socket"))),
            (Some(socket), None) => Address::Unix(socket),
            (None, None) if parts.port.is_none() && file.host.is_none() && file.socket.is_some() => {
                Address::Unix(file.socket.unwrap_or_default())
            }
            (None, host) => Address::Tcp {
                host: host.or(file.host).unwrap_or_else(|| "127.0.0.1".into()),
                port: parts.port.or(file.port).unwrap_or(3306),
            },
        };
        let user = user.ok_or_else(|| fail("no user".into()))?;
        Ok(Self { address, user, password, database: parts.database, tls: parts.tls, tls_ca: parts.tls_ca })
    }
}

impl FromStr for Target {
    type Err = TargetError;
    fn from_str(text: &str) -> Result<Self, TargetError> {
        Self::parse(text)
    }
}

#[derive(Default)]
struct Parts {
    user: Option<String>,
    password: Option<String>,
    host: Option<String>,
    port: Option<u16>,
    database: Option<String>,
    tls: TlsMode,
    tls_ca: Option<PathBuf>,
    socket: Option<PathBuf>,
    defaults_file: Option<PathBuf>,
}

impl Parts {
    fn parse(text: &str) -> Result<Self, String> {
        let (scheme, rest) = text.split_once("://").ok_or("no scheme: it must begin with mysql://")?;
        if !matches!(scheme, "mysql" | "mariadb") {
            return Err(format!("unknown scheme {scheme:?}: use mysql or mariadb"));
        }
        if rest.contains('#') {
            return Err("a '#' in a part must be written %23".into());
        }
        let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
        let (authority, database) = rest.split_once('/').unwrap_or((rest, ""));
        // Said before anything is quoted: what looks like a port could be half of a password.
        if !authority.contains('@') && text.contains('@') {
            return Err("a '/', '?' or '@' in user, password or a parameter must be percent-encoded".into());
        }
        if database.contains('/') {
            return Err(format!("database {database:?} contains '/': write it as %2F"));
        }
        let mut parts = Self { database: some(decode(database)?), ..Self::default() };
        let (login, place) = authority.rsplit_once('@').unwrap_or(("", authority));
        parts.read_login(login)?;
        parts.read_place(place)?;
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').ok_or(format!("parameter {pair:?} has no value"))?;
            parts.read_parameter(name, decode(value)?)?;
        }
        if parts.tls_ca.is_some() && parts.tls == TlsMode::Disabled {
            return Err("ca= without tls=: add tls=verify-identity or tls=required".into());
        }
        Ok(parts)
    }

    fn read_login(&mut self, login: &str) -> Result<(), String> {
        let (user, password) = match login.split_once(':') {
            Some((user, password)) => (user, Some(password)),
            None => (login, None),
        };
        self.user = some(decode(user)?);
        // An empty password is a password: it keeps the environment's from being used.
        self.password = password.map(decode).transpose()?;
        Ok(())
    }

    fn read_place(&mut self, place: &str) -> Result<(), String> {
        let (host, port) = match place.strip_prefix('[') {
            Some(v6) => {
                let (host, rest) = v6.split_once(']').ok_or("'[' without ']' in the host")?;
                match rest.strip_prefix(':') {
                    Some(port) => (host, port),
                    None if rest.is_empty() => (host, ""),
                    None => return Err(format!("{rest:?} after the host: want ':' and a port")),
                }
            }
            None => place.split_once(':').unwrap_or((place, "")),
        };
        if port.contains(':') {
            return Err("an IPv6 address needs brackets: [::1]".into());
        }
        self.host = some(decode(host)?);
        self.port = match port {
            "" => None,
            text => Some(port_number(text)?),
        };
        Ok(())
    }

    fn read_parameter(&mut self, name: &str, value: String) -> Result<(), String> {
        match name {
            "tls" => {
                self.tls = value.parse().map_err(|error| format!("tls: {error}"))?;
            }
            "ca" => self.tls_ca = Some(value.into()),
            "socket" => self.socket = Some(value.into()),
            "defaults-file" => self.defaults_file = Some(value.into()),
            _ => {
                return Err(format!("unknown parameter {name:?}: use tls, ca, socket or defaults-file"));
            }
        }
        Ok(())
    }
}

fn some(text: String) -> Option<String> {
    (!text.is_empty()).then_some(text)
}

fn decode(text: &str) -> Result<String, String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&byte, tail)) = rest.split_first() {
        rest = tail;
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let digits = tail.first_chunk::<2>().filter(|pair| pair.iter().all(u8::is_ascii_hexdigit));
        let digits = digits.ok_or("'%' without two hexadecimal digits; write it as %25")?;
        let value = digits.iter().fold(0, |sum, digit| sum * 16 + (*digit as char).to_digit(16).unwrap_or(0));
        bytes.push(value as u8);
        rest = &tail[2..];
    }
    String::from_utf8(bytes).map_err(|_| "the decoded text is not UTF-8".into())
}

fn encode(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            out.push(byte as char);
        } else {
            let _ = write!(out, "%{byte:02X}");
        }
    }
    out
}

/// A path as a parameter: slashes are legal there and easier to read.
fn encode_path(path: &std::path::Path) -> String {
    encode(&path.to_string_lossy()).replace("%2F", "/")
}

/// A URL without its password: what stands between the first ':' of the login and its '@' is left out, and so is what a parameter
/// says that there is none of. A scheme may be missing.
///
/// Of a URL that can be read the login ends before the path; of any other one at the last '@', because nobody knows what
/// half of a password stands behind an earlier one.
pub fn without_password(text: &str) -> String {
    let start = text.find("://").map_or(0, |at| at + 3);
    let end = match Parts::parse(text) {
        Ok(_) => text[start..].find(['/', '?']).map_or(text.len(), |at| start + at),
        Err(_) => text.len(),
    };
    let at = text[..end].rfind('@').filter(|at| *at > start);
    let colon = at.and_then(|at| text[start..at].find(':'));
    match at.zip(colon) {
        Some((at, colon)) => without_strange_values(&format!("{}{}", &text[..start + colon], &text[at..])),
        None => without_strange_values(text),
    }
}

/// Of a parameter that nobody knows its name alone: it may be called `password`.
fn without_strange_values(text: &str) -> String {
    let Some((place, query)) = text.split_once('?') else { return text.into() };
    let shown = |pair: &str| match pair.split_once('=') {
        Some((name, _)) if !PARAMETERS.contains(&name) => format!("{name}=..."),
        _ => pair.to_owned(),
    };
    format!("{place}?{}", query.split('&').map(shown).collect::<Vec<_>>().join("&"))
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "mysql://{}@", encode(&self.user))?;
        if matches!(self.address, Address::Tcp { .. }) {
            write!(f, "{}", self.address)?;
        }
        if self.database.is_some() || matches!(self.address, Address::Unix(_)) {
            write!(f, "/{}", encode(self.database.as_deref().unwrap_or_default()))?;
        }
        let mut parameters = Vec::new();
        if let Address::Unix(path) = &self.address {
            parameters.push(format!("socket={}", encode_path(path)));
        }
        if self.tls != TlsMode::Disabled {
            parameters.push(format!("tls={}", self.tls));
        }
        if let Some(path) = &self.tls_ca {
            parameters.push(format!("ca={}", encode_path(path)));
        }
        if !parameters.is_empty() {
            write!(f, "?{}", parameters.join("&"))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Target, TargetError> {
        Target::parse_with(text, &|name| (name == "USER").then(|| "login".into()))
    }

    #[test]
    fn every_part_of_a_url_is_read_and_percent_decoded() {
        let target =
            parse("mysql://a%40b:p%3Aq%2Fr@db.example:3307/shop%201?tls=required&ca=/etc/ca.pem").unwrap();
        assert_eq!(target.address, Address::Tcp { host: "db.example".into(), port: 3307 });
        assert_eq!(target.user, "a@b");
        assert_eq!(target.password.as_deref(), Some("p:q/r"));
        assert_eq!(target.database.as_deref(), Some("shop 1"));
        assert_eq!(target.tls, TlsMode::Required);
        assert_eq!(target.tls_ca, Some("/etc/ca.pem".into()));
    }

    #[test]
    fn a_printed_target_reads_as_itself_without_its_password() {
        for text in [
            "mysql://u@h:3306",
            "mysql://u@[::1]:3307/db?tls=verify-identity&ca=/a%20b/ca.pem",
            "mysql://a%40b@/db?socket=/run/x.sock",
            "mysql://u@/?socket=/run/x.sock",
        ] {
            let target = parse(text).unwrap();
            assert_eq!(target.to_string(), text);
            assert_eq!(parse(&target.to_string()).unwrap(), target);
        }
    }

    #[test]
    fn neither_display_nor_debug_nor_an_error_shows_the_password() {
        let target = parse("mariadb://u:s3cret@h/db").unwrap();
        assert!(!format!("{target} {target:?} {target:#?}").contains("s3cret"));
        for text in [
            "mysql://u:s3cret@h:0/db",
            "u:s3cret@h",
            "mysql://u:s3c@s3cret@h:x",
            "mysql://u:%s3cret@h",
            "mysql://u:s3c/ret@h",
            "mysql://u:s3c?ret@h",
            "mysql://u@h/d?password=s3cret",
            "mysql://u@h/d?tls=required&pass=s3cret",
        ] {
            let error = parse(text).unwrap_err();
            assert!(!format!("{error} {error:?}").contains("s3c"), "{error}");
        }
    }

    #[test]
    fn a_url_that_can_be_read_loses_its_password_and_nothing_else() {
        for (text, left) in [
            ("mysql://u:p@h/d?ca=/x@y&tls=required", "mysql://u@h/d?ca=/x@y&tls=required"),
            ("mysql://u@h:3306/d?tls=required&ca=/x@y", "mysql://u@h:3306/d?tls=required&ca=/x@y"),
            ("mysql://u:p@q@h/d", "mysql://u@h/d"),
            ("mysql://u@h", "mysql://u@h"),
            ("mysql://h:3306/d", "mysql://h:3306/d"),
        ] {
            assert_eq!(without_password(text), left);
        }
    }

    #[test]
    fn what_a_url_leaves_open_has_defaults() {
        let target = parse("mysql://").unwrap();
        assert_eq!(target.address, Address::Tcp { host: "127.0.0.1".into(), port: 3306 });
        assert_eq!((target.user.as_str(), target.password), ("login", None));
    }

    #[test]
    fn the_password_comes_from_the_environment_unless_the_url_has_one() {
        let environment = |_: &str| Some("env".to_owned());
        let password = |text| Target::parse_with(text, &environment).unwrap().password.unwrap();
        assert_eq!(password("mysql://u@h"), "env");
        assert_eq!(password("mysql://u:url@h"), "url");
        assert_eq!(password("mysql://u:@h"), "");
    }

    #[test]
    fn wrong_urls_say_what_is_wrong() {
        for (text, part) in [
            ("localhost", "no scheme"),
            ("postgres://h", "unknown scheme \"postgres\""),
            ("mysql://u@h:70000", "port \"70000\" is not between 1 and 65535"),
            ("mysql://u@h:0", "port \"0\""),
            ("mysql://u@::1/db", "needs brackets"),
            ("mysql://u@[::1/db", "without ']'"),
            ("mysql://u@[::1]x", "after the host"),
            ("mysql://u@h/a/b", "contains '/'"),
            ("mysql://u@h/db?tls=on", "tls: \"on\" is none of disabled, preferred"),
            ("mysql://u@h/db?tsl=required", "unknown parameter \"tsl\""),
            ("mysql://u@h/db?tls", "has no value"),
            ("mysql://u@h/db?ca=x", "ca= without tls="),
            ("mysql://u@h/100%", "'%' without two"),
            ("mysql://u@h/%+1", "'%' without two"),
            ("mysql://u@h/%ff", "not UTF-8"),
            ("mysql://u@h/a#b", "%23"),
            ("mysql://u@h/db?socket=/x", "both host"),
        ] {
            let error = parse(text).unwrap_err().to_string();
            assert!(error.contains(part), "{text}: {error}");
        }
    }
}
