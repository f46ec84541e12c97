//! The guard's configuration.

mod changes;
mod distinct;
mod flags;

pub use changes::Changes;
pub use flags::Flags;

use super::control::{memory, named, with_memory};
use super::fields::{Fields, LIMIT_MAX, set};
use super::lines::at_key;
use crate::view::log::Form;
use anyhow::{Result, bail};
use evenkeel_core::Nanos;
use evenkeel_core::control::{Bounds, ControllerSettings, algorithm, evenkeel};
use evenkeel_guard::admission::Options;
use evenkeel_guard::control::Settings;
use evenkeel_guard::proxy::{Address, BackendMode, Identity, Plan, TenantBy, TlsMode};
use std::collections::BTreeMap;
use std::path::PathBuf;
use toml::Value;

/// A file with every key, its default and what it does.
pub const EXAMPLE: &str = include_str!("../../../../examples/guard.toml");

const TENANTS: [(&str, TenantBy); 2] = [("user", TenantBy::User), ("database", TenantBy::Database)];
/// In the clients' own words.
const CLIENT_MODES: [(&str, TlsMode); 3] =
    [("required", TlsMode::Required), ("preferred", TlsMode::Preferred), ("disabled", TlsMode::Disabled)];

/// Everything that a file or flags may set.
#[derive(Clone, Debug)]
pub struct GuardConfig {
    pub plan: Plan,
    pub weights: BTreeMap<String, u32>,
    pub controller: String,
    /// Span of the means of the throttling study's controller.
    pub reflection_span: Nanos,
    /// The limit before the controller has decided; the fixed controller keeps it.
    pub initial_limit: u32,
    /// No limit passes this.
    pub max_limit: u32,
    /// Memory that transactions may use: a cap on the limit.
    pub memory: Option<evenkeel::Memory>,
    pub tick: Nanos,
    /// Whether hardware counters are used on the CPUs of the server.
    pub counters: bool,
    /// Account for the server's status, as a URL.
    pub monitor: Option<String>,
    pub metrics: Option<String>,
    pub journal: Option<PathBuf>,
    pub log: Form,
    /// Time for transactions to end after SIGTERM.
    pub drain: Nanos,
}

impl GuardConfig {
    /// The defaults between two addresses.
    pub fn new(listen: Address, backend: Address) -> Self {
        Self {
            plan: Plan { threads: threads(), ..Plan::new(listen, backend) },
            weights: BTreeMap::new(),
            controller: algorithm::NAMES[algorithm::NAMES.len() - 1].to_owned(),
            reflection_span: Nanos::from_secs(60),
            initial_limit: 8,
            max_limit: 1_024,
            memory: None,
            tick: Nanos::from_millis(100),
            counters: false,
            monitor: None,
            metrics: None,
            journal: None,
            log: Form::Text,
            drain: Nanos::from_secs(10),
        }
    }

    fn take(&mut self, mut file: Fields) -> Result<()> {
        self.take_control(file.section("control")?)?;
        let plan = &mut self.plan;
        set(&mut plan.threads, file.optional("threads")?);
        set(&mut plan.administrators, file.optional("administrators")?);
        self.metrics = file.optional("metrics")?;
        set(&mut plan.login_max, file.time("login_max")?);
        plan.clients_max = file.optional("clients_max")?;
        set(&mut plan.silence_max, file.time("backend_silence")?);
        set(&mut plan.proxy_protocol, file.optional("proxy_protocol")?);
        set(&mut plan.refuse_host_accounts, file.optional("refuse_host_accounts")?);
        set(&mut self.log, file.one_of("log", &Form::NAMES)?);
        set(&mut self.drain, file.time("drain")?);
        self.weights = weights(file.optional("weights")?)?;

        let mut queue = file.section("queue")?;
        set(&mut plan.tenants, queue.one_of("by", &TENANTS)?);
        plan.options.queue_max = queue.optional("length")?;
        plan.options.wait_max = queue.time("wait")?;
        queue.finish()?;

        let mut idle = file.section("idle")?;
        set(&mut plan.lend_after, idle.time("lend_after")?);
        idle.finish()?;

        let mut clients = file.section("client_tls")?;
        set(&mut plan.client_tls.mode, clients.one_of("mode", &CLIENT_MODES)?);
        plan.client_tls.identity = identity(&mut clients)?;
        clients.finish()?;

        let mut backend = file.section("backend_tls")?;
        plan.backend_tls.mode = backend.one_of("mode", &BackendMode::NAMES)?;
        plan.backend_tls.authorities = backend.optional("authorities")?;
        backend.finish()?;
        file.finish()
    }

    fn take_control(&mut self, mut control: Fields) -> Result<()> {
        set(&mut self.controller, control.optional("controller")?);
        set(&mut self.reflection_span, control.time("reflection_span")?);
        set(&mut self.initial_limit, control.limit("initial_limit")?);
        set(&mut self.max_limit, control.limit("max_limit")?);
        set(&mut self.tick, control.time("tick")?);
        set(&mut self.plan.options.dry_run, control.optional("dry_run")?);
        set(&mut self.counters, control.optional("counters")?);
        self.memory = memory(&mut control)?;
        self.monitor = control.optional("monitor")?;
        self.journal = control.optional("journal")?;
        control.finish()
    }

    /// Ranges, and what no single key shows.
    fn check(&self) -> Result<()> {
        self.check_control()?;
        let (threads, most) = (self.plan.threads, evenkeel_guard::proxy::THREADS_MAX);
        if !(1..=most).contains(&threads) {
            let words = format!("`threads` must be between 1 and {most}, and is {threads}");
            return Err(at_key("guard", "threads", words));
        }
        self.plan.backend_tls.mode()?;
        self.check_clients()?;
        distinct::check(&self.plan.listen, &self.plan.backend)?;
        self.controller_settings().map(|_| ())
    }

    fn check_control(&self) -> Result<()> {
        let wrong = |key: &str, words: String| Err(at_key("control", key, words));
        let limits = [("initial_limit", self.initial_limit), ("max_limit", self.max_limit)];
        if let Some((key, limit)) = limits.iter().find(|(_, limit)| !(1..=LIMIT_MAX).contains(limit)) {
            return wrong(key, format!("`{key}` must be between 1 and {LIMIT_MAX}, and is {limit}"));
        }
        let [(key, initial), (most_key, most)] = limits;
        if initial > most {
            return wrong(key, format!("`{key}` {initial} is above `{most_key}` {most}"));
        }
        let (tick, span) = (self.tick, self.reflection_span);
        if !(Nanos::from_millis(20)..=Nanos::from_secs(1)).contains(&tick) {
            let words = format!("`tick` must be between 20ms and 1s, and is {} ms", tick.as_millis_f64());
            return wrong("tick", words);
        }
        if span < tick {
            let words =
                format!("`reflection_span` must be a tick or more, and is {} ms", span.as_millis_f64());
            return wrong("reflection_span", words);
        }
        Ok(())
    }

    fn check_clients(&self) -> Result<()> {
        let wrong = |key: &str, words: String| Err(at_key("guard", key, words));
        let times = [("login_max", self.plan.login_max), ("backend_silence", self.plan.silence_max)];
        if let Some((key, time)) = times.iter().find(|(_, time)| *time < Nanos::from_secs(1)) {
            return wrong(key, format!("`{key}` must be 1s or more, and is {} ms", time.as_millis_f64()));
        }
        if self.plan.clients_max == Some(0) {
            return wrong(
                "clients_max",
                "`clients_max` must be 1 or more: with 0 no client could connect".to_owned(),
            );
        }
        Ok(())
    }

    /// The controller that was chosen.
    ///
    /// # Errors
    /// An unknown name.
    pub fn controller_settings(&self) -> Result<ControllerSettings> {
        let bounds = Bounds { initial: self.initial_limit, range: (1, self.max_limit) };
        let settings = named(&self.controller, bounds)?;
        Ok(with_memory(settings.with_span(self.reflection_span.as_secs_f64()), self.memory))
    }

    pub fn settings(&self) -> Settings {
        let Self { tick, initial_limit, max_limit, .. } = *self;
        Settings { tick, initial_limit, max_limit, options: self.options() }
    }

    pub fn options(&self) -> Options {
        self.plan.options
    }
}

/// One thread up to four CPUs, then one for each four.
fn threads() -> usize {
    std::thread::available_parallelism().map_or(1, |cpus| cpus.get().div_ceil(4))
}

fn weights(value: Option<Value>) -> Result<BTreeMap<String, u32>> {
    let table = match value {
        None => return Ok(BTreeMap::new()),
        Some(Value::Table(table)) => table,
        Some(_) => bail!("`weights` must be a table of tenants and whole numbers"),
    };
    let weight = |(name, value): (String, Value)| match value.as_integer() {
        Some(weight @ 1..=1_000_000) => Ok((name, weight as u32)),
        _ => {
            let words = format!("`{name}` must be a whole number between 1 and 1000000");
            Err(at_key("weights", &name, words))
        }
    };
    table.into_iter().map(weight).collect()
}

fn identity(fields: &mut Fields) -> Result<Option<Identity>> {
    let files = (fields.optional::<String>("certificate")?, fields.optional::<String>("key")?);
    match (files, fields.optional("self_signed")?.unwrap_or(false)) {
        ((Some(certificate), Some(key)), false) => {
            Ok(Some(Identity::Files { certificate: certificate.into(), key: key.into() }))
        }
        ((None, None), true) => Ok(Some(Identity::SelfSigned)),
        ((None, None), false) => Ok(None),
        ((Some(_), None) | (None, Some(_)), _) => {
            bail!("{}: `certificate` and `key` belong together", fields.entry())
        }
        (_, true) => bail!("{}: `self_signed` and `certificate` exclude each other", fields.entry()),
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
        assert_eq!((full.plan.options.queue_max, full.plan.clients_max), (Some(10_000), Some(10_000)));
        for table in ["", "[control]\n", "[queue]\n", "[idle]\n", "[client_tls]\n", "[backend_tls]\n"] {
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
            ("[weights]\nshop = 0", ":4: weights: `shop` must be a whole number"),
            ("[queue]\nwait = 'long'", "`wait`"),
            ("[client_tls]\ncertificate = 'x'", "belong together"),
            ("[client_tls]\nself_signed = true\ncertificate = 'x'\nkey = 'y'", "exclude each other"),
            ("[client_tls]\nmode = 'verify-ca'", "\"required\", \"preferred\", \"disabled\""),
            ("[backend_tls]\nmode = 'on'", "\"verify-ca\", \"verify-identity\""),
            ("[backend_tls]\nmode = 'preferred'\nauthorities = 'x'", "hint: verify-identity"),
            ("[backend_tls]\nmode = 'verify-ca'", "no authorities"),
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
        let plan = &file.plan;
        assert_eq!((file.drain, file.controller.as_str()), (Nanos::from_secs(3), "reflection"));
        assert_eq!(file.metrics.as_deref(), Some("x:9"));
        assert_eq!((plan.tenants, plan.options.queue_max, plan.threads), (TenantBy::Database, Some(7), 2));
        assert!(!plan.options.dry_run && plan.client_tls.mode == TlsMode::Disabled);
        assert_eq!(plan.administrators, ["root"]);
        // The addresses may be those of the command line alone.
        let flags = ["--listen=x:1", "--listen=x:2", "--backend=x:3", "--metrics=x:4", "--dry-run"];
        let both = read(text, &flags).unwrap();
        let plan = &both.plan;
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
