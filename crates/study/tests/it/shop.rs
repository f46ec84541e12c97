//! A server with small TPC-W databases, for tests that ask.

use crate::sandbox::server;
use evenkeel_core::random::Seed;
use evenkeel_lab::data::tpcw::{Date, Scale};
use evenkeel_lab::data::{DataSpec, Via, populate};
use evenkeel_os::Stop;
use evenkeel_site::sandbox::Sandbox;
use evenkeel_site::server::{Control, Target};
use std::sync::{Arc, Mutex, PoisonError, Weak};

/// One server for all tests of a moment; gone when the last that holds it ends.
pub struct Shop {
    // Before its home, so that it is down before its files go.
    sandbox: Sandbox,
    _home: tempfile::TempDir,
}

/// The server that is up, or a new one.
pub fn shop() -> Arc<Shop> {
    static SHOP: Mutex<Weak<Shop>> = Mutex::new(Weak::new());
    let mut shared = SHOP.lock().unwrap_or_else(PoisonError::into_inner);
    shared.upgrade().unwrap_or_else(|| {
        let (home, sandbox) = server(&[]);
        let shop = Arc::new(Shop { sandbox, _home: home });
        *shared = Arc::downgrade(&shop);
        shop
    })
}

/// One emulated browser, a thousand items.
pub fn scale() -> Scale {
    Scale::new(1, 1_000).unwrap()
}

impl Shop {
    /// A connection to a new, empty database.
    pub fn empty(&self, name: &str) -> Control {
        let everywhere = self.sandbox.target();
        Control::connect(&everywhere).unwrap().exec(&format!("CREATE DATABASE `{name}`")).unwrap();
        Control::connect(&Target { database: Some(name.to_owned()), ..everywhere }).unwrap()
    }

    /// A connection to a new database of this scale.
    pub fn populated(&self, name: &str) -> Control {
        let control = self.empty(name);
        let spec = DataSpec {
            set: scale().into(),
            seed: Seed(1),
            today: Some(Date::new(2026, 1, 15)),
            via: Via::Load,
            threads: 2,
        };
        populate(control.target(), &spec, &Stop::default(), &mut |_| {}).unwrap();
        control
    }
}
