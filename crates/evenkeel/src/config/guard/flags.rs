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
        /// Address for clients: host:port or the path of a socket; may be given several times
        #[arg(long, value_name = "ADDRESS")]
        listen: Vec<String>,
        /// The server: host:port or the path of its socket
        #[arg(long, value_name = "ADDRESS")]
        backend: Option<String>,
        /// End at once if the server cannot be reached at the start, instead of waiting for it
        #[arg(long)]
        pub require_backend: bool,
        /// Controller that sets the limit [default: evenkeel]
        #[arg(long, value_name = "NAME", value_parser = algorithm::NAMES)]
        controller: Option<String> = control.controller => controller,
        /// Span of the means of the reflection controller, which decides sixty times in it [default: 60s, as published]
        #[arg(long, value_name = "TIME", value_parser = units::duration)]
        reflection_span: Option<Nanos> = control.reflection_span by Fields::time => reflection_span,
        /// Initial limit; with the fixed controller the limit [default: 8]
        #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000))]
        initial_limit: Option<u32> = control.initial_limit by Fields::limit => initial_limit,
        /// Take the initial limit from a profile of this server: its name, its folder, or `last`
        #[arg(long, value_name = "STUDY", conflicts_with = "initial_limit")]
        profile: Option<String> = control.profile => profile,
        /// Maximum limit [default: 1024]
        #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000))]
        max_limit: Option<u32> = control.max_limit by Fields::limit => max_limit,
        /// Decide and report, but limit nothing
        #[arg(long)]
        dry_run: bool = control.dry_run => plan.options.dry_run,
        /// Threads for sessions [default: one up to four CPUs]
        #[arg(long, value_name = "N")]
        threads: Option<usize> = guard.threads => plan.threads,
        /// Address for /metrics, /healthz and `evenkeel guard top`, as 127.0.0.1:9307 [default: none]
        #[arg(long, value_name = "ADDRESS")]
        metrics: Option<String> = guard.metrics => metrics,
        /// File with a line of JSON for each tick, for `evenkeel guard replay`; at most 128 MB
        #[arg(long, value_name = "FILE")]
        journal: Option<PathBuf> = control.journal => journal,
        /// Account that reads the server's status, for lock waits and warnings at the start, as mysql://user@host:port.
        /// Give its password by EVENKEEL_PASSWORD or ?defaults-file=FILE: other users may see this command line
        #[arg(long, value_name = "URL")]
        monitor: Option<String> = control.monitor => monitor,
        /// Count cycles and misses on the server's CPUs, which no other program may use
        #[arg(long)]
        counters: bool = control.counters => counters,
        /// Form of the log on stderr [default: text]
        #[arg(long, value_enum, value_name = "FORM")]
        log: Option<Form> = guard.log by Fields::word_of_flag => log,
        /// Changes of the limit that have a log line each; the others share one, at most every 10 s
        /// [default: decisive]
        #[arg(long, value_enum, value_name = "WHICH")]
        log_decisions: Option<LoggedDecisions> = guard.log_decisions by Fields::word_of_flag => log_decisions,
        /// Time for transactions to end after SIGTERM [default: 10s]
        #[arg(long, value_name = "TIME", value_parser = units::duration)]
        drain: Option<Nanos> = guard.drain by Fields::time => drain,
        /// Clients share the limit by user or by database [default: user]
        #[arg(long, value_name = "user|database", value_parser = words::flag(["user", "database"], words::tenants))]
        tenants: Option<TenantBy> = queue.by by word(words::tenants) => plan.tenants,
        /// Maximum number of waiting sessions; more are refused [default: none]
        #[arg(long, value_name = "N")]
        queue_max: Option<usize> = queue.length => plan.options.queue_max,
        /// Maximum wait; then a command is refused [default: none]
        #[arg(long, value_name = "TIME", value_parser = units::duration)]
        wait_max: Option<Nanos> = queue.wait by Fields::time => plan.options.wait_max,
        /// A user whose commands never wait; may be given several times
        #[arg(long, value_name = "USER")]
        admin: Vec<String>,
        /// Time limit for the login of a client [default: 10s]
        #[arg(long, value_name = "TIME", value_parser = units::duration)]
        login_max: Option<Nanos> = guard.login_max by Fields::time => plan.login_max,
        /// Maximum number of clients; more are refused [default: as many as open files allow]
        #[arg(long, value_name = "N")]
        clients_max: Option<usize> = guard.clients_max => plan.clients_max,
        /// Give up a server whose host has not answered for this time, as after a power loss [default: 15s]
        #[arg(long, value_name = "TIME", value_parser = units::duration)]
        backend_silence: Option<Nanos> = guard.backend_silence by Fields::time => plan.silence_max,
        /// Send the server each client's address by the PROXY protocol; its proxy_protocol_networks must name this host,
        /// or no client can log in
        #[arg(long)]
        proxy_protocol: bool = guard.proxy_protocol => plan.proxy_protocol,
        /// Refuse accounts that are bound to hosts, as app@localhost: behind a guard every client comes from the guard's host
        #[arg(long)]
        refuse_host_accounts: bool = guard.refuse_host_accounts => plan.refuse_host_accounts,
        /// TLS towards clients [default: preferred]
        #[arg(long, value_name = "MODE", value_parser = words::flag(["disabled", "preferred", "required"], words::client_mode))]
        tls: Option<TlsMode> = client_tls.mode by word(words::client_mode) => plan.client_tls.mode,
        /// Certificate chain for clients (PEM)
        #[arg(long, value_name = "FILE", requires = "tls_key")]
        tls_cert: Option<PathBuf>,
        /// Key of the certificate (PEM)
        #[arg(long, value_name = "FILE", requires = "tls_cert")]
        tls_key: Option<PathBuf>,
        /// Create a key and a certificate in memory at the start: encryption without proof of identity; the fingerprint is logged
        #[arg(long, conflicts_with = "tls_cert")]
        tls_self_signed: bool,
        /// TLS towards the server; preferred: if the client uses it and the server offers it, open to downgrade by a man in
        /// the middle [default: verify-identity with authorities, else preferred]
        #[arg(long, value_name = "MODE")]
        #[arg(value_parser = words::flag(BackendMode::NAMES.map(|(name, _)| name), words::backend_mode))]
        backend_tls: Option<BackendMode> = backend_tls.mode by word(words::backend_mode) => plan.backend_tls.mode,
        /// Authorities of which one must have signed the server's certificate (PEM)
        #[arg(long, value_name = "FILE")]
        backend_tls_ca: Option<PathBuf> = backend_tls.authorities => plan.backend_tls.authorities,
        /// Check the configuration and end
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
                return Err(anyhow!("no address for clients is given")).hint("give --listen or --config");
            }
            (None, _, None) => {
                return Err(anyhow!("no server is given")).hint("give --backend or --config");
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
