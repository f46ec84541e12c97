//! What a guard has to know before it starts.

use crate::capture::Capture;
use evenkeel_core::Nanos;
use evenkeel_core::admission::Options;
use evenkeel_core::gate::Rules;
use evenkeel_os::address::Address;
use evenkeel_os::tls::{BackendTls, ClientTls};
use std::sync::Arc;

/// By what clients share the gate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TenantBy {
    /// The user who logs in.
    #[default]
    User,
    /// The default database at login.
    Database,
}

#[derive(Clone, Debug)]
pub struct Plan {
    pub listen: Vec<Address>,
    pub backend: Address,
    /// Threads that carry sessions, 1 to 64.
    pub threads: usize,
    /// Most transactions that run at a time in each lane, at the start.
    pub limit: usize,
    /// Bounds of the queue and of those that stand aside.
    pub options: Options,
    pub tenants: TenantBy,
    /// Users whose commands never wait.
    pub administrators: Vec<String>,
    /// Lanes that the operator chose.
    pub lanes: Rules,
    /// A statement that takes longer is told of.
    pub runaway_max: Option<Nanos>,
    /// Time for a client from its arrival to the end of its login.
    pub login_max: Nanos,
    /// Most clients at a time; as many as open files allow where it is not given.
    pub clients_max: Option<usize>,
    /// Time after which a server whose host does not answer any more is given up.
    pub silence_max: Nanos,
    /// Whether the server learns who the client is, by the PROXY protocol.
    pub proxy_protocol: bool,
    /// Refuses accounts that are bound to hosts: through a guard all clients come from its own.
    pub refuse_host_accounts: bool,
    /// Where what passes is written, if it is.
    pub capture: Option<Arc<Capture>>,
    pub client_tls: ClientTls,
    pub backend_tls: BackendTls,
}

impl Plan {
    /// One without TLS of its own, without bounds, and practically without a limit.
    pub fn new(listen: Address, backend: Address) -> Self {
        Self {
            listen: vec![listen],
            backend,
            threads: 1,
            limit: usize::MAX,
            options: Options::default(),
            tenants: TenantBy::default(),
            administrators: Vec::new(),
            lanes: Rules::default(),
            runaway_max: None,
            login_max: Nanos::from_secs(10),
            clients_max: None,
            silence_max: Nanos::from_secs(15),
            proxy_protocol: false,
            refuse_host_accounts: false,
            capture: None,
            client_tls: ClientTls::default(),
            backend_tls: BackendTls::default(),
        }
    }
}
