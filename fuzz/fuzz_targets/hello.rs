//! The packets of a login, of either side.
#![no_main]

use evenkeel_wire::relay::Dialect;
use evenkeel_wire::relay::hello::{self, ClientHello, ServerHello};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    if let Ok(mut server) = ServerHello::parse(data.to_vec()) {
        server.restrict(true);
        assert_eq!(server.payload().len(), data.len());
        assert!(server.offers_tls());
    }
    let _ = ClientHello::parse(data);
    let _ = hello::verdict(data);
    let _ = hello::tls_request(data);
    let _ = hello::names_of_change(data);
    let _ = hello::plugin_of_change(data, Dialect::new(u64::MAX));
});
