//! Who comes in at the model of a server, and as whom a connection goes on.

use super::super::ledger::Ledger;
use super::super::script::{ADMINISTRATOR, BOUND, ORDINARY, SYSTEM};
use super::{Connection, Phase};
use evenkeel_core::random::Random;

const ACCOUNTS: [&str; 4] = [ORDINARY, BOUND, SYSTEM, ADMINISTRATOR];
const DENIED: &[u8] = b"\xff\x15\x04#28000denied";

impl Connection {
    pub(super) fn log_in(&mut self, payload: &[u8], ledger: &mut Ledger, random: &mut Random) {
        let user = payload.get(32..).unwrap_or_default().split(|byte| *byte == 0).next().unwrap_or_default();
        let user = String::from_utf8_lossy(user).into_owned();
        if random.chance(0.3) {
            self.say_login(ledger, 2, b"\xfemysql_native_password\0abcdefghijklmnopqrst\0");
            self.phase = Phase::Proof { user, login: true };
        } else {
            self.judge(ledger, 2, user);
        }
    }

    fn judge(&mut self, ledger: &mut Ledger, number: u8, user: String) {
        if ACCOUNTS.contains(&user.as_str()) {
            self.first_user.clone_from(&user);
            self.user = user;
            self.phase = Phase::Ready;
            let ok = self.ok();
            self.say_login(ledger, number, &ok);
        } else {
            self.say_login(ledger, number, DENIED);
            ledger.reasons.server_ends(ledger.reasons.now);
            self.ended = true;
        }
    }

    pub(super) fn proved(&mut self, ledger: &mut Ledger, number: u8, user: String, login: bool) {
        if login {
            return self.judge(ledger, number.wrapping_add(1), user);
        }
        ledger.proof_wanted = false;
        self.change_to(ledger, number.wrapping_add(1), user);
    }

    pub(super) fn change_to(&mut self, ledger: &mut Ledger, number: u8, user: String) {
        let known = ACCOUNTS.contains(&user.as_str());
        self.phase = Phase::Ready;
        if known {
            (self.user, self.fresh) = (user, true);
            let ok = self.ok();
            return self.answer(ledger, number, &ok, true);
        }
        self.answer(ledger, number, DENIED, true);
        ledger.reasons.server_ends(ledger.reasons.now);
        self.ended = true;
    }
}
