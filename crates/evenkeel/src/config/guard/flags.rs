//! Settings of a guard: flags of the command line, and keys of a file. A flag wins.

use super::{GuardConfig, Tables, words};
use crate::config::fields::{Fields, can_be_read_again, word};
use crate::config::settings::settings;
use crate::config::units;
use crate::failure::WithHint;
use crate::guard::decisions::LoggedDecisions;
use crate::view::log::Form;
use anyhow::{Result, anyhow};
use evenkeel_core::Nanos;
use evenkeel_core::control::algorithm;
use evenkeel_guard::proxy::{BackendMode, Identity, TenantBy, TlsMode};
use std::path::PathBuf;

settings! {
    /// Flags that a file has as well; a flag wins.
    #[derive(Clone, Debug, Default, clap::Args)]
    pub struct Flags over GuardConfig {
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
        controller: Option<String> = control.controller => controller,
        /// Span of the means of the reflection controller, which decides sixty times in it [default: 60s, as published]
        #[arg(long, value_name = "TIME", value_parser = units::duration)]
        reflection_span: Option<Nanos> = control.reflection_span by Fields::time => reflection_span,
        /// The limit to begin with; the fixed controller's for good [default: 8]
        #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000))]
        initial_limit: Option<u32> = control.initial_limit by Fields::limit => initial_limit,
        /// Begin with the limit that a profile of this server implies: its name, its folder, or `last`
        #[arg(long, value_name = "STUDY", conflicts_with = "initial_limit")]
        profile: Option<String> = control.profile => profile,
        /// No limit passes this [default: 1024]
        #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000))]
        max_limit: Option<u32> = control.max_limit by Fields::limit => max_limit,
        /// Say what would be done and hold nothing back
        #[arg(long)]
        dry_run: bool = control.dry_run => plan.options.dry_run,
        /// Threads that carry sessions [default: one up to four CPUs]
        #[arg(long, value_name = "N")]
        threads: Option<usize> = guard.threads => plan.threads,
        /// Where to serve /metrics, /healthz and what `evenkeel guard top` reads, as 127.0.0.1:9307 [default: nowhere]
        #[arg(long, value_name = "ADDRESS")]
        metrics: Option<String> = guard.metrics => metrics,
        /// File for a line of JSON with each tick, for `evenkeel guard replay`; at most 128 MB
        #[arg(long, value_name = "FILE")]
        journal: Option<PathBuf> = control.journal => journal,
        /// Account to ask the server's status with, for lock waits and warnings at the start, as mysql://user@host:port;
        /// its password from EVENKEEL_PASSWORD or ?defaults-file=FILE, as users may see this command line before it is hidden
        #[arg(long, value_name = "URL")]
        monitor: Option<String> = control.monitor => monitor,
        /// Count cycles and misses on the server's CPUs, which it has to itself
        #[arg(long)]
        counters: bool = control.counters => counters,
        /// Form of the log on stderr [default: text]
        #[arg(long, value_enum, value_name = "FORM")]
        log: Option<Form> = guard.log by Fields::word_of_flag => log,
        /// Which changes of the limit have a line of their own in the log; the others share one, every 10 s at most
        /// [default: decisive]
        #[arg(long, value_enum, value_name = "WHICH")]
        log_decisions: Option<LoggedDecisions> = guard.log_decisions by Fields::word_of_flag => log_decisions,
        /// Time for transactions to end after SIGTERM [default: 10s]
        #[arg(long, value_name = "TIME", value_parser = units::duration)]
        drain: Option<Nanos> = guard.drain by Fields::time => drain,
        /// By what clients share the limit [default: user]
        #[arg(long, value_name = "user|database", value_parser = words::flag(["user", "database"], words::tenants))]
        tenants: Option<TenantBy> = queue.by by word(words::tenants) => plan.tenants,
        /// Most sessions that may wait; others are refused [default: no bound]
        #[arg(long, value_name = "N")]
        queue_max: Option<usize> = queue.length => plan.options.queue_max,
        /// Longest wait; then a command is refused [default: no bound]
        #[arg(long, value_name = "TIME", value_parser = units::duration)]
        wait_max: Option<Nanos> = queue.wait by Fields::time => plan.options.wait_max,
        /// A user whose commands never wait; may be given several times
        #[arg(long, value_name = "USER")]
        admin: Vec<String>,
        /// Time for a client from its arrival to the end of its login [default: 10s]
        #[arg(long, value_name = "TIME", value_parser = units::duration)]
        login_max: Option<Nanos> = guard.login_max by Fields::time => plan.login_max,
        /// Most clients at a time; others are refused [default: as many as open files allow]
        #[arg(long, value_name = "N")]
        clients_max: Option<usize> = guard.clients_max => plan.clients_max,
        /// Give up a server whose host has not answered for so long, as one that lost its power [default: 15s]
        #[arg(long, value_name = "TIME", value_parser = units::duration)]
        backend_silence: Option<Nanos> = guard.backend_silence by Fields::time => plan.silence_max,
        /// Tell the server who each client is, by the PROXY protocol; its proxy_protocol_networks must name this host, or
        /// nobody can log in
        #[arg(long)]
        proxy_protocol: bool = guard.proxy_protocol => plan.proxy_protocol,
        /// Refuse accounts that are bound to hosts, as app@localhost: behind a guard every client comes from its host
        #[arg(long)]
        refuse_host_accounts: bool = guard.refuse_host_accounts => plan.refuse_host_accounts,
        /// TLS towards clients [default: preferred]
        #[arg(long, value_name = "MODE", value_parser = words::flag(["disabled", "preferred", "required"], words::client_mode))]
        tls: Option<TlsMode> = client_tls.mode by word(words::client_mode) => plan.client_tls.mode,
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
        #[arg(long, value_name = "MODE")]
        #[arg(value_parser = words::flag(BackendMode::NAMES.map(|(name, _)| name), words::backend_mode))]
        backend_tls: Option<BackendMode> = backend_tls.mode by word(words::backend_mode) => plan.backend_tls.mode,
        /// Authorities of which one must have signed the server's certificate (PEM)
        #[arg(long, value_name = "FILE")]
        backend_tls_ca: Option<PathBuf> = backend_tls.authorities => plan.backend_tls.authorities,
        /// Read the configuration, say whether it is right, and end
        #[arg(long)]
        pub check: bool,
    }
    keys of Tables {
        guard.administrators => plan.administrators: Vec<String>,
        control.tick by Fields::time => tick: Nanos,
        queue.named_max => plan.options.named_max: usize,
        idle.lend_after by Fields::time => plan.lend_after: Nanos,
        idle.lent_max => plan.options.lent_max: usize,
        idle.close_after by Fields::time => plan.options.close_after: Nanos,
    }
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
        self.over(&mut config);
        self.over_more(&mut config);
        config.check()?;
        Ok(config)
    }

    /// What is more than one value in place of another: users beside those of the file, files of an identity.
    fn over_more(&self, config: &mut GuardConfig) {
        if self.initial_limit.is_some() {
            // A limit on the command line is meant, whatever a file takes it from.
            config.profile = None;
        }
        config.plan.administrators.extend(self.admin.iter().cloned());
        let identity = &mut config.plan.client_tls.identity;
        if let Some((certificate, key)) = self.tls_cert.clone().zip(self.tls_key.clone()) {
            *identity = Some(Identity::Files { certificate, key });
        }
        if self.tls_self_signed {
            *identity = Some(Identity::SelfSigned);
        }
    }
}
