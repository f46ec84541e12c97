//! The guard's configuration.

mod changes;
mod distinct;
mod flags;

pub use changes::Changes;
pub use flags::Flags;

use super::control::{Memory, named, with_memory};
use super::types::{At, FromToml, one_of};
use crate::view::log::Form;
use anyhow::{Error, Result, bail};
use evenkeel_core::Nanos;
use evenkeel_core::admission::Options;
use evenkeel_core::control::{Bounds, ControllerSettings, algorithm};
use evenkeel_core::gate::Rules;
use evenkeel_guard::control::Settings;
use evenkeel_guard::proxy::{self, Address, BackendMode, Identity, Plan, THREADS_MAX, TenantBy, TlsMode};
use evenkeel_site::server::{self, Target};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;
use toml::Value;

/// A file with every key, its default and what it does.
pub const EXAMPLE: &str = include_str!("../../../../examples/guard.toml");
/// Greatest limit that makes sense: as many as a server has connections.
const LIMIT_MAX: u32 = 100_000;
/// In the clients' own words.
const CLIENT_MODES: [(&str, TlsMode); 3] =
    [("required", TlsMode::Required), ("preferred", TlsMode::Preferred), ("disabled", TlsMode::Disabled)];
const TENANTS: [(&str, TenantBy); 2] = [("user", TenantBy::User), ("database", TenantBy::Database)];

types! {
    "a text": TenantBy = |value| Some(one_of(value.as_str()?, &TENANTS));
    "a text": Rules = |value| Some(value.as_str()?.parse().map_err(Error::from));
    "a text": TlsMode = |value| Some(one_of(value.as_str()?, &CLIENT_MODES));
    "a text": BackendMode = |value| Some(one_of(value.as_str()?, &BackendMode::NAMES));
}

keys! {
    /// Everything that a file or flags may set.
    GuardConfig in "" {
        listen: Vec<Address> = Vec::new(),
        /// The server; the path of a socket without a name, until somebody names one.
        backend: Address = nowhere(),
        threads: usize = threads(),
        administrators: Vec<String> = Vec::new(),
        lanes: Rules = Rules::default(),
        runaway_max: Option<Nanos> = None,
        metrics: Option<String> = None,
        login_max: Nanos = Nanos::from_secs(10),
        clients_max: Option<usize> = None,
        backend_silence: Nanos = Nanos::from_secs(15),
        proxy_protocol: bool = false,
        refuse_host_accounts: bool = false,
        log: Form = Form::Text,
        /// Time for transactions to end after SIGTERM.
        drain: Nanos = Nanos::from_secs(10),
        control: Control = Control::default(),
        queue: Queue = Queue::default(),
        weights: BTreeMap<String, u32> = BTreeMap::new(),
        client_tls: ClientTls = ClientTls::default(),
        backend_tls: BackendTls = BackendTls::default(),
    }

    Control in "" {
        controller: String = algorithm::NAMES[algorithm::NAMES.len() - 1].to_owned(),
        /// Span of the means of the throttling study's controller.
        reflection_span: Nanos = Nanos::from_secs(60),
        /// The limit before the controller has decided; the fixed controller keeps it.
        initial_limit: u32 = 8,
        /// No limit passes this.
        max_limit: u32 = 1_024,
        tick: Nanos = Nanos::from_millis(100),
        dry_run: bool = false,
        /// Whether hardware counters are used on the CPUs of the server.
        counters: bool = false,
        /// Memory that transactions may use: a cap on the limit.
        memory: Option<Memory> = None,
        /// Account for the server's status, as a URL.
        monitor: Option<String> = None,
        journal: Option<PathBuf> = None,
        /// Where the proven limit is kept across restarts.
        state: Option<PathBuf> = None,
    }

    Queue in "queue." {
        by: TenantBy = TenantBy::User,
        length: Option<usize> = None,
        wait: Option<Nanos> = None,
        /// Most transactions that do not use the server and have no place.
        aside_max: usize = Options::default().aside_max,
    }

    ClientTls in "client_tls." {
        mode: TlsMode = TlsMode::default(),
        certificate: Option<PathBuf> = None,
        key: Option<PathBuf> = None,
        self_signed: bool = false,
    }

    BackendTls in "backend_tls." {
        mode: Option<BackendMode> = None,
        authorities: Option<PathBuf> = None,
    }
}

impl GuardConfig {
    /// Ranges, and what no single key shows.
    fn check(&self) -> Result<()> {
        self.control.check()?;
        let at = |key| At { entry: "guard", key };
        at("threads").within(&self.threads, 1..=THREADS_MAX)?;
        for (key, time) in [("login_max", self.login_max), ("backend_silence", self.backend_silence)] {
            let words = format!("must be 1s or more, and is {} ms", time.as_millis_f64());
            at(key).ensure(time >= Nanos::from_secs(1), &words)?;
        }
        let words = "must be 1 or more: with 0 no client could connect";
        at("clients_max").ensure(self.clients_max != Some(0), words)?;
        for (key, weight) in &self.weights {
            At { entry: "weights", key }.within(weight, 1..=1_000_000)?;
        }
        let plan = self.plan()?;
        plan.backend_tls.mode()?;
        distinct::check(&plan.listen, &plan.backend)?;
        self.controller_settings().map(drop)
    }

    /// What the proxy is to do.
    pub fn plan(&self) -> Result<Plan> {
        let (mode, authorities) = (self.backend_tls.mode, self.backend_tls.authorities.clone());
        Ok(Plan {
            listen: self.listen.clone(),
            threads: self.threads,
            options: self.options(),
            tenants: self.queue.by,
            administrators: self.administrators.clone(),
            lanes: self.lanes.clone(),
            runaway_max: self.runaway_max,
            login_max: self.login_max,
            clients_max: self.clients_max,
            silence_max: self.backend_silence,
            proxy_protocol: self.proxy_protocol,
            refuse_host_accounts: self.refuse_host_accounts,
            client_tls: self.client_tls.read()?,
            backend_tls: proxy::BackendTls { mode, authorities },
            ..Plan::new(nowhere(), self.backend.clone())
        })
    }

    /// Whether clients can be led to the server of `new` without a restart: a socket has other logins than TCP, and a verified name is
    /// that of the certificate.
    pub fn can_lead_to(&self, new: &Self) -> bool {
        !self.backend.is_local()
            && !new.backend.is_local()
            && self.backend_tls.mode != Some(BackendMode::VerifyIdentity)
    }

    /// The account that asks the server how it is: the operator's, or one that need not exist: a refusal is an answer, and a connection
    /// without a login would count as an error of this host, which servers block after some.
    /// Errors: `monitor` is no URL.
    pub fn asking(&self) -> Result<Target> {
        match &self.control.monitor {
            Some(url) => Ok(Target::parse(url)?),
            None => Ok(Target {
                address: self.backend.clone(),
                user: "evenkeel_health".into(),
                password: None,
                database: None,
                tls: server::TlsMode::default(),
                tls_ca: None,
            }),
        }
    }

    /// The controller that was chosen.
    pub fn controller_settings(&self) -> Result<ControllerSettings> {
        self.controller_from(self.control.initial_limit)
    }

    /// The same, for a start at this limit.
    pub fn controller_from(&self, initial: u32) -> Result<ControllerSettings> {
        let Control { controller, max_limit, memory, reflection_span, .. } = &self.control;
        let settings = named(controller, Bounds { initial, range: (1, *max_limit) })?;
        Ok(with_memory(settings.with_span(reflection_span.as_secs_f64()), memory.as_ref()))
    }

    /// The file that keeps the proven limit. The fixed controller has none to find, and in a dry run none is proven.
    pub fn state(&self) -> Option<&Path> {
        let finds = self.control.controller != "fixed" && !self.control.dry_run;
        self.control.state.as_deref().filter(|_| finds)
    }

    pub fn settings(&self) -> Settings {
        let Control { tick, initial_limit, max_limit, .. } = self.control;
        Settings { tick, initial_limit, max_limit, options: self.options() }
    }

    pub fn options(&self) -> Options {
        let Queue { length, wait, aside_max, .. } = self.queue;
        let dry_run = self.control.dry_run;
        Options { queue_max: length, wait_max: wait, aside_max, dry_run, ..Options::default() }
    }
}

impl Control {
    fn check(&self) -> Result<()> {
        let at = |key| At { entry: "control", key };
        let (initial, most, span) = (self.initial_limit, self.max_limit, self.reflection_span);
        at("initial_limit").within(&initial, 1..=LIMIT_MAX)?;
        at("max_limit").within(&most, 1..=LIMIT_MAX)?;
        at("initial_limit").ensure(initial <= most, &format!("{initial} is above `max_limit` {most}"))?;
        at("tick").within(&self.tick.into(), Duration::from_millis(20)..=Duration::from_secs(1))?;
        let words = format!("must be a tick or more, and is {} ms", span.as_millis_f64());
        at("reflection_span").ensure(span >= self.tick, &words)
    }
}

impl ClientTls {
    fn read(&self) -> Result<proxy::ClientTls> {
        let identity = match (&self.certificate, &self.key, self.self_signed) {
            (Some(certificate), Some(key), false) => {
                Some(Identity::Files { certificate: certificate.clone(), key: key.clone() })
            }
            (None, None, true) => Some(Identity::SelfSigned),
            (None, None, false) => None,
            (Some(_), Some(_), true) => {
                bail!("client_tls: `self_signed` and `certificate` exclude each other")
            }
            _ => bail!("client_tls: `certificate` and `key` belong together"),
        };
        Ok(proxy::ClientTls { mode: self.mode, identity })
    }
}

fn nowhere() -> Address {
    Address::Unix(PathBuf::new())
}

/// One thread up to four CPUs, then one for each four.
fn threads() -> usize {
    std::thread::available_parallelism().map_or(1, |cpus| cpus.get().div_ceil(4))
}

/// Tenants and their weights.
impl FromToml for BTreeMap<String, u32> {
    const KIND: &'static str = "a table of tenants and whole numbers";
    fn from_toml(value: Value, at: At<'_>) -> Result<Self> {
        let Value::Table(table) = value else { return Err(at.must_be(Self::KIND, &value)) };
        let weight = |(key, value): (String, Value)| {
            let weight = u32::from_toml(value, At { entry: at.key, key: &key })?;
            Ok((key, weight))
        };
        table.into_iter().map(weight).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::fields::tests::{known, uncommented};

    const SHORT: &str = "listen = '127.0.0.1:3307'\nbackend = '127.0.0.1:3306'\n";

    /// The file, with these flags over it.
    fn read(text: &str, flags: &[&str]) -> Result<GuardConfig> {
        let (_folder, flags) = crate::config::fields::tests::flags::<Flags>(text, flags);
        flags.read()
    }

    #[test]
    fn the_example_shows_every_key_and_can_be_read_with_all_of_them() {
        assert_eq!(GuardConfig::parse(EXAMPLE).unwrap().weights.get("shop"), Some(&3));
        let all = uncommented(EXAMPLE);
        let full = GuardConfig::parse(&all).unwrap();
        assert_eq!((full.queue.length, full.clients_max), (Some(10_000), Some(10_000)));
        for table in ["", "[control]\n", "[queue]\n", "[client_tls]\n", "[backend_tls]\n"] {
            let error = GuardConfig::parse(&format!("{SHORT}{table}zzzzzzzz = 1")).unwrap_err();
            for key in known(&error) {
                let is_shown =
                    [format!("\n{key} = "), format!("\n[{key}]")].iter().any(|line| all.contains(line));
                assert!(is_shown, "{table}{key}");
            }
        }
    }

    #[test]
    fn what_is_wrong_is_named_with_its_line_and_the_name_that_its_key_has_in_the_file() {
        for (more, expected) in [
            (
                "[control]\n# as many\ncontroler = 'fixed'",
                ":5: control: unknown key `controler`, did you mean",
            ),
            ("[control]\ncontroller = 'fixd'", "`fixed`"),
            (
                "[control]\ninitial_limit = 0",
                ":4: control: `initial_limit` must be between 1 and 100000, and is 0",
            ),
            (
                "[control]\ninitial_limit = 9\nmax_limit = 3",
                ":4: control: `initial_limit` 9 is above `max_limit` 3",
            ),
            ("[control]\n\ntick = '1h'", ":5: control: `tick` must be between"),
            ("[control]\nreflection_span = '1ms'", "`reflection_span` must be a tick or more"),
            ("[weights]\nshop = 0", ":4: weights: `shop` must be between 1 and 1000000"),
            ("[queue]\nwait = 'long'", "`wait`"),
            ("[client_tls]\ncertificate = 'x'", "belong together"),
            ("[client_tls]\nself_signed = true\ncertificate = 'x'\nkey = 'y'", "exclude each other"),
            ("[client_tls]\nmode = 'verify-ca'", "\"required\", \"preferred\", \"disabled\""),
            ("[backend_tls]\nmode = 'on'", "\"verify-ca\", \"verify-identity\""),
            ("[backend_tls]\nmode = 'preferred'\nauthorities = 'x'", "hint: verify-identity"),
            ("[backend_tls]\nmode = 'verify-ca'", "no authorities"),
            ("lanes = 'user=a long, b'", ":3: guard: `lanes`: rule 2 is \"b\", and must be user=NAME"),
            ("clients_max = 0", ":3: guard: `clients_max` must be 1 or more"),
            ("backend_silence = '0s'", "`backend_silence` must be 1s or more"),
        ] {
            let error = read(&format!("{SHORT}{more}\n"), &[]).unwrap_err().to_string();
            assert!(error.contains(expected), "{more}: {error}");
        }
        for (text, expected) in [
            ("backend = 'x:1'", "no address for clients: give --listen, or `listen` in the file"),
            ("listen = 'x:1'", "no server: give --backend, or `backend` in the file"),
            ("listen = 'nowhere'\nbackend = 'x:1'", ":1: guard: `listen`: \"nowhere\""),
        ] {
            let error = read(text, &[]).unwrap_err().to_string();
            assert!(error.contains(expected), "{text}: {error}");
        }
    }

    #[test]
    fn a_flag_wins_over_the_file_and_what_no_flag_says_stays() {
        let text = "metrics = 'x:9'\ndrain = '3s'\nadministrators = ['root']\nthreads = 2\n\
                [control]\ncontroller = 'reflection'\n\
                [queue]\nby = 'database'\nlength = 7\nwait = '2s'\n[client_tls]\nmode = 'disabled'";
        let file = read(&format!("{SHORT}{text}"), &[]).unwrap();
        let plan = &file.plan().unwrap();
        assert_eq!((file.drain, file.control.controller.as_str()), (Nanos::from_secs(3), "reflection"));
        assert_eq!(file.metrics.as_deref(), Some("x:9"));
        assert_eq!((plan.tenants, plan.options.queue_max, plan.threads), (TenantBy::Database, Some(7), 2));
        assert!(!plan.options.dry_run && plan.client_tls.mode == TlsMode::Disabled);
        assert_eq!(plan.administrators, ["root"]);
        // The addresses may be those of the command line alone.
        let flags = ["--listen=x:1", "--listen=x:2", "--backend=x:3", "--metrics=x:4", "--dry-run"];
        let both = read(text, &flags).unwrap();
        let plan = &both.plan().unwrap();
        let listen: Vec<String> = plan.listen.iter().map(Address::to_string).collect();
        assert_eq!(
            (listen, plan.backend.to_string()),
            (vec!["x:1".to_owned(), "x:2".to_owned()], "x:3".to_owned())
        );
        assert_eq!(both.metrics.as_deref(), Some("x:4"));
        assert!(plan.options.dry_run);
        assert_eq!((plan.options.wait_max, both.drain), (Some(Nanos::from_secs(2)), Nanos::from_secs(3)));
    }
}
