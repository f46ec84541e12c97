//! What a load costs that is cut in the middle: its connection is killed (`KILL CONNECTION`), and it is run again. A server that dies has to
//! start again first, which is not tried: it is somebody's server.

use super::ground::{Ground, TABLE};
use super::method::{Measured, Method};
use super::scratch::{Scratch, await_end, kill_load};
use crate::load::LoadError;
use crate::{HaulError, session};
use evenkeel_os::clock::monotonic;
use evenkeel_site::server::Control;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

/// Transactions of the sample in these trials, so that a part of it is in before the cut.
const PARTS: u64 = 8;
/// From one look at the load to the next.
const NAP: Duration = Duration::from_millis(1);

/// What a load cost whose connection was killed.
#[derive(Clone, Debug, serde::Serialize)]
pub struct Crash {
    /// The way of loading that was tried.
    pub way: Method,
    /// Bytes of the file in one transaction; none where there are none.
    pub transaction_bytes: Option<u64>,
    /// Share of the lines that had been sent when the connection was killed.
    pub killed_at: f64,
    /// Share of the lines that were sent twice.
    pub sent_twice: f64,
    /// Seconds that both loads together took longer than one that is not cut.
    pub seconds_lost: f64,
}

/// Tries the fastest way of each engine.
pub(super) fn try_all(
    ground: &Ground<'_>,
    scratch: &mut Scratch,
    measured: &[Measured],
    tell: &mut dyn FnMut(String),
) -> Result<Vec<Crash>, HaulError> {
    let mut seen = Vec::new();
    let mut found = Vec::new();
    for Measured { way, .. } in measured.iter().filter(|each| each.way.connections == 1) {
        if !seen.contains(&way.engine) {
            seen.push(way.engine);
            tell(format!("killing a load in the middle: {way}"));
            found.push(one(ground, scratch, *way)?);
        }
    }
    Ok(found)
}

fn one(ground: &Ground<'_>, scratch: &mut Scratch, way: Method) -> Result<Crash, HaulError> {
    let part_bytes = ground.bytes / PARTS + 1;
    scratch.clear(TABLE)?;
    let total = AtomicU64::new(0);
    let (clean_s, _) = ground.load(way, part_bytes, &total)?;
    let total = total.into_inner().max(1);
    scratch.clear(TABLE)?;
    let (first, cut_s) = cut(ground, way, part_bytes, total)?;
    let second = AtomicU64::new(0);
    let (again_s, _) = ground.load(way, part_bytes, &second)?;
    let second = second.into_inner();
    Ok(Crash {
        way,
        transaction_bytes: way.engine.has_transactions().then_some(part_bytes),
        killed_at: first as f64 / total as f64,
        sent_twice: (first + second).saturating_sub(total) as f64 / total as f64,
        seconds_lost: cut_s + again_s - clean_s,
    })
}

/// Loads, and kills the connection when half of the lines have been sent; bytes that were sent, and seconds until all was rolled back.
fn cut(ground: &Ground<'_>, way: Method, part_bytes: u64, total: u64) -> Result<(u64, f64), HaulError> {
    let (sent, over) = (AtomicU64::new(0), AtomicBool::new(false));
    let mut killer = session::connect(&ground.target, ground.plan.stop)?;
    let before = monotonic();
    let (loaded, killed) = std::thread::scope(|scope| {
        let load = scope.spawn(|| {
            let loaded = ground.load(way, part_bytes, &sent);
            over.store(true, Ordering::Relaxed);
            loaded
        });
        let killed = kill(&mut killer, (&sent, total / 2), &over);
        (load.join(), killed)
    });
    match (loaded, killed?) {
        (Ok(Err(HaulError::Server(_))), Some(id)) => {
            await_end(&mut killer, id)?;
            Ok((sent.into_inner(), (monotonic() - before).as_secs_f64()))
        }
        (Ok(Err(error)), _) => Err(error),
        (Ok(Ok(_)), _) => {
            let text = "the sample was loaded before its connection could be killed: take a larger --sample";
            Err(LoadError::Cannot(text.to_owned()).into())
        }
        (Err(panic), _) => std::panic::resume_unwind(panic),
    }
}

/// Waits until so much has been sent, and kills whatever sends then, which is its connection; `None` where the load ended before.
fn kill(
    control: &mut Control,
    (sent, enough): (&AtomicU64, u64),
    over: &AtomicBool,
) -> Result<Option<u32>, HaulError> {
    while !over.load(Ordering::Relaxed) {
        if sent.load(Ordering::Relaxed) >= enough
            && let Some(id) = kill_load(control)?
        {
            return Ok(Some(id));
        }
        std::thread::sleep(NAP);
    }
    Ok(None)
}
