//! Blocks of a stream, worked on by all CPUs and handed over in their order.

use crate::blocks::Blocks;
use crate::{HaulError, locked};
use evenkeel_os::Stop;
use std::io::Read;
use std::path::Path;
use std::sync::{Condvar, Mutex, PoisonError};

/// Threads at most; each has a block and what became of it in memory.
const THREADS: usize = 16;
/// Threads beyond one for each CPU: those that wait for their turn, or for a page, leave no CPU idle.
const WAITING: usize = 2;

/// Who works on blocks, and takes them in their order.
pub(crate) trait Work: Sync {
    /// What a thread keeps from block to block.
    type Scratch: Default;

    /// Works on a block, beside others.
    fn work(&self, offset: u64, block: &[u8], scratch: &mut Self::Scratch) -> Result<(), HaulError>;
}

/// Takes what became of the blocks, in their order.
pub(crate) trait Sink<S>: Send {
    /// Decides what only the order of the blocks can decide, before a block is taken. `block` is what was worked on.
    fn settle(&mut self, _offset: u64, _block: &[u8], _scratch: &mut S) -> Result<(), HaulError> {
        Ok(())
    }

    fn take(&mut self, scratch: &S) -> Result<(), HaulError>;
}

struct Reading<R> {
    blocks: Blocks<R>,
    number: u64,
    ended: bool,
}

struct Turn<'a, K> {
    sink: &'a mut K,
    /// Number of the block that is taken next.
    number: u64,
    failed: Option<HaulError>,
}

struct Shared<'a, R, K> {
    reading: Mutex<Reading<R>>,
    turn: Mutex<Turn<'a, K>>,
    turned: Condvar,
    stop: &'a Stop,
    path: &'a Path,
}

/// Works on all blocks of a stream.
pub(crate) fn run<W, K>(
    blocks: Blocks<impl Read + Send>,
    path: &Path,
    work: &W,
    sink: &mut K,
    stop: &Stop,
) -> Result<(), HaulError>
where
    W: Work,
    K: Sink<W::Scratch>,
{
    let shared = Shared {
        reading: Mutex::new(Reading { blocks, number: 0, ended: false }),
        turn: Mutex::new(Turn { sink, number: 0, failed: None }),
        turned: Condvar::new(),
        stop,
        path,
    };
    let threads = std::thread::available_parallelism().map_or(1, |cpus| (cpus.get() + WAITING).min(THREADS));
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| shared.thread(work));
        }
    });
    let failed = shared.turn.into_inner().unwrap_or_else(PoisonError::into_inner).failed;
    failed.map_or(Ok(()), Err)
}

impl<R: Read + Send, K> Shared<'_, R, K> {
    fn thread<W>(&self, work: &W)
    where
        W: Work,
        K: Sink<W::Scratch>,
    {
        let (mut block, mut scratch) = (Vec::new(), W::Scratch::default());
        while let Some((number, read)) = self.next(&mut block) {
            let worked = read.and_then(|offset| {
                if self.stop.is_set() {
                    return Err(HaulError::Stopped { path: self.path.to_owned(), at: offset });
                }
                work.work(offset, &block, &mut scratch).map(|()| offset)
            });
            if !self.hand_over(number, worked, &block, &mut scratch) {
                return;
            }
        }
    }

    /// The next block with its number; `None` at the end, and behind a block that could not be read.
    fn next(&self, block: &mut Vec<u8>) -> Option<(u64, Result<u64, HaulError>)> {
        let mut reading = locked(&self.reading);
        if reading.ended {
            return None;
        }
        let number = reading.number;
        reading.number += 1;
        let read = reading.blocks.next(block).map_err(HaulError::io("read", self.path));
        reading.ended = !matches!(read, Ok(Some(_)));
        read.transpose().map(|read| (number, read))
    }

    /// Waits for the turn of a block and has it taken; false where one before it failed.
    fn hand_over<S>(&self, number: u64, worked: Result<u64, HaulError>, block: &[u8], scratch: &mut S) -> bool
    where
        K: Sink<S>,
    {
        let waits = |turn: &mut Turn<'_, K>| turn.number != number && turn.failed.is_none();
        let turn = self.turned.wait_while(locked(&self.turn), waits);
        let mut turn = turn.unwrap_or_else(PoisonError::into_inner);
        if turn.failed.is_some() {
            return false;
        }
        let taken = worked.and_then(|offset| {
            turn.sink.settle(offset, block, scratch)?;
            turn.sink.take(scratch)
        });
        turn.failed = taken.err();
        turn.number += 1;
        self.turned.notify_all();
        turn.failed.is_none()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::blocks::{BLOCK, Separator};

    struct Copy;

    impl Work for Copy {
        type Scratch = (u64, Vec<u8>);

        fn work(&self, offset: u64, block: &[u8], scratch: &mut Self::Scratch) -> Result<(), HaulError> {
            *scratch = (offset, block.to_vec());
            Ok(())
        }
    }

    #[derive(Default)]
    struct Kept {
        bytes: Vec<u8>,
        fails_at: Option<u64>,
    }

    impl Sink<(u64, Vec<u8>)> for Kept {
        fn take(&mut self, (offset, block): &(u64, Vec<u8>)) -> Result<(), HaulError> {
            assert_eq!(*offset, self.bytes.len() as u64, "blocks come in their order");
            if self.fails_at.is_some_and(|at| at <= *offset) {
                return Err(HaulError::Nothing("full".to_owned()));
            }
            self.bytes.extend(block);
            Ok(())
        }
    }

    fn text() -> Vec<u8> {
        let mut text = Vec::new();
        while text.len() < 9 * BLOCK {
            text.extend(format!("{}\n", text.len()).into_bytes());
        }
        text
    }

    fn copied(sink: &mut Kept, stop: &Stop) -> Result<(), HaulError> {
        let text = text();
        run(Blocks::new(&text[..], Separator::Line, 0), Path::new("a"), &Copy, sink, stop)
    }

    #[test]
    fn all_blocks_arrive_in_their_order() {
        let mut kept = Kept::default();
        copied(&mut kept, &Stop::default()).unwrap();
        assert!(kept.bytes == text());
    }

    #[test]
    fn after_a_block_that_nobody_can_take_none_is_taken() {
        let mut kept = Kept { fails_at: Some(3 * BLOCK as u64), ..Kept::default() };
        assert!(matches!(copied(&mut kept, &Stop::default()), Err(HaulError::Nothing(_))));
        assert!(kept.bytes.len() <= 4 * BLOCK && text().starts_with(&kept.bytes));
    }

    #[test]
    fn who_is_asked_to_stop_says_how_far_it_came() {
        let stop = Stop::default();
        stop.set();
        let mut kept = Kept::default();
        assert!(matches!(copied(&mut kept, &stop), Err(HaulError::Stopped { at: 0, .. })));
    }
}
