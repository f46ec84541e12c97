//! The thread that holds I/Os back and lets them go.

use super::ShareError;
use super::front::Front;
use super::front::nbd::Nbd;
use super::handle::{Handle, Inbox};
use super::plan::{DiskPlan, NbdPlan, Plan, exports};
use super::worker::Worker;
use std::io;
use std::sync::Arc;
use std::thread::JoinHandle;

/// Sockets at which clients may connect already, or are connected; they are answered once an engine serves them.
pub struct Listening(Nbd);

impl Listening {
    /// Listens for clients of these disks, whose requests may hold so many bytes of buffers.
    pub fn bind(nbd: &NbdPlan, disks: &[DiskPlan], memory: usize) -> Result<Self, ShareError> {
        Ok(Self(Nbd::bind(nbd, exports(disks)?, memory)?))
    }
}

pub struct Engine {
    handle: Handle,
    ports: Vec<u16>,
    thread: Option<JoinHandle<Result<(), ShareError>>>,
}

impl Engine {
    /// Begins to serve, the requests of other threads alone.
    pub fn start(plan: Plan) -> Result<Self, ShareError> {
        Self::start_with(plan, None)
    }

    /// As [`Engine::start`], and serves the disks to clients of sockets.
    pub fn start_nbd(plan: Plan, nbd: &NbdPlan) -> Result<Self, ShareError> {
        let listening = Listening::bind(nbd, &plan.disks, plan.memory)?;
        Self::start_listening(plan, listening)
    }

    /// As [`Engine::start_nbd`], at sockets that listen already.
    pub fn start_listening(plan: Plan, Listening(front): Listening) -> Result<Self, ShareError> {
        let ports = front.ports();
        let mut engine = Self::start_with(plan, Some(Box::new(front)))?;
        engine.ports = ports;
        Ok(engine)
    }

    /// As [`Engine::start`], with a front of its own.
    pub(crate) fn start_with(plan: Plan, front: Option<Box<dyn Front>>) -> Result<Self, ShareError> {
        evenkeel_os::allow_descriptors();
        let inbox = Arc::new(Inbox::new().map_err(ShareError::Start)?);
        let worker = Worker::new(plan, front, inbox.clone()).map_err(ShareError::Start)?;
        let builder = std::thread::Builder::new().name("disks".to_owned());
        let thread = builder.spawn(|| worker.run()).map_err(ShareError::Start)?;
        Ok(Self { handle: Handle(inbox), ports: Vec::new(), thread: Some(thread) })
    }

    pub fn handle(&self) -> Handle {
        self.handle.clone()
    }

    /// Ports it listens at, where the system chose them too.
    pub fn ports(&self) -> &[u16] {
        &self.ports
    }

    /// Whether its thread has ended, which it does not before [`Engine::stop`] unless the system fails it.
    pub fn has_failed(&self) -> bool {
        self.thread.as_ref().is_none_or(JoinHandle::is_finished)
    }

    /// Takes no more requests, lets those it has end, and flushes every disk.
    pub fn stop(mut self) -> Result<(), ShareError> {
        self.join()
    }

    fn join(&mut self) -> Result<(), ShareError> {
        self.handle.stop();
        let Some(thread) = self.thread.take() else { return Ok(()) };
        thread.join().unwrap_or_else(|_| Err(ShareError::Ended(io::Error::other("it panicked"))))
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        // Whoever drops an engine without asking does not want to know.
        let _ = self.join();
    }
}
