//! Flags of a running guard, over its configuration file.

use super::old_flags::OldFlags;
use super::{GuardConfig, backend_mode, tls_mode};
use crate::config::fields::can_be_read_again;
use crate::config::units;
use crate::failure::WithHint;
use crate::guard::decisions::LoggedDecisions;
use crate::view::log::Form;
use anyhow::{Context, Result, anyhow};
use evenkeel_core::control::algorithm;
use evenkeel_guard::proxy::{Identity, TenantBy};
use std::path::PathBuf;

/// Flags that a file has as well; a flag wins.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct Flags {
    /// Configuration file; SIGHUP reads it again
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Where clients arrive: host:port or the path of a socket; can be given again
    #[arg(long, value_name = "ADDRESS")]
    listen: Vec<String>,
    /// The server: host:port or the path of its socket
    #[arg(long, value_name = "ADDRESS")]
    backend: Option<String>,
    /// End at once where the server cannot be reached at the start, instead of waiting for it
    #[arg(long)]
    pub require_backend: bool,
    /// Who decides about the limit [default: evenkeel]
    #[arg(long, value_name = "NAME", value_parser = algorithm::NAMES)]
    controller: Option<String>,
    /// With the parameters that `evenkeel simulate --search` found, instead of the published ones
    #[arg(long)]
    fitted: bool,
    /// Span of the means of the reflection controller, which decides sixty times in it [default: 60s, as published]
    #[arg(long, value_name = "TIME")]
    reflection_span: Option<String>,
    /// The limit to begin with; the fixed controller's for good [default: 8]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    initial_limit: Option<u32>,
    /// No limit passes this [default: 1024]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    max_limit: Option<u32>,
    /// What was called otherwise before
    #[command(flatten)]
    old: OldFlags,
    /// Say what would be done and hold nothing back
    #[arg(long)]
    dry_run: bool,
    /// Threads that carry sessions [default: one up to four CPUs]
    #[arg(long, value_name = "N")]
    threads: Option<usize>,
    /// Where to serve /metrics, /healthz and what `evenkeel guard top` reads, as 127.0.0.1:9307 [default: nowhere]
    #[arg(long, value_name = "ADDRESS")]
    metrics: Option<String>,
    /// File for a line of JSON with each tick, for `evenkeel guard replay`; at most 128 MB
    #[arg(long, value_name = "FILE")]
    journal: Option<PathBuf>,
    /// Account to ask the server's status with, for lock waits and warnings at the start, as mysql://user@host:port;
    /// its password from EVENKEEL_PASSWORD or ?defaults-file=FILE, as users may see this command line before it is hidden
    #[arg(long, value_name = "URL")]
    monitor: Option<String>,
    /// Count cycles and misses on the server's CPUs, which it has to itself
    #[arg(long)]
    counters: bool,
    /// Form of the log on stderr [default: text]
    #[arg(long, value_enum, value_name = "FORM")]
    log: Option<Form>,
    /// Which changes of the limit have a line of their own in the log; the others share one, every 10 s at most
    /// [default: decisive]
    #[arg(long, value_enum, value_name = "WHICH")]
    log_decisions: Option<LoggedDecisions>,
    /// Time for transactions to end after SIGTERM [default: 10s]
    #[arg(long, value_name = "TIME")]
    drain: Option<String>,
    /// By what clients share the limit [default: user]
    #[arg(long, value_name = "user|database", value_parser = ["user", "database"])]
    tenants: Option<String>,
    /// Most sessions that may wait; others are refused [default: no bound]
    #[arg(long, value_name = "N")]
    queue_max: Option<usize>,
    /// Longest wait; then a command is refused [default: no bound]
    #[arg(long, value_name = "TIME")]
    wait_max: Option<String>,
    /// A user whose commands never wait; may be given several times
    #[arg(long, value_name = "USER")]
    admin: Vec<String>,
    /// Time for a client from its arrival to the end of its login [default: 10s]
    #[arg(long, value_name = "TIME")]
    login_max: Option<String>,
    /// Most clients at a time; others are refused [default: as many as open files allow]
    #[arg(long, value_name = "N")]
    clients_max: Option<usize>,
    /// Give up a server whose host has not answered for so long, as one that lost its power [default: 15s]
    #[arg(long, value_name = "TIME")]
    backend_silence: Option<String>,
    /// Tell the server who each client is, by the PROXY protocol; its proxy_protocol_networks must name this host, or
    /// nobody can log in
    #[arg(long)]
    proxy_protocol: bool,
    /// Refuse accounts that are bound to hosts, as app@localhost: behind a guard every client comes from its host
    #[arg(long)]
    refuse_host_accounts: bool,
    /// TLS towards clients [default: preferred]
    #[arg(long, value_name = "MODE", value_parser = MODES)]
    tls: Option<String>,
    /// Certificate chain to show to clients (PEM)
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    tls_cert: Option<PathBuf>,
    /// Key of the certificate (PEM)
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    tls_key: Option<PathBuf>,
    /// Make a key and a certificate at the start, in memory: keeps out who listens; its fingerprint is in the log
    #[arg(long, conflicts_with = "tls_cert")]
    tls_self_signed: bool,
    /// TLS towards the server; preferred: where the client has it too and the server offers it, which whoever sits
    /// between can take away [default: verify-identity with authorities, else preferred]
    #[arg(long, value_name = "MODE", value_parser = BACKEND_MODES)]
    backend_tls: Option<String>,
    /// Authorities of which one must have signed the server's certificate (PEM)
    #[arg(long, value_name = "FILE")]
    backend_tls_ca: Option<PathBuf>,
    /// Read the configuration, say whether it is right, and end
    #[arg(long)]
    pub check: bool,
}

impl Flags {
    /// As [`Flags::read`], while clients are served.
    pub fn read_again(&self) -> Result<GuardConfig> {
        self.config.as_deref().map_or(Ok(()), can_be_read_again)?;
        self.read()
    }

    /// The file, if there is one, with the flags over it.
    pub fn read(&self) -> Result<GuardConfig> {
        let mut config = match (&self.config, self.listen.first(), &self.backend) {
            (Some(path), _, _) => GuardConfig::load(path)?,
            (None, Some(listen), Some(backend)) => GuardConfig::new(listen.parse()?, backend.parse()?),
            (None, None, _) => {
                return Err(anyhow!("nobody said where clients arrive")).hint("give --listen or --config");
            }
            (None, _, None) => {
                return Err(anyhow!("nobody said where the server is")).hint("give --backend or --config");
            }
        };
        if !self.listen.is_empty() {
            config.plan.listen = self.listen.iter().map(|text| text.parse()).collect::<Result<_, _>>()?;
        }
        if let Some(backend) = &self.backend {
            config.plan.backend = backend.parse()?;
        }
        self.over(&mut config)?;
        config.check()?;
        Ok(config)
    }

    fn over(&self, config: &mut GuardConfig) -> Result<()> {
        fn set<T: Clone>(target: &mut T, value: &Option<T>) {
            if let Some(value) = value {
                *target = value.clone();
            }
        }
        set(&mut config.controller, &self.controller);
        set(&mut config.initial_limit, &self.old.initial_limit(&self.initial_limit));
        set(&mut config.max_limit, &self.old.max_limit(&self.max_limit));
        set(&mut config.plan.threads, &self.threads);
        set(&mut config.log, &self.log);
        set(&mut config.log_decisions, &self.log_decisions);
        config.plan.options.dry_run |= self.dry_run;
        config.fitted |= self.fitted;
        config.counters |= self.counters;
        config.metrics = self.metrics.clone().or(config.metrics.take());
        config.journal = self.journal.clone().or(config.journal.take());
        config.monitor = self.monitor.clone().or(config.monitor.take());
        if let Some(span) = &self.reflection_span {
            config.reflection_span = units::duration(span).context("reading --reflection-span")?;
        }
        self.over_gate(config)?;
        self.over_clients(config)?;
        self.over_tls(config)?;
        if let Some(drain) = &self.drain {
            config.drain = units::duration(drain).context("reading --drain")?;
        }
        Ok(())
    }

    fn over_gate(&self, config: &mut GuardConfig) -> Result<()> {
        let plan = &mut config.plan;
        if let Some(by) = &self.tenants {
            plan.tenants = if by == "database" { TenantBy::Database } else { TenantBy::User };
        }
        plan.options.queue_max = self.queue_max.or(plan.options.queue_max);
        if let Some(wait) = &self.wait_max {
            plan.options.wait_max = Some(units::duration(wait).context("reading --wait-max")?);
        }
        plan.administrators.extend(self.admin.iter().cloned());
        Ok(())
    }

    fn over_clients(&self, config: &mut GuardConfig) -> Result<()> {
        let plan = &mut config.plan;
        if let Some(time) = &self.login_max {
            plan.login_max = units::duration(time).context("reading --login-max")?;
        }
        if let Some(time) = &self.backend_silence {
            plan.silence_max = units::duration(time).context("reading --backend-silence")?;
        }
        plan.clients_max = self.clients_max.or(plan.clients_max);
        plan.proxy_protocol |= self.proxy_protocol;
        plan.refuse_host_accounts |= self.refuse_host_accounts;
        Ok(())
    }

    fn over_tls(&self, config: &mut GuardConfig) -> Result<()> {
        let plan = &mut config.plan;
        if let Some(text) = &self.tls {
            plan.client_tls.mode = tls_mode(text)?;
        }
        if let Some(text) = &self.backend_tls {
            plan.backend_tls.mode = Some(backend_mode(text)?);
        }
        if let Some((certificate, key)) = self.tls_cert.clone().zip(self.tls_key.clone()) {
            plan.client_tls.identity = Some(Identity::Files { certificate, key });
        }
        if self.tls_self_signed {
            plan.client_tls.identity = Some(Identity::SelfSigned);
        }
        if let Some(authorities) = &self.backend_tls_ca {
            plan.backend_tls.authorities = Some(authorities.clone());
        }
        Ok(())
    }
}

const MODES: [&str; 3] = ["disabled", "preferred", "required"];
const BACKEND_MODES: [&str; 5] = ["disabled", "preferred", "required", "verify-ca", "verify-identity"];
