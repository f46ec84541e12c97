//! One session between two sides that say what bytes dictate: for fuzzing, where the models of the simulation would be too
//! well-bred. It panics where something happens that must not, whatever the sides say.

use super::door::Gateway;
use super::witness::Witness;
use evenkeel_core::Nanos;
use evenkeel_core::admission::{Caller, Census, Held, Keeper, Options, SessionId};
use evenkeel_guard::proxy::parts::{Door, Standing, session_of};
use evenkeel_guard::proxy::session::{Action, Context, Event, Session, Side, Terms};
use evenkeel_guard::proxy::{Plan, Stats};
use evenkeel_os::address::Address;
use evenkeel_os::tls::TlsMode;
use evenkeel_wire::packet;
use std::io;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;

/// Bytes that one read takes at most.
const READ: usize = 16 << 10;
/// What a session may keep of its client's: what was read, and the head of a command before it.
const KEPT_MAX: usize = 2 * READ;
const ME: SessionId = SessionId(1);
/// Somebody else, who takes a permit and gives it back.
const OTHER: SessionId = SessionId(2);
const GREETING: &[u8] = b"\x0a10.11.6-fuzz\0\x07\0\0\0abcdefgh\0\xfe\xf7\x2d\x02\0\xff\x81\x15\0\0\0\0\0\0\0\0\0\0ijklmnopqrst\0mysql_native_password\0";

/// A session, and what is known of it from outside.
pub struct Harness {
    session: Session,
    terms: Terms,
    gateway: Arc<Gateway>,
    door: Arc<dyn Door>,
    stats: Stats,
    now: Nanos,
    witness: Witness,
    /// Packets that went each way during the login.
    login_packets: [usize; 2],
    other: Option<Held>,
    /// What the sides have said and nobody wanted to hear yet.
    unheard: [Vec<u8>; 2],
    over: [bool; 2],
    closed: bool,
    /// Bytes that went to the server after the login.
    pub passed: usize,
    /// Which side was told that nothing more comes.
    pub end_told: [bool; 2],
    /// What the guard itself told the client, logins included, since [`Harness::forget`].
    pub told: Vec<u8>,
}

impl Harness {
    /// One that is connected; the bits of `choices` decide about accounts, TLS and bounds.
    pub fn new(choices: u8) -> Self {
        let chosen = |bit: u8| choices & 1 << bit != 0;
        let options = Options { queue_max: chosen(2).then_some(0), named_max: 1, ..Options::default() };
        let gateway = Arc::new(Gateway::new(Keeper::new([1; 2], options)));
        let backend = match chosen(0) {
            true => Address::Unix(PathBuf::from("/model")),
            false => Address::Tcp { host: "model".to_owned(), port: 3306 },
        };
        let mut plan = Plan::new(Address::Unix(PathBuf::from("/guard")), backend);
        plan.refuse_host_accounts = chosen(1);
        plan.administrators = vec!["boss".to_owned()];
        let terms = Terms { plan, tls_offered: chosen(5), backend_tls: TlsMode::Preferred };
        let mut harness = Self {
            session: Session::new(ME, chosen(3), Nanos::ZERO),
            witness: Witness::new(terms.clone()),
            terms,
            door: gateway.clone(),
            gateway,
            stats: Stats::default(),
            now: Nanos::ZERO,
            login_packets: [0; 2],
            other: None,
            unheard: [Vec::new(), Vec::new()],
            over: [false; 2],
            closed: false,
            passed: 0,
            end_told: [false; 2],
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
        self.says_hello(user, capabilities);
        self.says_packet(Side::Server, 2, b"\0\0\0\x02\0\0\0");
    }

    /// The same of a server that refuses.
    pub fn log_in_in_vain(&mut self, user: &str, capabilities: u32) {
        self.says_hello(user, capabilities);
        self.says_packet(Side::Server, 2, b"\xff\x15\x04#28000denied");
    }

    fn says_hello(&mut self, user: &str, capabilities: u32) {
        self.greet();
        let hello = [
            &capabilities.to_le_bytes()[..],
            &[0, 0, 0, 64, 45],
            &[0; 23],
            user.as_bytes(),
            b"\0\0mysql_native_password\0",
        ];
        self.says_packet(Side::Client, 1, &hello.concat());
    }

    /// The server answers the guard's question for an account.
    pub fn tell_account(&mut self, user: &str, host: &str, how: &str) {
        let row = format!("CREATE USER `{user}`@`{host}` {how}");
        let row = [&[row.len() as u8][..], row.as_bytes()].concat();
        let end = b"\xfe\0\0\x02\0";
        let packets: [&[u8]; 5] =
            [b"\x01", b"\x03def\0\0\0\x01a\0\x0c\x3f\0\x0b\0\0\0\xfd\0\0\0\0\0", end, &row, end];
        for (number, payload) in (1..).zip(packets) {
            self.says_packet(Side::Server, number, payload);
        }
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

    /// What was said and is wanted by now is heard.
    pub fn hear(&mut self) {
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

    /// Lets this time pass, with the ticks that fall due in it.
    pub fn waits(&mut self, time: Nanos) {
        self.now += time;
        self.gateway.set(self.now);
        self.gateway.reach(None, &mut |gate, now| gate.tick(now));
        self.happens(Event::Tick);
    }

    /// Somebody else takes a permit, or gives it back.
    pub fn toggle_other(&mut self) {
        let other = &mut self.other;
        self.gateway.reach(None, &mut |gate, now| {
            let caller = Caller { session: OTHER, tenant: gate.tenant("other"), server: 0, thread: 0 };
            match other.take() {
                None => *other = Some(gate.enter(now, caller, 0)),
                Some(held) => gate.leave(now, caller, held),
            }
        });
        self.deliver();
    }

    /// Something happens to the session, and what it wants is done and judged.
    pub fn happens(&mut self, event: Event<'_>) {
        if self.closed {
            return;
        }
        let logs_in = self.session.login_since().is_some();
        let said = if let Event::Said(side, bytes) = &event { Some((*side, *bytes)) } else { None };
        let hidden = match said {
            Some((Side::Server, bytes)) => self.witness.server_says(bytes),
            _ => 0..0,
        };
        let (mut notices, mut actions) = (Vec::new(), Vec::new());
        let mut long_from = Nanos::ZERO;
        self.gateway.reach(None, &mut |gate, _| long_from = gate.long_from());
        let mut cx = Context {
            terms: &self.terms,
            door: &self.door,
            long_from,
            stats: &self.stats,
            server: 0,
            led: 0,
            now: self.now,
            notices: &mut notices,
            actions: &mut actions,
        };
        self.session.on(event, &mut cx);
        for action in actions {
            self.judge_action(&action, logs_in, said, &hidden);
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

    fn notice(&mut self, notice: evenkeel_core::admission::Notice) {
        use evenkeel_core::admission::Notice::{Admitted, Rejected};
        if session_of(notice) != ME {
            return;
        }
        self.happens(match notice {
            Admitted(..) => Event::Admitted,
            Rejected(_, rejection) => Event::Rejected(rejection),
        });
    }

    fn judge_action(
        &mut self,
        action: &Action,
        logs_in: bool,
        said: Option<(Side, &[u8])>,
        hidden: &Range<usize>,
    ) {
        match action {
            Action::Pass(range) => {
                let Some((from, bytes)) = said else { panic!("{range:?} passes, and nobody said anything") };
                let length = bytes.len();
                assert!(range.start <= range.end && range.end <= length, "{range:?} of {length} bytes");
                assert!(!logs_in, "{range:?} of {from:?} pass unread during the login");
                if from == Side::Client {
                    return self.goes_to_server(&bytes[range.clone()], logs_in);
                }
                let apart = range.is_empty() || range.end <= hidden.start || range.start >= hidden.end;
                assert!(apart, "{range:?} pass, and {hidden:?} is an OK whose account was not checked");
            }
            Action::Send(Side::Server, bytes) => self.goes_to_server(bytes, logs_in),
            Action::Send(Side::Client, bytes) => {
                self.login_packets[Side::Client as usize] += usize::from(logs_in);
                self.told.extend_from_slice(bytes);
                self.witness.guard_says(bytes).unwrap_or_else(|what| panic!("{what}"));
            }
            Action::Close => self.closed = true,
            Action::End(side) => self.end_told[*side as usize] = true,
            Action::ClientTls(_) | Action::ServerTls | Action::Malformed(_) => {}
        }
    }

    fn goes_to_server(&mut self, bytes: &[u8], logs_in: bool) {
        // The server's OK ends the login in the middle of the event, and the guard's question follows in the same one.
        if logs_in && !self.witness.is_in() {
            self.login_goes_to_server(bytes);
        } else {
            self.passed += bytes.len();
        }
        self.witness.goes_to_server(bytes).unwrap_or_else(|what| panic!("{what}"));
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
        self.gateway.reach(None, &mut |gate, _| census = gate.brief_census());
        let standing = if self.closed { None } else { self.session.standing() };
        let count = |wanted: Standing| usize::from(standing == Some(wanted));
        let other = usize::from(self.other.is_some());
        let found = (census.running(), census.aside, census.waiting());
        // One that is closed is dropped by its owner right after, and its permit with it.
        if !self.closed {
            assert_eq!(
                found,
                (count(Standing::Held) + other, count(Standing::Aside), count(Standing::Waiting))
            );
        }
        self.gateway.verdict().unwrap_or_else(|what| panic!("{what}"));
    }

    /// The owner drops the session: nothing of it is left at the gate.
    pub fn drop_session(mut self) {
        if self.other.is_some() {
            self.toggle_other();
        }
        drop(self.session);
        let mut census = Census::default();
        self.gateway.reach(None, &mut |gate, now| census = gate.census(now));
        let exempt: usize = census.tenants.iter().map(|tenant| tenant.exempt).sum();
        let left = (census.running(), census.aside, census.waiting(), exempt);
        assert_eq!(left, (0, 0, 0, 0), "{census:?}");
    }
}
