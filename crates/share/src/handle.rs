//! The way to an engine for other threads.

use super::{Errno, Failure, Reply, Request};
use evenkeel_core::histogram::Histogram;
use evenkeel_core::share::{Costs, Measured};
use evenkeel_os::Wake;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

#[derive(Debug)]
pub(super) enum Message {
    /// An I/O of a front with its own threads.
    Request(Request),
    Window(f64),
    Shares(usize, f64),
    Costs(Box<Costs>),
    /// A period has ended: what was seen in it is wanted.
    Measure(Sender<Seen>),
    /// No more requests; end when the last one has.
    Stop,
}

/// Clients that found no room, and wait to be accepted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Crowd {
    /// How often one did since the start.
    pub times: u64,
    /// Where it was the last time, and what there was too little of.
    pub last: String,
}

#[derive(Clone, Debug, Default)]
pub struct Counts {
    pub disks: Vec<DiskCounts>,
    /// Clients connected to the engine's own front.
    pub clients: usize,
    /// Clients that it had no room for.
    pub crowd: Crowd,
    /// Time that I/Os were held back.
    pub held: Histogram,
    /// Time from sent to completed.
    pub latency: Histogram,
}

/// Counts of a disk since the start.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct DiskCounts {
    /// Reads that ended well.
    pub reads: u64,
    /// Writes, trims and zeroes that ended well.
    pub writes: u64,
    pub read_bytes: u64,
    pub written_bytes: u64,
    pub flushes: u64,
    /// Requests that ended with an error.
    pub errors: u64,
    /// Cost of all that ended, flushes aside: device time in units of a 16 KB read, as far as the table of costs is right.
    pub cost: f64,
    /// Device time in seconds of one spindle by the storage's own account, where it keeps one: a simulated array.
    pub device_s: Option<f64>,
    /// Those of them at which the storage failed; the rest asked for what cannot be.
    pub failures: u64,
    /// The last of those failures.
    pub last_failure: Option<Failure>,
    /// Why what was written may be gone, once it may.
    pub lost: Option<Errno>,
}

#[derive(Clone, Debug)]
pub struct Seen {
    pub measured: Measured,
    pub window: f64,
    /// I/Os held back now.
    pub waiting: usize,
    /// Cost outstanding now.
    pub outstanding: f64,
    pub counts: Counts,
}

/// Messages to an engine, and the way to wake it.
#[derive(Debug)]
pub(super) struct Inbox {
    messages: Mutex<Vec<Message>>,
    wake: Wake,
    /// The engine will look before it sleeps.
    awake: AtomicBool,
    /// The engine has ended and takes no more messages.
    ended: AtomicBool,
}

impl Inbox {
    pub fn new() -> io::Result<Self> {
        let wake = Wake::new()?;
        Ok(Self {
            messages: Mutex::default(),
            wake,
            awake: AtomicBool::new(true),
            ended: AtomicBool::new(false),
        })
    }

    pub fn wake(&self) -> &Wake {
        &self.wake
    }

    pub fn take(&self, taken: &mut Vec<Message>) {
        std::mem::swap(&mut *self.messages.lock().unwrap_or_else(PoisonError::into_inner), taken);
    }

    pub fn has_messages(&self) -> bool {
        !self.messages.lock().unwrap_or_else(PoisonError::into_inner).is_empty()
    }

    /// Before the engine sleeps: whether it may. Whoever puts a message in after this wakes it.
    pub fn may_sleep(&self) -> bool {
        self.awake.store(false, Ordering::SeqCst);
        let empty = self.messages.lock().unwrap_or_else(PoisonError::into_inner).is_empty();
        if !empty {
            self.awake.store(true, Ordering::SeqCst);
        }
        empty
    }

    pub fn is_awake(&self) {
        self.awake.store(true, Ordering::SeqCst);
    }

    /// Ends it with whoever holds this, however he ends.
    pub fn guarded(self: &Arc<Self>) -> Ending {
        Ending(Arc::clone(self))
    }

    /// The engine has ended: what is left in the inbox, and takes no more.
    pub fn end(&self) -> Vec<Message> {
        let mut messages = self.messages.lock().unwrap_or_else(PoisonError::into_inner);
        self.ended.store(true, Ordering::SeqCst);
        std::mem::take(&mut messages)
    }

    /// Gives the message back where nobody will read it.
    fn put(&self, message: Message) -> Result<(), Message> {
        let mut messages = self.messages.lock().unwrap_or_else(PoisonError::into_inner);
        if self.ended.load(Ordering::SeqCst) {
            return Err(message);
        }
        messages.push(message);
        drop(messages);
        if !self.awake.swap(true, Ordering::SeqCst) {
            self.wake.wake();
        }
        Ok(())
    }
}

/// Answers what is left in the inbox of an engine that has ended, or panicked.
pub(super) struct Ending(Arc<Inbox>);

impl Drop for Ending {
    fn drop(&mut self) {
        for message in self.0.end() {
            if let Message::Request(Request { reply: Reply::Call(call), .. }) = message {
                call(Err(Errno::SHUTDOWN));
            }
        }
    }
}

/// A way to an engine that may be kept by fronts and by whoever controls it.
#[derive(Clone, Debug)]
pub struct Handle(pub(super) Arc<Inbox>);

impl Handle {
    /// Asks for an I/O; an engine that has ended answers that it has.
    pub fn submit(&self, request: Request) {
        if let Err(Message::Request(Request { reply: Reply::Call(call), .. })) =
            self.0.put(Message::Request(request))
        {
            call(Err(Errno::SHUTDOWN));
        }
    }

    pub fn set_window(&self, window: f64) {
        let _ = self.0.put(Message::Window(window));
    }

    /// Sets the shares of a disk, above zero.
    pub fn set_shares(&self, disk: usize, shares: f64) {
        let _ = self.0.put(Message::Shares(disk, shares));
    }

    pub fn set_costs(&self, costs: Costs) {
        let _ = self.0.put(Message::Costs(Box::new(costs)));
    }

    /// Ends a period: what was seen in it. `None` where the engine does not answer within `patience`.
    pub fn measure(&self, patience: Duration) -> Option<Seen> {
        let (sender, receiver): (Sender<Seen>, Receiver<Seen>) = channel();
        self.0.put(Message::Measure(sender)).ok()?;
        receiver.recv_timeout(patience).ok()
    }

    pub(super) fn stop(&self) {
        let _ = self.0.put(Message::Stop);
    }
}
