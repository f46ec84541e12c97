//! Populates a server with TPC-W and prints the stamp.
//!
//! usage: tpcw_populate URL EBS ITEMS SEED TODAY VIA THREADS

use evenkeel_core::random::Seed;
use evenkeel_lab::data::tpcw::Scale;
use evenkeel_lab::data::{DataSpec, populate};
use evenkeel_lab::stop::Stop;
use evenkeel_lab::target::Target;
use std::error::Error;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [url, ebs, items, seed, today, via, threads] = arguments.as_slice() else {
        return Err("usage: tpcw_populate URL EBS ITEMS SEED TODAY VIA THREADS".into());
    };
    let spec = DataSpec {
        set: Scale::new(ebs.parse()?, items.parse()?)?.into(),
        seed: Seed(seed.parse()?),
        today: Some(today.parse()?),
        via: via.parse()?,
        threads: threads.parse()?,
    };
    let mut last = None;
    let stamp =
        populate(&Target::parse(url)?, &spec, &std::env::temp_dir(), &Stop::default(), &mut |progress| {
            let now = (progress.phase, progress.table);
            if last.replace(now) != Some(now) {
                eprintln!("{:>9} of {} rows, {:?} {}", progress.rows_done, progress.rows_total, now.0, now.1);
            }
        })?;
    println!("{stamp}");
    Ok(())
}
