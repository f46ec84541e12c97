//! What CPU, memory and caches give to one thread.

use super::place::Place;
use crate::published::{Result, While};
use evenkeel_core::random::{Random, Seed};
use evenkeel_os::Stop;
use evenkeel_os::clock::monotonic;
use evenkeel_sense::memory::MemoryBounds;
use evenkeel_sense::{CpuOf, CpuUse};
use serde::{Deserialize, Serialize};
use std::fs::write;
use std::hint::black_box;
use std::process::Command;
use std::time::Duration;

/// What is measured, each the mean of its seconds.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Machine {
    /// Rounds of a multiplication, a shift and two other operations on 64 bits.
    pub operations_per_s: f64,
    /// Bytes that were copied from one part of the memory to another.
    pub copied_bytes_per_s: f64,
    /// ns of an access that waits for the one before, in 16 KiB and in 16 MiB; `None` where the place has no memory for that.
    pub access_ns: [Option<f64>; 2],
}

/// Bytes of the working sets of the accesses: the first cache holds one, and a guest has memory for the other.
const SETS: [u64; 2] = [16 << 10, 16 << 20];

/// The subcommand of this program that prints what [`measure`] says: a domain is joined by processes.
pub const INSIDE: &str = "probe-inside";
const AROUND: Duration = Duration::from_secs(60);

/// Measures for so many seconds each: operations, copying, and half a second for each working set.
/// Errors: the process that measures cannot be started, or ended.
pub fn machine(place: &Place, seconds: u32, stop: &Stop) -> Result<Option<Machine>> {
    let takes = Duration::from_secs(u64::from(seconds) * (2 + SETS.len() as u64));
    let program = std::env::current_exe().doing(|| "looking for the program of this process")?;
    let mut command = Command::new(program);
    let said = place.run(command.args([INSIDE, &seconds.to_string()]), takes + AROUND, stop)?;
    Ok(said.map(|said| serde_json::from_str(&said)).transpose()?)
}

/// Bytes of each of two buffers: no cache has both.
const COPIED: usize = 32 << 20;
/// Of a line of a cache.
const LINE: u64 = 64;
/// Operations and accesses between two looks at the clock; many even where each takes 300 ns.
const ROUNDS: u64 = 1 << 16;
/// A part of a second counts as one that had time stolen above this percentage of its CPUs: the kernel counts in steps of 10 ms.
const STOLEN_MAX: f64 = 1.01;
/// Of a working set, a second is this part of one.
const SET_PART: f64 = 0.5;

/// Measures in this process.
/// Errors: the kernel does not let the process be the first that a limit of memory ends.
pub fn measure(seconds: u32) -> Result<Machine> {
    // Rather than the server of the domain.
    write("/proc/self/oom_score_adj", "1000").doing(|| "making this process the first to go")?;
    let free = || MemoryBounds::of_process(std::process::id()).free().unwrap_or(u64::MAX) / 2;
    let mut state = 1;
    let operations_per_s = sliced(seconds, 1.0, || operate(&mut state));
    let length = COPIED.min((free() / 2) as usize);
    let (from, mut to) = (vec![1_u8; length], vec![0; length]);
    let copied_bytes_per_s = sliced(seconds, 1.0, || {
        to.copy_from_slice(black_box(&from));
        black_box(&to).len() as f64
    });
    drop((from, to));
    let access_ns = SETS.map(|bytes| {
        (bytes < free()).then(|| {
            let (ring, mut at) = (ring(bytes), 0);
            1e9 / sliced(seconds, SET_PART, || chase(&ring, &mut at))
        })
    });
    Ok(Machine { operations_per_s, copied_bytes_per_s, access_ns })
}

fn operate(state: &mut u64) -> f64 {
    for _ in 0..ROUNDS {
        *state = black_box((*state).wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1) ^ (*state >> 29));
    }
    ROUNDS as f64
}

/// Lines of a cache, each with the number of the next: one ring through all of them, in an order that no prefetcher guesses (Sattolo).
fn ring(bytes: u64) -> Vec<[u64; (LINE / 8) as usize]> {
    let mut random = Random::new(Seed(bytes));
    let mut ring: Vec<_> = (0..bytes / LINE).map(|line| [line; (LINE / 8) as usize]).collect();
    for last in (1..ring.len()).rev() {
        let other = random.uniform(0, last as u64 - 1) as usize;
        ring.swap(last, other);
    }
    ring
}

fn chase(ring: &[[u64; (LINE / 8) as usize]], at: &mut u64) -> f64 {
    for _ in 0..ROUNDS {
        *at = ring[*at as usize][0];
    }
    ROUNDS as f64
}

/// Does pieces for so many times `length_s` seconds; how much of what a piece returns came to a second.
fn sliced(count: u32, length_s: f64, mut piece: impl FnMut() -> f64) -> f64 {
    let cpus = CpuOf::Process(std::process::id()).cpus().map_or(CpuOf::Host, CpuOf::Cpus);
    piece();
    let slices = (0..count).map(|_| {
        let (before, began, mut amount) = (cpus.read(), monotonic(), 0.0);
        let took = loop {
            amount += piece();
            let took = monotonic() - began;
            if took.as_secs_f64() >= length_s {
                break took;
            }
        };
        let steal =
            before.zip(cpus.read()).and_then(|(before, after)| CpuUse::between(&before, &after, took)?.steal);
        (amount / took.as_secs_f64(), steal.is_some_and(|steal| steal > STOLEN_MAX))
    });
    summed(&slices.collect::<Vec<_>>())
}

/// The mean of those without stolen time; of all, where each had some.
fn summed(slices: &[(f64, bool)]) -> f64 {
    let all_stolen = slices.iter().all(|(_, is_stolen)| *is_stolen);
    let counted = slices.iter().filter(|(_, is_stolen)| !is_stolen || all_stolen);
    let (sum, count) = counted.fold((0.0, 0.0), |(sum, count), (rate, _)| (sum + rate, count + 1.0));
    sum / count
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_with_stolen_time_count_only_where_there_are_no_others() {
        assert_eq!(summed(&[(10.0, false), (2.0, true), (20.0, false)]), 15.0);
        assert_eq!(summed(&[(2.0, true), (4.0, true)]), 3.0);
    }

    #[test]
    fn a_walk_meets_each_line_before_it_comes_back() {
        let ring = ring(16 << 10);
        let (mut at, mut steps) = (ring[0][0], 1);
        while at != 0 {
            at = ring[at as usize][0];
            steps += 1;
        }
        assert_eq!(steps, 256);
    }
}
