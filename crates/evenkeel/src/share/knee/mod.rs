//! Storage measured at one depth after the other, for `evenkeel share knee`.
//!
//! `client` keeps reads outstanding, `sweep` goes over the depths in rounds, [`evenkeel_core::share::knee`] judges, `caveat` says
//! what there is to doubt and `show` what came of it. `costs` measures what
//! I/Os of other kinds and sizes cost. Nothing is printed here, and but for `costs` with its flag nothing is written to the storage.

mod caveat;
mod client;
pub mod costs;
mod show;

pub use caveat::{Storage, Sweep, SweepPlan, caveats, label, storage_caveats, sweep};
pub use client::Step;
pub use show::{DEPTH_MOST, Measurement, json, text};

#[cfg(test)]
mod tests {
    use super::caveat::{page_cache, reads_only};
    use super::*;
    use crate::table::Look;
    use evenkeel_core::Nanos;
    use evenkeel_core::histogram::Histogram;
    use evenkeel_core::random::Seed;
    use evenkeel_core::share::Costs;
    use evenkeel_core::share::knee::{Point, judge};
    use evenkeel_os::Stop;
    use evenkeel_share::{Answer, Backing, DiskPlan, Ended, Engine, Errno, Plan, Work};
    use serde_json::{Value, json as object};
    use std::io;
    use std::os::fd::RawFd;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    const BLOCK: u64 = 4_096;
    const BLOCKS: u64 = 64;

    /// Storage that takes a millisecond for a read, of any number at the same time, and fails after so many.
    struct Toy {
        under_way: Vec<(Nanos, u64, Work)>,
        good: u32,
        /// So many of its first reads end one by one, each only while so many are under way.
        together: (usize, usize),
        /// The most that ever were under way.
        most: Arc<AtomicUsize>,
    }

    impl Toy {
        fn answer(&mut self, work: Work) -> Answer {
            self.good = self.good.saturating_sub(1);
            match work {
                Work::Read { offset, buffer } if offset.is_multiple_of(BLOCK) && self.good > 0 => Ok(buffer),
                // A change or a flush would be a fault of ours.
                _ => Err(Errno::IO),
            }
        }
    }

    impl Backing for Toy {
        fn bytes(&self) -> u64 {
            BLOCK * BLOCKS
        }

        fn is_read_only(&self) -> bool {
            true
        }

        fn start(&mut self, id: u64, work: Work, now: Nanos) {
            self.under_way.push((now + Nanos::from_millis(1), id, work));
            self.most.fetch_max(self.under_way.len(), Ordering::SeqCst);
        }

        fn push(&mut self, _: Nanos) -> io::Result<()> {
            Ok(())
        }

        fn collect(&mut self, now: Nanos, ended: &mut Vec<Ended>) {
            let (left, together) = self.together;
            let mut may_end = match left {
                0 => usize::MAX,
                _ => usize::from(self.under_way.len() == together),
            };
            for (due, id, work) in std::mem::take(&mut self.under_way) {
                if due > now || may_end == 0 {
                    self.under_way.push((due, id, work));
                    continue;
                }
                may_end -= 1;
                self.together.0 = self.together.0.saturating_sub(1);
                ended.push(Ended { id, answer: self.answer(work) });
            }
        }

        fn descriptor(&self) -> Option<RawFd> {
            None
        }

        fn due(&self) -> Option<Nanos> {
            self.under_way.iter().map(|(due, ..)| *due).min()
        }
    }

    fn plan(depths: &[u32], rounds: u32) -> SweepPlan {
        SweepPlan {
            depths: depths.to_vec(),
            rounds,
            measure: Nanos::from_millis(40),
            block: BLOCK,
            seed: Seed(1),
        }
    }

    /// A sweep over toy storage, and the progress that it reported.
    fn swept(good: u32, plan: &SweepPlan, stop: &Stop) -> (anyhow::Result<Option<Sweep>>, Vec<String>) {
        swept_over(Toy { under_way: Vec::new(), good, together: (0, 0), most: Arc::default() }, plan, stop)
    }

    fn swept_over(toy: Toy, plan: &SweepPlan, stop: &Stop) -> (anyhow::Result<Option<Sweep>>, Vec<String>) {
        let backing = Box::new(toy);
        let disks = vec![DiskPlan { name: "toy".to_owned(), shares: 1.0, backing }];
        let engine =
            Engine::start(Plan { disks, window: f64::INFINITY, costs: Costs::default(), memory: 0 }).unwrap();
        let mut told = Vec::new();
        let found = sweep((engine.handle(), BLOCK * BLOCKS), plan, stop, &mut |text, _| told.push(text));
        engine.stop().unwrap();
        (found, told)
    }

    #[test]
    fn a_sweep_keeps_as_many_reads_outstanding_as_it_says() {
        for depth in [1, 2, 7] {
            let most = Arc::new(AtomicUsize::new(0));
            // A step lasts until as many have ended as are outstanding: up to then the storage is sure of the
            // next one.
            let together = (depth as usize, depth as usize);
            let toy = Toy { under_way: Vec::new(), good: u32::MAX, together, most: most.clone() };
            assert!(swept_over(toy, &plan(&[depth], 1), &Stop::default()).0.unwrap().is_some());
            assert_eq!(most.load(Ordering::SeqCst), depth as usize);
        }
    }

    #[test]
    fn a_sweep_goes_over_all_depths_in_all_rounds_and_counts_every_read_once() {
        let (found, told) = swept(u32::MAX, &plan(&[1, 2, 4], 2), &Stop::default());
        let sweep = found.unwrap().unwrap();
        assert_eq!(sweep.rounds.len(), 2);
        for step in sweep.rounds.iter().flatten() {
            // None ends where the machine stands still for a step.
            assert!(step.point.latency_s >= 0.001 || step.reads == 0, "{step:?}");
        }
        let counted: u64 = sweep.rounds.iter().flatten().map(|step| step.reads).sum();
        assert_eq!(sweep.latencies.iter().map(Histogram::count).sum::<u64>(), counted);
        assert_eq!(told[..2], ["round 1 of 2: 1 outstanding", "round 1 of 2: 2 outstanding"]);
        assert_eq!(told[3..5], ["round 2 of 2: 4 outstanding", "round 2 of 2: 2 outstanding"]);
    }

    #[test]
    fn a_read_that_fails_ends_the_sweep_with_what_failed() {
        // So many end in any case: each step lasts until as many have ended as are outstanding.
        let error = swept(7, &plan(&[1, 2, 4], 1), &Stop::default()).0.unwrap_err();
        let text = format!("{error:#}");
        assert!(text.contains("reading from the storage") && text.contains("Input/output error"), "{text}");
    }

    #[test]
    fn a_sweep_that_was_stopped_has_nothing_to_judge() {
        let stop = Stop::default();
        stop.set();
        assert!(swept(u32::MAX, &plan(&[1, 2], 1), &stop).0.unwrap().is_none());
    }

    /// What is shown of a curve, measured in rounds that are this many times as fast.
    fn shown(rounds: &[f64], throughput: impl Fn(f64) -> f64) -> (String, Value) {
        let depths = [1, 2, 4, 8, 16, 32, 64, 128];
        let step = |&depth: &u32, speed: f64| {
            let throughput = speed * throughput(depth.into());
            Step {
                reads: 1_000,
                point: Point { depth, throughput, latency_s: f64::from(depth) / throughput },
            }
        };
        let round = |&speed: &f64| depths.iter().map(|depth| step(depth, speed)).collect::<Vec<_>>();
        let rounds: Vec<Vec<Step>> = rounds.iter().map(round).collect();
        let mut latencies = vec![Histogram::default(); depths.len()];
        latencies[0].record(Nanos::from_millis(3));
        let plan = plan(&depths, rounds.len() as u32);
        let sweep = Sweep { rounds, latencies };
        let judgment = judge(&sweep.points()).unwrap();
        let caveats = [page_cache(1 << 30, Some(1 << 34)), reads_only(16_384)];
        let measured = Measurement { plan: &plan, sweep: &sweep, judgment: &judgment, caveats: &caveats };
        (text(&measured, Look { width: 100, colour: false }), json(&measured, object!({"path": "/dev/sdb"})))
    }

    /// Four exponential servers of 1 ms.
    fn network(depth: f64) -> f64 {
        4_000.0 * depth / (depth + 3.0)
    }

    #[test]
    fn a_threshold_stands_with_its_range_and_with_what_to_type() {
        let (text, json) = shown(&[1.0, 0.98, 1.02], network);
        assert!(text.starts_with("depth  I/Os/s  mean ms  p99 ms  spread over the rounds\n"), "{text}");
        assert!(text.contains("\n    1   1,000     1.00     3.1                     4 %\n"), "{text}");
        assert!(text.contains("\n  128   3,908     32.8       -                     4 %\n"), "{text}");
        assert!(
            text.contains(
                "\nknee at 23 outstanding: 0.9 of 3,908 I/Os per second; threshold 6.5 ms (6.4 to 6.6 over 3 rounds)\n\
             next: evenkeel share disk --latency 6.5ms\nwarning: the page cache"
            ),
            "{text}"
        );
        assert!(
            text.ends_with("note: a knee of reads of 16 KiB: writes and larger ones may cost more\n"),
            "{text}"
        );
        assert_eq!((&json["verdict"], &json["depths"][7]["outstanding"]), (&object!("found"), &object!(128)));
        let (least, most) = (json["threshold_ms_least"].as_f64(), json["threshold_ms_most"].as_f64());
        assert!(least < json["threshold_ms"].as_f64() && json["threshold_ms"].as_f64() < most, "{json}");
        assert_eq!(json["caveats"][0]["code"], "page-cache");
        assert_eq!(json["caveats"][1]["evidence"]["block_bytes"], 16_384.0);
    }

    #[test]
    fn where_there_is_no_threshold_it_is_said_why_and_what_to_do() {
        let (text, json) = shown(&[1.0], |depth| depth * 1e3);
        let expected = "no threshold: throughput still rises; the last doubling, to 128 outstanding, brought 100 % more\n\
                    next: measure deeper: --depth-max 256\n";
        assert!(text.contains(expected), "{text}");
        assert_eq!((&json["verdict"], &json["threshold_ms"]), (&object!("not-level"), &Value::Null));
        let (text, json) = shown(&[1.0], |depth| (depth * 1e3).min(3_000.0));
        assert!(text.contains("latency does not distinguish full storage from idle storage"), "{text}");
        assert!(
            text.contains(
                "next: give the latency that clients can accept, above the 1.00 ms of one read alone"
            ),
            "{text}"
        );
        assert_eq!((&json["verdict"], &json["threshold_ms"]), (&object!("flat"), &Value::Null));
    }

    #[test]
    fn rounds_that_disagree_give_their_figure_and_ask_for_another_measurement() {
        let (text, json) = shown(&[1.0, 0.5, 1.0], network);
        assert!(
            text.contains(
                "(6.5 to 13 over 3 rounds): rounds disagree by a factor of 2.0\nnext: measure again"
            ),
            "{text}"
        );
        assert!(json["verdict"] == "unsteady" && json["threshold_ms"].is_number(), "{json}");
    }
}
