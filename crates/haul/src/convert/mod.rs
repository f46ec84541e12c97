//! Records of many files as delimited files, on all CPUs, in order, and with a bounded memory.

mod block;
mod job;
mod output;
pub(crate) mod pool;

use crate::HaulError;
use crate::blocks::Blocks;
use crate::keys::Seen;
use crate::layout::LayoutFile;
pub(crate) use block::{Context, Converted, tidy, write_reject};
pub use block::{Progress, Step, Tally};
use evenkeel_os::Stop;
pub use job::{Duplicates, Job};
pub use output::Done;
pub(crate) use pool::{Sink, Work, run};
use std::io::Read;

pub(crate) fn has_keys(file: &LayoutFile) -> bool {
    file.layout.types().iter().any(|each| !each.key.is_empty())
}

/// Notes the keys of an input, which is read from its beginning, and leaves the lines; `after` is called after each block.
pub(crate) fn see_again(
    context: &Context<'_>,
    stream: impl Read + Send,
    seen: &mut Seen,
    stop: &Stop,
    after: &mut (dyn FnMut() + Send),
) -> Result<(), HaulError> {
    let blocks = Blocks::new(stream, context.file.separator, 0);
    pool::run(blocks, context.path(), &Lines(context), &mut KeySink { seen, context, after }, stop)
}

pub(crate) struct Lines<'a>(pub &'a Context<'a>);

impl Work for Lines<'_> {
    type Scratch = Converted;

    fn work(&self, offset: u64, block: &[u8], scratch: &mut Converted) -> Result<(), HaulError> {
        self.0.convert(offset, block, scratch);
        Ok(())
    }
}

/// Takes the keys and leaves the lines.
struct KeySink<'a> {
    seen: &'a mut Seen,
    context: &'a Context<'a>,
    after: &'a mut (dyn FnMut() + Send),
}

impl Sink<Converted> for KeySink<'_> {
    fn settle(&mut self, offset: u64, block: &[u8], scratch: &mut Converted) -> Result<(), HaulError> {
        self.context.settle(Some(&mut *self.seen), offset, block, scratch)
    }

    fn take(&mut self, _: &Converted) -> Result<(), HaulError> {
        (self.after)();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::input::list;
    use crate::layout::{self, LayoutFile};
    use crate::{HaulError, Step};
    use evenkeel_os::Stop;
    use std::collections::BTreeMap;
    use std::fs;
    use std::io::Write;
    use std::path::Path;
    use std::sync::atomic::{AtomicU64, Ordering};
    use tempfile::TempDir;

    struct Bench {
        home: TempDir,
        file: LayoutFile,
    }

    const LAYOUT: &str = "key = ['seq']\n[[field]]\nname = 'seq'\nwidth = 8\ntype = 'integer'\n[[field]]\nname = 'name'\nwidth = 6\n";

    impl Bench {
        fn new() -> Self {
            let home = tempfile::tempdir().unwrap();
            fs::create_dir(home.path().join("in")).unwrap();
            Self { home, file: layout::parse(LAYOUT).unwrap() }
        }

        fn put(&self, name: &str, text: impl AsRef<[u8]>) {
            fs::write(self.home.path().join("in").join(name), text).unwrap();
        }

        fn out(&self, name: &str) -> String {
            fs::read_to_string(self.home.path().join("out").join(name))
                .unwrap_or_else(|error| format!("{name}: {error}"))
        }

        fn job<'a>(&'a self, into: &'a Path, stop: &'a Stop) -> Job<'a> {
            let inputs = list(&[self.home.path().join("in").display().to_string()]).unwrap();
            Job { file: &self.file, inputs, into, duplicates: Duplicates::Refuse, stop }
        }

        fn convert(&self) -> Result<Vec<Done>, HaulError> {
            self.job(&self.home.path().join("out"), &Stop::default()).run(&mut |_| {})
        }
    }

    fn records(numbers: impl Iterator<Item = u64>) -> String {
        numbers.map(|number| format!("{number:>8}{:<6}\n", number % 1000)).collect()
    }

    #[test]
    fn every_record_is_a_line_or_a_reject_that_says_where_it_was_and_why() {
        let bench = Bench::new();
        bench.put(
            "a",
            "       1ada   \r\n       2bo;b  \nx      3eve   \n       1ada   \n       1eve   \n       4",
        );
        let done = bench.convert().unwrap();
        assert_eq!(bench.out("a.csv"), "1;ada\n2;bo\\;b\n");
        let path = bench.home.path().join("in/a").display().to_string();
        let expected = format!(
            "{path}\t31\tseq: not an integer\tx      3eve   \n{path}\t46\tduplicate of {path}:0\t       1ada   \n\
     {path}\t61\tsame key, other bytes than {path}:0\t       1eve   \n{path}\t76\ttoo short: 8 of 14\t       4\n"
        );
        assert_eq!(bench.out("a.rejects"), expected);
        let tally = &done[0].tally;
        assert_eq!((tally.records, tally.lines[0], tally.rejects), (6, 2, 4));
        assert_eq!((tally.duplicates, tally.contradictions, tally.reasons.len()), (1, 1, 4));
    }

    #[test]
    fn a_file_of_the_user_is_left_alone_also_in_the_place_of_an_output() {
        let bench = Bench::new();
        bench.put("a", records(0..10));
        let out = bench.home.path().join("out");
        fs::create_dir(&out).unwrap();
        for name in ["a.csv", "a.new"] {
            fs::write(out.join(name), "mine").unwrap();
        }
        assert!(matches!(bench.convert(), Err(HaulError::Foreign(_))));
        assert_eq!(bench.out("a.csv"), "mine");
        fs::remove_file(out.join("a.csv")).unwrap();
        bench.convert().unwrap();
        assert_eq!((bench.out("a.new").as_str(), out.join("a.done").exists()), ("mine", true));
        let made = bench.out("a.csv");
        // A note that cannot be read does not say whose the outputs are.
        fs::write(out.join("a.done"), "{").unwrap();
        assert!(matches!(bench.convert(), Err(HaulError::Foreign(_))));
        assert_eq!(bench.out("a.csv"), made);
    }

    #[test]
    fn a_record_that_does_not_fit_makes_no_other_one_a_duplicate() {
        let bench = Bench::new();
        bench.put("a", b"       1a\0d   \n       1ada   \n\xff\0\\n\t \n");
        bench.convert().unwrap();
        assert_eq!(bench.out("a.csv"), "1;ada\n");
        let rejects = bench.out("a.rejects");
        assert!(rejects.contains("name: a NUL byte"));
        assert!(rejects.ends_with("\t\\xff\\x00\\\\n\\x09 \n"), "its bytes can be had again: {rejects}");
    }

    #[test]
    fn a_rerun_leaves_what_is_done_and_goes_on_with_what_is_new() {
        let bench = Bench::new();
        bench.put("b", records(0..10));
        bench.convert().unwrap();
        let before = fs::metadata(bench.home.path().join("out/b.csv")).unwrap().modified().unwrap();
        // It stands before the other one in the order, and yet its records are the second of their kind.
        bench.put("a", records(5..15));
        let done = bench.convert().unwrap();
        assert_eq!(fs::metadata(bench.home.path().join("out/b.csv")).unwrap().modified().unwrap(), before);
        assert_eq!(bench.out("a.csv").lines().count(), 5);
        assert_eq!((done[0].tally.duplicates, done[1].tally.duplicates), (5, 0));
        bench.put("b", records(0..11));
        assert_eq!(bench.convert().unwrap()[1].tally.records, 11, "what changed is converted again");
    }

    #[test]
    fn work_that_was_ended_anywhere_comes_to_the_same_end() {
        let bench = Bench::new();
        let text = records((0..120_000).map(|number| number % 110_000));
        bench.put("a", &text);
        let whole = bench.home.path().join("whole");
        let done = bench.job(&whole, &Stop::default()).run(&mut |_| {}).unwrap();
        assert_eq!((done[0].tally.records, done[0].tally.duplicates), (120_000, 10_000));
        let out = bench.home.path().join("out");
        for stop_after in [200_000, 1_400_000] {
            let (stop, seen) = (Stop::default(), AtomicU64::new(0));
            let ended = bench.job(&out, &stop).run(&mut |progress| {
                seen.fetch_max(progress.records, Ordering::Relaxed);
                if progress.step == Step::Lines && progress.read > stop_after {
                    stop.set();
                }
            });
            assert!(ended.unwrap_err().is_stop() && seen.load(Ordering::Relaxed) > 0);
            assert!(!out.join("a.csv").exists(), "no half file under a final name");
            // What a kill leaves.
            fs::write(out.join(".a.csv.part"), "half a li").unwrap();
        }
        bench.convert().unwrap();
        for name in ["a.csv", "a.rejects"] {
            assert!(fs::read(out.join(name)).unwrap() == fs::read(whole.join(name)).unwrap(), "{name}");
        }
        let left: Vec<_> = out.read_dir().unwrap().flatten().map(|entry| entry.file_name()).collect();
        assert_eq!(left.len(), 3, "{left:?}");
    }

    #[test]
    fn a_file_that_grows_while_it_is_read_is_not_done() {
        let bench = Bench::new();
        bench.put("a", records(0..200_000));
        let path = bench.home.path().join("in/a");
        let out = bench.home.path().join("out");
        let mut grown = false;
        let stop = Stop::default();
        let ended = bench.job(&out, &stop).run(&mut |progress| {
            if progress.step == Step::Lines && !std::mem::replace(&mut grown, true) {
                fs::OpenOptions::new().append(true).open(&path).unwrap().write_all(b"       1").unwrap();
            }
        });
        assert!(matches!(ended, Err(HaulError::Changed { .. })), "{ended:?}");
        assert!(!out.join("a.csv").exists());
        assert_eq!(bench.convert().unwrap()[0].tally.records, 200_001);
    }

    #[test]
    fn two_inputs_of_one_name_and_two_processes_on_one_output_are_refused() {
        let bench = Bench::new();
        bench.put("a", records(0..10));
        bench.put("a.gz", records(0..10));
        assert!(matches!(bench.convert(), Err(HaulError::Refused(_))));
        fs::remove_file(bench.home.path().join("in/a.gz")).unwrap();
        let out = bench.home.path().join("out");
        let hidden = fs::File::create(out.join(".a.csv.part")).unwrap();
        assert!(evenkeel_os::try_lock(std::os::fd::AsFd::as_fd(&hidden)).unwrap());
        assert!(matches!(bench.convert(), Err(HaulError::InUse(_))));
    }

    #[test]
    fn each_type_of_record_has_a_file_of_its_own() {
        let mut bench = Bench::new();
        let text = "tell = { from = 0, width = 1 }\n[[record]]\nname = 'calls'\nis = ['C']\n[[record.field]]\nname = 'a'\nstart = 1\nwidth = 2\n\
            [[record]]\nname = 'texts'\nis = ['T']\n[[record.field]]\nname = 'b'\nstart = 1\nwidth = 3\n";
        bench.file = layout::parse(text).unwrap();
        bench.put("day", "C12\nTabc\nX\nC34\n");
        let done = bench.convert().unwrap();
        assert_eq!(
            (bench.out("day.calls.csv"), bench.out("day.texts.csv")),
            ("12\n34\n".to_owned(), "abc\n".to_owned())
        );
        assert_eq!((done[0].tally.lines.clone(), done[0].tally.rejects), (vec![2, 1], 1));
        let names: BTreeMap<_, _> = done[0].outputs.iter().cloned().collect();
        assert_eq!(names.len(), 3);
    }

    #[test]
    fn a_record_is_stored_once_however_files_come_change_and_are_ended() {
        let bench = Bench::new();
        let stored = |number: u64| {
            let line = format!("{number};{}", number % 1000);
            ["a.csv", "b.csv"]
                .iter()
                .map(|name| bench.out(name).lines().filter(|found| *found == line).count())
                .sum::<usize>()
        };
        bench.put("b", records(0..10));
        bench.convert().unwrap();
        bench.put("a", records(5..15));
        bench.convert().unwrap();
        assert_eq!((0..15).map(stored).collect::<Vec<_>>(), [1; 15]);
        // What `a` held back for the sake of `b` must not be held back by both.
        bench.put("b", records(5..20));
        bench.convert().unwrap();
        assert_eq!((5..20).map(stored).collect::<Vec<_>>(), [1; 15]);
        fs::remove_file(bench.home.path().join("out/b.csv")).unwrap();
        bench.convert().unwrap();
        assert_eq!((5..20).map(stored).collect::<Vec<_>>(), [1; 15]);
    }

    #[test]
    fn a_key_that_ends_early_is_the_key_that_is_there() {
        let mut bench = Bench::new();
        let text =
            "ragged = true\nkey = ['b']\nfield = [{ name = 'a', width = 1 }, { name = 'b', width = 4 }]\n";
        bench.file = layout::parse(text).unwrap();
        bench.put("a", "x1\nx12\nx123\nx12\n");
        bench.convert().unwrap();
        assert_eq!(bench.out("a.csv"), "x;1\nx;12\nx;123\n");
    }
}
