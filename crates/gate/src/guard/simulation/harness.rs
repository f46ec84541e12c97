//! One session between two sides that say what bytes dictate: for fuzzing, where the models of the simulation would be too
//! well-bred. It panics where something happens that must not, whatever the sides say.

use super::door::Gateway;
use crate::address::Address;
use crate::admission::{Caller, Census, Gate, Options, SessionId};
use crate::guard::account::QUESTION;
use crate::guard::kinds::Kinds;
use crate::guard::plan::Plan;
use crate::guard::seat::{Door, Standing};
use crate::guard::session::{Action, Arrival, Context, Event, Session, Side, Terms};
use crate::guard::shared::session_of;
use crate::guard::stats::Stats;
use crate::guard::tls::TlsMode;
use evenkeel_core::Nanos;
use evenkeel_wire::packet;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

/// One read.
const READ: usize = 16 << 10;
/// What a session may keep of its client's: what was read, and the head of a command before it.
const KEPT_MAX: usize = 2 * READ;
const ME: SessionId = SessionId(1);
/// Somebody else, who takes a permit and gives it back.
const OTHER: SessionId = SessionId(2);
const GREETING: &[u8] = b"\x0a10.11.6-fuzz\0\x07\0\0\0abcdefgh\0\xfe\xf7\x2d\x02\0\xff\x81\x15\0\0\0\0\0\0\0\0\0\0ijklmnopqrst\0mysql_native_password\0";

/// What is known of the account check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Check {
    /// None is pending.
    None,
    /// The server was asked, and the client was not told yet that it is in.
    Pending,
    /// The account may not come in.
    Refused,
}

/// A session, and what is known of it from outside.
pub struct Harness {
    session: Session,
    terms: Terms,
    gateway: Arc<Gateway>,
    door: Arc<dyn Door>,
    kinds: Kinds,
    stats: Stats,
    now: Nanos,
    check: Check,
    /// Packets that went each way during the login.
    login_packets: [usize; 2],
    other_runs: bool,
    /// What the sides have said and nobody wanted to hear yet.
    unheard: [Vec<u8>; 2],
    over: [bool; 2],
    closed: bool,
    /// Bytes that went to the server after the login.
    pub passed: usize,
    /// What the guard itself told the client, logins included, since [`Harness::forget`].
    pub told: Vec<u8>,
}

impl Harness {
    /// One that is connected; the bits of `choices` decide about accounts, TLS and bounds.
    pub fn new(choices: u8) -> Self {
        let chosen = |bit: u8| choices & 1 << bit != 0;
        let options = Options { queue_max: chosen(2).then_some(0), named_max: 1, ..Options::default() };
        let gateway = Arc::new(Gateway::new(Gate::new(1, options)));
        let backend = match chosen(0) {
            true => Address::Unix(PathBuf::from("/model")),
            false => Address::Tcp { host: "model".to_owned(), port: 3306 },
        };
        let mut plan = Plan::new(Address::Unix(PathBuf::from("/guard")), backend);
        plan.refuse_host_accounts = chosen(1);
        plan.administrators = vec!["boss".to_owned()];
        let arrival = Arrival { local: chosen(3), spare: chosen(4) };
        let mut harness = Self {
            session: Session::new(ME, arrival, Nanos::ZERO),
            terms: Terms { plan, tls_offered: chosen(5), backend_tls: TlsMode::Preferred },
            door: gateway.clone(),
            gateway,
            kinds: Kinds::default(),
            stats: Stats::default(),
            now: Nanos::ZERO,
            check: Check::None,
            login_packets: [0; 2],
            other_runs: false,
            unheard: [Vec::new(), Vec::new()],
            over: [false; 2],
            closed: false,
            passed: 0,
            told: Vec::new(),
        };
        harness.happens(Event::Connected { server: 0 });
        harness
    }

    /// The server greets.
    pub fn greet(&mut self) {
        self.says_packet(Side::Server, 0, GREETING);
    }

    /// Both sides log in as an honest client and an honest server do.
    pub fn log_in(&mut self, user: &str, capabilities: u32) {
        self.greet();
        let hello = [
            &capabilities.to_le_bytes()[..],
            &[0, 0, 0, 64, 45],
            &[0; 23],
            user.as_bytes(),
            b"\0\0mysql_native_password\0",
        ];
        self.says_packet(Side::Client, 1, &hello.concat());
        self.says_packet(Side::Server, 2, b"\0\0\0\x02\0\0\0");
    }

    /// A side says a packet.
    pub fn says_packet(&mut self, side: Side, number: u8, payload: &[u8]) {
        let mut out = Vec::new();
        packet::put(&mut out, &mut number.clone(), |out| out.extend_from_slice(payload));
        self.says(side, &out);
    }

    /// A side says bytes, which are heard as soon as the session wants to hear them.
    pub fn says(&mut self, side: Side, bytes: &[u8]) {
        if !self.over[side as usize] {
            self.unheard[side as usize].extend_from_slice(bytes);
        }
        self.hear();
    }

    fn hear(&mut self) {
        loop {
            let wanted = |side: &Side| {
                !self.closed && !self.unheard[*side as usize].is_empty() && self.session.hears(*side)
            };
            let Some(side) = [Side::Server, Side::Client].into_iter().find(wanted) else { return };
            let unheard = &mut self.unheard[side as usize];
            let read: Vec<u8> = unheard.drain(..unheard.len().min(READ)).collect();
            self.happens(Event::Said(side, &read));
        }
    }

    /// A side says nothing more, or is gone.
    pub fn ends(&mut self, side: Side, lost: bool) {
        self.hear();
        if std::mem::replace(&mut self.over[side as usize], true) {
            return;
        }
        self.happens(match lost {
            true => Event::Lost(side, io::ErrorKind::ConnectionReset.into()),
            false => Event::Ended(side),
        });
    }

    /// Time passes.
    pub fn waits(&mut self, time: Nanos) {
        self.now += time;
        self.gateway.set(self.now);
        self.gateway.reach(None, &mut |gate, now| gate.tick(now));
        self.happens(Event::Tick);
    }

    /// Somebody else takes a permit, or gives it back.
    pub fn toggle_other(&mut self) {
        let mut other = None;
        self.gateway.reach(None, &mut |gate, _| {
            other = Some(Caller { session: OTHER, tenant: gate.tenant("other"), server: 0 });
        });
        let Some(caller) = other else { return };
        self.other_runs = !self.other_runs;
        let runs = self.other_runs;
        self.gateway.reach(None, &mut |gate, now| match runs {
            true => gate.enter(now, caller),
            false => gate.cancel(now, caller),
        });
        self.deliver();
    }

    /// Something happens to the session, and what it wants is done and judged.
    pub fn happens(&mut self, event: Event<'_>) {
        if self.closed {
            return;
        }
        let logs_in = self.session.login_since().is_some();
        let said = if let Event::Said(side, bytes) = &event { Some((*side, bytes.len())) } else { None };
        let (mut notices, mut actions) = (Vec::new(), Vec::new());
        let mut cx = Context {
            terms: &self.terms,
            door: &self.door,
            kinds: &mut self.kinds,
            stats: &self.stats,
            server: 0,
            now: self.now,
            notices: &mut notices,
            actions: &mut actions,
        };
        self.session.on(event, &mut cx);
        for action in actions {
            self.judge_action(&action, logs_in, said);
        }
        for notice in notices {
            self.notice(notice);
        }
        self.deliver();
        self.judge();
    }

    fn deliver(&mut self) {
        for notice in self.gateway.take() {
            self.notice(notice);
        }
    }

    fn notice(&mut self, notice: crate::admission::Notice) {
        use crate::admission::Notice::{Admitted, Close, Rejected};
        if session_of(notice) != ME {
            return;
        }
        self.happens(match notice {
            Admitted(..) => Event::Admitted,
            Rejected(_, rejection) => Event::Rejected(rejection),
            Close(_) => Event::CloseIdle,
        });
    }

    fn judge_action(&mut self, action: &Action, logs_in: bool, said: Option<(Side, usize)>) {
        match action {
            Action::Pass(range) => {
                let Some((from, length)) = said else { panic!("{range:?} passes, and nobody said anything") };
                assert!(range.start <= range.end && range.end <= length, "{range:?} of {length} bytes");
                assert!(!logs_in, "{range:?} of {from:?} pass unread during the login");
                if from == Side::Client {
                    self.goes_to_server(range.len());
                }
            }
            Action::Send(Side::Server, bytes) if bytes.ends_with(QUESTION) => {
                assert_ne!(self.check, Check::Refused, "a refused account is asked about again");
                self.check = Check::Pending;
            }
            Action::Send(Side::Server, bytes) if logs_in => self.login_goes_to_server(bytes),
            Action::Send(Side::Server, bytes) => self.goes_to_server(bytes.len()),
            Action::Send(Side::Client, bytes) => self.goes_to_client(bytes, logs_in),
            Action::Close => self.closed = true,
            Action::ClientTls(_) | Action::ServerTls | Action::End(_) => {}
        }
    }

    /// One packet of the client's for each that the server has let it answer, and TLS's request before the first.
    fn login_goes_to_server(&mut self, bytes: &[u8]) {
        let [a, b, c, _, payload @ ..] = bytes else { panic!("{bytes:02x?} is no packet") };
        assert_eq!(
            payload.len(),
            u32::from_le_bytes([*a, *b, *c, 0]) as usize,
            "more than a packet of a login"
        );
        self.login_packets[Side::Server as usize] += 1;
        let [asked, answered] = self.login_packets;
        assert!(answered <= asked + 1, "{answered} packets of a login for {asked} questions");
    }

    fn goes_to_server(&mut self, count: usize) {
        assert!(
            self.check == Check::None || count == 0,
            "{count} bytes pass, and the account check is {:?}",
            self.check
        );
        self.passed += count;
    }

    fn goes_to_client(&mut self, bytes: &[u8], logs_in: bool) {
        self.login_packets[Side::Client as usize] += usize::from(logs_in);
        self.told.extend_from_slice(bytes);
        if self.check == Check::Pending {
            self.check = if bytes.get(4) == Some(&0xff) { Check::Refused } else { Check::None };
        }
    }

    /// What the client was told counts no more.
    pub fn forget(&mut self) {
        self.told.clear();
    }

    /// Nobody waits for longer than this.
    pub fn bound_waits(&mut self, most: Nanos) {
        let options = Options { wait_max: Some(most), ..Options::default() };
        self.gateway.reach(None, &mut |gate, now| gate.set_options(now, options));
    }

    /// What the session has of the gate.
    pub fn standing(&self) -> Option<Standing> {
        self.session.standing()
    }

    /// What the gate knows.
    pub fn census(&self) -> Census {
        let mut census = Census::default();
        self.gateway.reach(None, &mut |gate, now| census = gate.census(now));
        census
    }

    /// Whether the session is over.
    pub fn is_closed(&self) -> bool {
        self.closed
    }

    fn judge(&self) {
        assert!(self.session.held() <= KEPT_MAX, "{} bytes are kept", self.session.held());
        let mut census = Census::default();
        self.gateway.reach(None, &mut |gate, now| census = gate.brief_census(now));
        let standing = if self.closed { None } else { self.session.standing() };
        let count = |wanted: Standing| usize::from(standing == Some(wanted));
        let other = usize::from(self.other_runs);
        let found = (census.running, census.lent + census.loans + census.asleep, census.waiting);
        // One that is closed is dropped by its owner right after, and its permit with it.
        if !self.closed {
            assert_eq!(
                found,
                (count(Standing::Held) + other, count(Standing::Lent), count(Standing::Waiting))
            );
        }
        self.gateway.verdict().unwrap_or_else(|what| panic!("{what}"));
    }

    /// The owner drops the session: nothing of it is left at the gate.
    pub fn drop_session(mut self) {
        if self.other_runs {
            self.toggle_other();
        }
        drop(self.session);
        let mut census = Census::default();
        self.gateway.reach(None, &mut |gate, now| census = gate.census(now));
        let exempt: usize = census.tenants.iter().map(|tenant| tenant.exempt).sum();
        let left = (census.running, census.lent + census.loans + census.asleep, census.waiting, exempt);
        assert_eq!(left, (0, 0, 0, 0), "{census:?}");
    }
}

/// Plays what the bytes say: choices, then one thing after the other.
///
/// # Panics
/// Where something happens that must not.
pub fn play(data: &[u8]) {
    let Some((choices, mut rest)) = data.split_first() else { return };
    let mut harness = Harness::new(*choices);
    if choices & 1 << 6 != 0 {
        harness.log_in(if choices & 1 << 7 != 0 { "boss" } else { "app" }, 0x000a_a288);
    }
    while let [what, many, more @ ..] = rest {
        let (bytes, after) = more.split_at(more.len().min(taken_by(*what, *many)));
        rest = after;
        let side = if what & 1 == 0 { Side::Client } else { Side::Server };
        let number = many & 3;
        match what >> 1 & 15 {
            0 | 1 => harness.says(side, bytes),
            2..=5 => harness.says_packet(side, number, bytes),
            6 => harness.says_packet(
                side,
                number,
                &[&b"\x03"[..], TEXTS[usize::from(*many) % TEXTS.len()]].concat(),
            ),
            7 => harness.says_packet(Side::Server, number, &[0, 0, 0, many >> 2 & 11, 0, 0, 0]),
            8 => harness.says_packet(Side::Server, number, b"\xff\x19\x04#42000unknown"),
            9 => harness.log_in(if *many == 0 { "boss" } else { "app" }, 0x000a_a288),
            10 => harness.says_packet(side, 0, b"\x11root\0\0shop\0\x2d\0mysql_native_password\0"),
            11 => harness.waits(Nanos::from_millis(u64::from(*many) * 8)),
            12 => harness.toggle_other(),
            13 => harness.happens(Event::Blocked(*many > 127)),
            14 if *many > 200 => harness.ends(side, *many > 227),
            14 => harness.happens(Event::Leaving(side)),
            _ => harness.happens(if *many > 250 { Event::GiveWay } else { Event::Told }),
        }
        harness.hear();
    }
    harness.drop_session();
}

/// Bytes behind these two that belong to them.
fn taken_by(what: u8, many: u8) -> usize {
    match what >> 1 & 15 {
        0..=5 => usize::from(many),
        _ => 0,
    }
}

const TEXTS: [&[u8]; 8] = [
    b"SELECT 1",
    b"BEGIN",
    b"COMMIT",
    b"SELECT GET_LOCK('a', 1)",
    b"DO RELEASE_ALL_LOCKS()",
    b"SELECT SLEEP(1)",
    b"KILL 7",
    b"LOCK TABLES t WRITE",
];
