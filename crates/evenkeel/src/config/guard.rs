//! The guard's configuration: `examples/guard.toml` shows every key.

mod changes;
mod distinct;
mod flags;
mod old_flags;

pub use changes::Changes;
pub use flags::Flags;
pub use old_flags::OldFlags;

use super::fields::{Fields, load, set};
use super::old_keys;
use super::simulate::{fitted, memory, named, with_memory};
use crate::guard::decisions::LoggedDecisions;
use crate::view::log::Form;
use anyhow::{Result, anyhow, bail};
use evenkeel_core::Nanos;
use evenkeel_core::control::{Bounds, ControllerSettings, algorithm, evenkeel};
use evenkeel_guard::admission::Options;
use evenkeel_guard::control::Settings;
use evenkeel_guard::proxy::{Address, BackendMode, BackendTls, ClientTls, Identity, Plan, TenantBy, TlsMode};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use toml::{Table, Value};

/// Greatest limit that makes sense: as many as a server has connections.
const LIMIT_MAX: u64 = 100_000;

/// Everything that a file or flags may set.
#[derive(Clone, Debug)]
pub struct GuardConfig {
    /// What concerns sockets, the server and the gate.
    pub plan: Plan,
    /// Weights of tenants by name.
    pub weights: BTreeMap<String, u32>,
    /// Name of the controller.
    pub controller: String,
    /// Whether its parameters are those that the search found, not the published ones.
    pub fitted: bool,
    /// Span of the means of the throttling study's controller.
    pub reflection_span: Nanos,
    /// The limit before the controller has decided; the fixed controller keeps it.
    pub initial_limit: u32,
    /// No limit passes this.
    pub max_limit: u32,
    /// Memory that transactions may use: a cap on the limit.
    pub memory: Option<evenkeel::Memory>,
    /// Time from one tick to the next.
    pub tick: Nanos,
    /// Whether hardware counters are used on the CPUs of the server.
    pub counters: bool,
    /// Account for the server's status, as a URL.
    pub monitor: Option<String>,
    /// Where metrics are served.
    pub metrics: Option<String>,
    /// File for the journal.
    pub journal: Option<PathBuf>,
    /// Form of the log.
    pub log: Form,
    /// Which changes of the limit have a line of their own in the log.
    pub log_decisions: LoggedDecisions,
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
            fitted: false,
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
            log_decisions: LoggedDecisions::default(),
            drain: Nanos::from_secs(10),
        }
    }

    /// Reads a file.
    ///
    /// # Errors
    /// Names the file, the key and what to do.
    pub fn load(path: &Path) -> Result<Self> {
        load(path, Self::parse)
    }

    /// Reads the text of a file.
    ///
    /// # Errors
    /// As [`GuardConfig::load`].
    pub fn parse(text: &str) -> Result<Self> {
        let table: Table = text.parse()?;
        let mut fields = Fields::new("guard", table);
        let listen = addresses(&mut fields)?;
        let backend: String = fields.required("backend")?;
        let mut config = Self::new(listen[0].clone(), backend.parse()?);
        config.plan.listen = listen;
        config.top(&mut fields)?;
        config.control(fields.section("control")?)?;
        config.queue(fields.section("queue")?)?;
        config.idle(fields.section("idle")?)?;
        config.tls(fields.section("client_tls")?, fields.section("backend_tls")?)?;
        config.weights = weights(fields.optional("weights")?)?;
        fields.finish()?;
        config.check()?;
        Ok(config)
    }

    fn top(&mut self, fields: &mut Fields) -> Result<()> {
        set(&mut self.plan.threads, fields.optional::<u64>("threads")?.map(|threads| threads as usize));
        set(&mut self.plan.administrators, fields.optional("administrators")?);
        self.metrics = fields.optional("metrics")?;
        set(&mut self.drain, fields.time("drain")?);
        set(&mut self.plan.login_max, fields.time("login_max")?);
        self.plan.clients_max = fields.optional::<u64>("clients_max")?.map(|most| most as usize);
        set(&mut self.plan.silence_max, fields.time("backend_silence")?);
        set(&mut self.plan.proxy_protocol, fields.optional("proxy_protocol")?);
        set(&mut self.plan.refuse_host_accounts, fields.optional("refuse_host_accounts")?);
        match fields.optional::<String>("log")?.as_deref() {
            None => {}
            Some("text") => self.log = Form::Text,
            Some("json") => self.log = Form::Json,
            Some(other) => bail!("guard: `log` is {other:?}, and must be \"text\" or \"json\""),
        }
        match fields.optional::<String>("log_decisions")?.as_deref() {
            None => {}
            Some("decisive") => self.log_decisions = LoggedDecisions::Decisive,
            Some("all") => self.log_decisions = LoggedDecisions::All,
            Some(other) => {
                bail!("guard: `log_decisions` is {other:?}, and must be \"decisive\" or \"all\"")
            }
        }
        Ok(())
    }

    fn control(&mut self, mut fields: Fields) -> Result<()> {
        fields.take_old(&old_keys::CONTROL)?;
        set(&mut self.controller, fields.optional("controller")?);
        set(&mut self.fitted, fields.optional("fitted")?);
        set(&mut self.reflection_span, fields.time("reflection_span")?);
        set(&mut self.initial_limit, limit(&mut fields, "initial_limit")?);
        set(&mut self.max_limit, limit(&mut fields, "max_limit")?);
        set(&mut self.tick, fields.time("tick")?);
        set(&mut self.counters, fields.optional("counters")?);
        self.memory = memory(&mut fields)?;
        set(&mut self.plan.options.dry_run, fields.optional("dry_run")?);
        self.monitor = fields.optional("monitor")?;
        self.journal = fields.optional::<String>("journal")?.map(PathBuf::from);
        fields.finish()
    }

    fn queue(&mut self, mut fields: Fields) -> Result<()> {
        let options = &mut self.plan.options;
        options.queue_max = fields.optional::<u64>("length")?.map(|length| length as usize);
        options.wait_max = fields.time("wait")?;
        set(&mut options.named_max, fields.optional::<u64>("named_max")?.map(|most| most as usize));
        match fields.optional::<String>("by")?.as_deref() {
            None | Some("user") => {}
            Some("database") => self.plan.tenants = TenantBy::Database,
            Some(other) => bail!("queue: `by` is {other:?}, and must be \"user\" or \"database\""),
        }
        fields.finish()
    }

    fn idle(&mut self, mut fields: Fields) -> Result<()> {
        set(&mut self.plan.lend_after, fields.time("lend_after")?);
        let options = &mut self.plan.options;
        set(&mut options.lent_max, fields.optional::<u64>("lent_max")?.map(|most| most as usize));
        options.close_after = fields.time("close_after")?;
        fields.finish()
    }

    fn tls(&mut self, mut client: Fields, mut backend: Fields) -> Result<()> {
        let clients = mode(&mut client, tls_mode)?.unwrap_or_default();
        self.plan.client_tls = ClientTls { mode: clients, identity: identity(&mut client)? };
        let authorities = backend.optional::<String>("authorities")?.map(PathBuf::from);
        self.plan.backend_tls = BackendTls { mode: mode(&mut backend, backend_mode)?, authorities };
        client.finish()?;
        backend.finish()
    }

    /// Checks what no single key shows.
    ///
    /// # Errors
    /// Names the keys that contradict each other.
    pub fn check(&self) -> Result<()> {
        if self.initial_limit > self.max_limit {
            bail!("`initial_limit` {} is above `max_limit` {}", self.initial_limit, self.max_limit);
        }
        let range = Nanos::from_millis(20)..=Nanos::from_secs(1);
        if !range.contains(&self.tick) {
            bail!("`tick` must be between 20ms and 1s, and is {} ms", self.tick.as_millis_f64());
        }
        if self.reflection_span < self.tick {
            bail!(
                "`reflection_span` must be a tick or more, and is {} ms",
                self.reflection_span.as_millis_f64()
            );
        }
        if !(1..=evenkeel_guard::proxy::THREADS_MAX).contains(&self.plan.threads) {
            bail!(
                "`threads` must be between 1 and {}, and is {}",
                evenkeel_guard::proxy::THREADS_MAX,
                self.plan.threads
            );
        }
        self.plan.backend_tls.mode()?;
        self.check_clients()?;
        distinct::check(&self.plan.listen, &self.plan.backend)?;
        self.controller_settings().map(|_| ())
    }

    fn check_clients(&self) -> Result<()> {
        let times = [("login_max", self.plan.login_max), ("backend_silence", self.plan.silence_max)];
        if let Some((key, time)) = times.iter().find(|(_, time)| *time < Nanos::from_secs(1)) {
            bail!("`{key}` must be 1s or more, and is {} ms", time.as_millis_f64());
        }
        if self.plan.clients_max == Some(0) {
            bail!("`clients_max` must be 1 or more: with 0 nobody could connect");
        }
        Ok(())
    }

    /// The controller that was chosen.
    ///
    /// # Errors
    /// An unknown name, or one without fitted parameters where these are asked for.
    pub fn controller_settings(&self) -> Result<ControllerSettings> {
        let bounds = Bounds { initial: self.initial_limit, range: (1, self.max_limit) };
        let published = named(Some(&self.controller), bounds)?;
        let settings = if self.fitted { fitted(&self.controller)?.within(bounds) } else { published };
        Ok(with_memory(settings.with_span(self.reflection_span.as_secs_f64()), self.memory))
    }

    /// What the loop needs.
    pub fn settings(&self) -> Settings {
        let Self { tick, initial_limit, max_limit, .. } = *self;
        Settings { tick, initial_limit, max_limit, options: self.options() }
    }

    /// What the gate needs.
    pub fn options(&self) -> Options {
        self.plan.options
    }
}

/// One thread up to four CPUs, then one for each four.
fn threads() -> usize {
    std::thread::available_parallelism().map_or(1, |cpus| cpus.get().div_ceil(4))
}

fn limit(fields: &mut Fields, key: &'static str) -> Result<Option<u32>> {
    match fields.optional::<u64>(key)? {
        None => Ok(None),
        Some(value @ 1..=LIMIT_MAX) => Ok(Some(value as u32)),
        Some(value) => bail!("{}: `{key}` must be between 1 and {LIMIT_MAX}, and is {value}", fields.entry()),
    }
}

fn addresses(fields: &mut Fields) -> Result<Vec<Address>> {
    let texts = fields.texts("listen")?;
    if texts.is_empty() {
        bail!("guard: `listen` is missing; set it to an address or a list of them");
    }
    texts.iter().map(|text| Ok(text.parse::<Address>()?)).collect()
}

fn weights(value: Option<Value>) -> Result<BTreeMap<String, u32>> {
    let table = match value {
        None => return Ok(BTreeMap::new()),
        Some(Value::Table(table)) => table,
        Some(_) => bail!("`weights` must be a table of tenants and whole numbers"),
    };
    let weight = |(name, value): (String, Value)| match value.as_integer() {
        Some(weight @ 1..=1_000_000) => Ok((name, weight as u32)),
        _ => Err(anyhow!("weights: `{name}` must be a whole number between 1 and 1000000")),
    };
    table.into_iter().map(weight).collect()
}

fn mode<T>(fields: &mut Fields, read: fn(&str) -> Result<T>) -> Result<Option<T>> {
    let entry = fields.entry().to_owned();
    let text = fields.optional::<String>("mode")?;
    text.map(|text| read(&text).map_err(|error| anyhow!("{entry}: `mode` {error}"))).transpose()
}

/// Reads a mode of TLS in the clients' own words.
///
/// # Errors
/// The text is not one of these modes.
pub fn tls_mode(text: &str) -> Result<TlsMode> {
    match text {
        "required" => Ok(TlsMode::Required),
        "preferred" => Ok(TlsMode::Preferred),
        "disabled" => Ok(TlsMode::Disabled),
        other => bail!("is {other:?}, and must be \"required\", \"preferred\" or \"disabled\""),
    }
}

/// Reads a mode of TLS towards the server, in the words of clients and of the lab.
///
/// # Errors
/// The text is not one of these modes.
pub fn backend_mode(text: &str) -> Result<BackendMode> {
    let found = BackendMode::NAMES.iter().find(|(name, _)| *name == text);
    let names = || BackendMode::NAMES.map(|(name, _)| format!("{name:?}")).join(", ");
    found.map(|(_, mode)| *mode).ok_or_else(|| anyhow!("is {text:?}, and must be one of {}", names()))
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
mod tests;
