//! What changes when a configuration is read again: what holds at once, and what holds only after a restart.

use super::GuardConfig;
use evenkeel_guard::proxy::Plan;

/// The keys that differ, by when they hold.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Changes {
    pub applied: Vec<&'static str>,
    pub restart: Vec<&'static str>,
}

impl Changes {
    /// Takes over what can be taken over while clients are connected; `old` is what holds afterwards, so that the next
    /// reload is compared with the truth.
    pub fn take_over(old: &mut GuardConfig, new: &GuardConfig) -> Self {
        let mut changes = Self::default();
        changes.now("weights", &mut old.weights, &new.weights);
        changes.now("controller", &mut old.controller, &new.controller);
        changes.now("reflection_span", &mut old.reflection_span, &new.reflection_span);
        changes.now("initial_limit", &mut old.initial_limit, &new.initial_limit);
        changes.now("max_limit", &mut old.max_limit, &new.max_limit);
        changes.now("memory", &mut old.memory, &new.memory);
        changes.now("tick", &mut old.tick, &new.tick);
        changes.now("log", &mut old.log, &new.log);
        changes.now("drain", &mut old.drain, &new.drain);
        changes.later("counters", &old.counters, &new.counters);
        changes.later("monitor", &old.monitor, &new.monitor);
        changes.later("metrics", &old.metrics, &new.metrics);
        changes.later("journal", &old.journal, &new.journal);
        changes.plan(&mut old.plan, &new.plan);
        changes
    }

    fn plan(&mut self, old: &mut Plan, new: &Plan) {
        self.now("dry_run", &mut old.options.dry_run, &new.options.dry_run);
        self.now("queue.length", &mut old.options.queue_max, &new.options.queue_max);
        self.now("queue.wait", &mut old.options.wait_max, &new.options.wait_max);
        self.later("listen", &old.listen, &new.listen);
        self.later("backend", &old.backend, &new.backend);
        self.later("threads", &old.threads, &new.threads);
        self.later("queue.by", &old.tenants, &new.tenants);
        self.later("administrators", &old.administrators, &new.administrators);
        self.later("idle.lend_after", &old.lend_after, &new.lend_after);
        self.later("login_max", &old.login_max, &new.login_max);
        self.later("clients_max", &old.clients_max, &new.clients_max);
        self.later("backend_silence", &old.silence_max, &new.silence_max);
        self.later("proxy_protocol", &old.proxy_protocol, &new.proxy_protocol);
        self.later("refuse_host_accounts", &old.refuse_host_accounts, &new.refuse_host_accounts);
        self.later("client_tls.mode", &old.client_tls.mode, &new.client_tls.mode);
        self.later("client_tls.certificate", &old.client_tls.identity, &new.client_tls.identity);
        self.later("backend_tls.mode", &old.backend_tls.mode, &new.backend_tls.mode);
        self.later("backend_tls.authorities", &old.backend_tls.authorities, &new.backend_tls.authorities);
    }

    fn now<T: PartialEq + Clone>(&mut self, key: &'static str, old: &mut T, new: &T) {
        if *old != *new {
            *old = new.clone();
            self.applied.push(key);
        }
    }

    fn later<T: PartialEq>(&mut self, key: &'static str, old: &T, new: &T) {
        if *old != *new {
            self.restart.push(key);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::fields::tests::known;

    const SHORT: &str = "listen = '127.0.0.1:3307'\nbackend = '127.0.0.1:3306'\n";

    /// Every key that a file can have, with a value that is not its default; whether a reload takes it over.
    const KEYS: [(&str, &str, bool); 31] = [
        ("listen", "listen = '127.0.0.1:3308'", false),
        ("backend", "backend = '127.0.0.1:3309'", false),
        ("threads", "threads = 33", false),
        ("administrators", "administrators = ['root']", false),
        ("metrics", "metrics = '127.0.0.1:9307'", false),
        ("login_max", "login_max = '11s'", false),
        ("clients_max", "clients_max = 9", false),
        ("backend_silence", "backend_silence = '16s'", false),
        ("proxy_protocol", "proxy_protocol = true", false),
        ("refuse_host_accounts", "refuse_host_accounts = true", false),
        ("log", "log = 'json'", true),
        ("drain", "drain = '11s'", true),
        ("controller", "control.controller = 'fixed'", true),
        ("reflection_span", "control.reflection_span = '6s'", true),
        ("initial_limit", "control.initial_limit = 9", true),
        ("max_limit", "control.max_limit = 99", true),
        ("tick", "control.tick = '99ms'", true),
        ("dry_run", "control.dry_run = true", true),
        ("memory", "control.memory = { budget = '2G', each = '40M' }", true),
        ("counters", "control.counters = true", false),
        ("monitor", "control.monitor = 'mysql://m@127.0.0.1:3306'", false),
        ("journal", "control.journal = '/tmp/journal'", false),
        ("queue.by", "queue.by = 'database'", false),
        ("queue.length", "queue.length = 9", true),
        ("queue.wait", "queue.wait = '9s'", true),
        ("weights", "weights.shop = 3", true),
        ("idle.lend_after", "idle.lend_after = '99ms'", false),
        ("client_tls.mode", "client_tls.mode = 'disabled'", false),
        ("client_tls.certificate", "client_tls.certificate = 'a'\nclient_tls.key = 'b'", false),
        ("backend_tls.mode", "backend_tls.mode = 'required'", false),
        ("backend_tls.authorities", "backend_tls.authorities = 'c'", false),
    ];

    fn parse(lines: &[&str]) -> GuardConfig {
        let mut text = String::new();
        for short in SHORT.lines() {
            let key = short.split(' ').next().unwrap_or_default();
            if !lines.iter().any(|line| line.split(' ').next() == Some(key)) {
                text.push_str(&format!("{short}\n"));
            }
        }
        lines.iter().for_each(|line| text.push_str(&format!("{line}\n")));
        GuardConfig::parse(&text).unwrap()
    }

    #[test]
    fn every_key_is_taken_over_or_named_as_one_that_needs_a_restart() {
        for (key, line, now) in &KEYS {
            let (mut held, new) = (parse(&[]), parse(&[line]));
            let expected = match now {
                true => Changes { applied: vec![key], restart: vec![] },
                false => Changes { applied: vec![], restart: vec![key] },
            };
            assert_eq!(Changes::take_over(&mut held, &new), expected, "{key}");
            // A second reload finds nothing new, and still says what the running guard does not do.
            let again = Changes { applied: vec![], ..expected };
            assert_eq!(Changes::take_over(&mut held, &new), again, "{key}");
        }
    }

    #[test]
    fn every_key_of_a_file_is_one_of_them() {
        for table in ["", "control", "queue", "idle", "client_tls", "backend_tls"] {
            let text =
                if table.is_empty() { "zzzzzzzz = 1".to_owned() } else { format!("{table}.zzzzzzzz = 1") };
            let error = GuardConfig::parse(&format!("{SHORT}{text}")).unwrap_err();
            // A certificate may be that of a file or its own: the same setting.
            for key in known(&error).into_iter().filter(|key| key != "self_signed") {
                let has =
                    |line: &str| line.contains(&format!("{key} = ")) || line.starts_with(&format!("{key}."));
                assert!(KEYS.iter().any(|(_, line, _)| has(line)), "{table} {key}");
            }
        }
    }
}
