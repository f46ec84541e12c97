//! A carrier that may hang, as storage does, stands behind a thread, so that nobody else waits for it without a bound.

use super::{BusError, Carrier, Piece};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, SyncSender, TrySendError, channel, sync_channel};
use std::time::Duration;

/// Longest wait to join: for a slot whose member is dead.
const JOIN: Duration = Duration::from_secs(660);

enum Ask {
    Join(Vec<u8>, Sender<Result<(), BusError>>),
    Send(Vec<u8>, Sender<Result<(), BusError>>),
    Hear(Sender<Result<Vec<Piece>, BusError>>),
}

/// Asks in a thread of its own. A call that does not answer in time is given up, and those behind it too.
pub struct Bounded {
    asks: SyncSender<Ask>,
    patience: Duration,
    keeps: bool,
}

impl Bounded {
    /// Around a carrier.
    pub fn start(carrier: Box<dyn Carrier>, patience: Duration) -> Result<Self, BusError> {
        let (asks, inbox) = sync_channel(1);
        let keeps = carrier.keeps();
        // It ends with the last sender. Nobody waits for it: it may hang for as long as its storage does.
        let thread = std::thread::Builder::new().name("bus".to_owned());
        let thread = thread.spawn(move || serve(carrier, &inbox));
        thread.map_err(|error| BusError::Down(format!("no thread for the bus: {error}")))?;
        Ok(Self { asks, patience, keeps })
    }

    fn ask<T>(
        &self,
        ask: Ask,
        answer: &Receiver<Result<T, BusError>>,
        patience: Duration,
    ) -> Result<T, BusError> {
        match self.asks.try_send(ask) {
            Ok(()) => {}
            Err(TrySendError::Full(_)) => return Err(BusError::Slow),
            Err(TrySendError::Disconnected(_)) => return Err(ended()),
        }
        answer.recv_timeout(patience).unwrap_or_else(|error| match error {
            RecvTimeoutError::Timeout => Err(BusError::Slow),
            RecvTimeoutError::Disconnected => Err(ended()),
        })
    }
}

fn ended() -> BusError {
    BusError::Down("the thread of the bus has ended".to_owned())
}

fn serve(mut carrier: Box<dyn Carrier>, inbox: &Receiver<Ask>) {
    // Whoever asked may wait no more.
    while let Ok(ask) = inbox.recv() {
        match ask {
            Ask::Join(hello, reply) => drop(reply.send(carrier.join(&hello))),
            Ask::Send(report, reply) => drop(reply.send(carrier.send(&report))),
            Ask::Hear(reply) => drop(reply.send(carrier.hear(Duration::ZERO))),
        }
    }
}

impl Carrier for Bounded {
    fn join(&mut self, hello: &[u8]) -> Result<(), BusError> {
        let (reply, answer) = channel();
        self.ask(Ask::Join(hello.to_vec(), reply), &answer, JOIN)
    }

    fn send(&mut self, report: &[u8]) -> Result<(), BusError> {
        let (reply, answer) = channel();
        self.ask(Ask::Send(report.to_vec(), reply), &answer, self.patience)
    }

    fn hear(&mut self, _: Duration) -> Result<Vec<Piece>, BusError> {
        let (reply, answer) = channel();
        self.ask(Ask::Hear(reply), &answer, self.patience)
    }

    fn keeps(&self) -> bool {
        self.keeps
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::{Arc, Mutex, PoisonError};

    /// Hangs for as long as somebody holds the lock.
    struct Hangs(Arc<Mutex<()>>);

    impl Carrier for Hangs {
        fn join(&mut self, _: &[u8]) -> Result<(), BusError> {
            Ok(())
        }

        fn send(&mut self, _: &[u8]) -> Result<(), BusError> {
            drop(self.0.lock().unwrap_or_else(PoisonError::into_inner));
            Ok(())
        }

        fn hear(&mut self, _: Duration) -> Result<Vec<Piece>, BusError> {
            Ok(Vec::new())
        }

        fn keeps(&self) -> bool {
            true
        }
    }

    #[test]
    fn storage_that_hangs_is_an_error_until_it_answers_again() {
        let lock = Arc::new(Mutex::new(()));
        let long = Duration::from_secs(60);
        let mut bus = Bounded::start(Box::new(Hangs(Arc::clone(&lock))), long).unwrap();
        assert!(bus.send(b"a").is_ok());
        let held = lock.lock().unwrap();
        bus.patience = Duration::from_millis(50);
        for _ in 0..4 {
            assert!(matches!(bus.send(b"b"), Err(BusError::Slow)));
        }
        bus.patience = long;
        drop(held);
        // One that was given up may still be in its way.
        while bus.send(b"c").is_err() {}
        assert!(bus.hear(Duration::ZERO).is_ok());
    }
}
