//! Executions of a read, with a look at the server's counters before and after.

use super::{Executor, Measured, Result};
use crate::workload::Parameters;
use evenkeel_core::Nanos;
use evenkeel_os::clock::Clock;
use evenkeel_os::stop::Stop;
use evenkeel_site::server::Control;

/// Makes a read some times, each with parameters of its own, after one that is not counted; `None` where
/// there are no parameters to be had, or somebody asked to stop.
///
/// Looking at the counters moves them too, so they are looked at twice before: what the second look adds to
/// the first is taken off.
pub fn measure(
    control: &mut Control,
    executor: &Executor,
    (index, executions): (usize, u32),
    stop: &Stop,
    sample: &mut dyn FnMut(&mut Parameters) -> bool,
) -> Result<Option<Measured>> {
    let mut parameters = Parameters::new();
    if !sample(&mut parameters) {
        return Ok(None);
    }
    executor.execute(control, index, &parameters)?;
    let (first, before) = (handler_reads(control)?, handler_reads(control)?);
    let clock = Clock::start();
    let mut time = Nanos::ZERO;
    for _ in 0..executions {
        if stop.is_set() {
            return Ok(None);
        }
        sample(&mut parameters);
        let start = clock.now();
        executor.execute(control, index, &parameters)?;
        time += clock.now() - start;
    }
    let looking = before - first;
    let rows_read = (handler_reads(control)? - before - looking).max(0.0) / f64::from(executions);
    Ok(Some(Measured { time: Nanos(time.0 / u64::from(executions)), rows_read }))
}

fn handler_reads(control: &mut Control) -> Result<f64> {
    let rows = control.query("SHOW SESSION STATUS LIKE 'Handler\\_read%'")?;
    Ok(rows.rows.iter().filter_map(|row| row.get(1)?.as_ref()?.parse::<f64>().ok()).sum())
}
