//! One client: what it sends becomes requests, what it is answered is sent.

mod requests;

use super::memory::{List, Memory};
use super::output::{Output, Sent};
use super::patience::{Owes, Watch};
use super::payload::{Payload, Stream};
use crate::Request;
use evenkeel_os::Socket;
use evenkeel_wire::nbd::{Export, Handshake, RequestReader, Step};
use evenkeel_wire::{ProtocolError, nbd};
use rustls::ServerConfig;
use std::io;
use std::sync::Arc;

/// Most requests of one client that are not answered, or whose answer is not sent.
const REQUESTS_MAX: usize = 256;
/// Most bytes that those may move; one request may be larger.
const WEIGHT_MAX: u64 = 32 << 20;
/// Most answers of a handshake that are not sent.
const SAYINGS_MAX: usize = 64;
/// Reads from a socket before others have their turn.
const READS: usize = 16;

/// What reading needs of the front.
pub(super) struct Context<'a> {
    pub exports: &'a [Export],
    pub tls: Option<&'a Arc<ServerConfig>>,
    pub memory: &'a mut Memory,
    pub requests: &'a mut Vec<Request>,
    pub scratch: &'a mut [u8],
    pub connection: u64,
}

/// How reading ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Flow {
    /// The socket is empty, or nothing more is read of it.
    Empty,
    More,
    /// It goes on when something was given back.
    Waits,
    /// The connection cannot go on.
    Broken,
}

enum Phase {
    /// Among all disks, or with this one alone.
    Choosing(Box<Handshake>, Option<usize>),
    Serving {
        disk: usize,
        reader: RequestReader,
    },
}

pub(super) struct Connection {
    /// None when it is gone, and answers are still to come.
    stream: Option<Stream>,
    phase: Phase,
    payload: Payload,
    /// A request that waits for memory.
    stalled: Option<nbd::Request>,
    /// Bytes received behind it, and how many of them are counted as memory.
    pending: Vec<u8>,
    kept: usize,
    readable: bool,
    /// The other side has ended what it sends, so that what is there must be read to the end.
    ended: bool,
    /// Nothing more is read.
    over: bool,
    asked: List,
    output: Output,
    /// Memory of requests that are not answered.
    held: usize,
    /// Payloads that came whole, and how often all answers were sent.
    payloads: u64,
    emptied: u64,
    watch: Watch,
    /// Its place among those that ever came, and where it came to.
    arrival: u64,
    pub door: Option<usize>,
    /// It waits for room to write, as the poller knows it.
    pub armed: bool,
    /// It is among those that wait for memory.
    pub waits: bool,
    /// Its turn among them, if it has had no memory since.
    pub turn: Option<u64>,
}

impl Connection {
    /// A client that has just arrived.
    pub fn new(socket: Socket, (disk, tls): (Option<usize>, bool), arrival: u64) -> Self {
        let mut greeting = Vec::new();
        let start = if tls { Handshake::start_tls } else { Handshake::start };
        let handshake = start(&mut greeting);
        let mut output = Output::default();
        output.say(&greeting);
        Self {
            stream: Some(Stream::new(socket)),
            phase: Phase::Choosing(Box::new(handshake), disk),
            payload: Payload::None,
            stalled: None,
            pending: Vec::new(),
            kept: 0,
            readable: false,
            ended: false,
            over: false,
            asked: List::default(),
            output,
            held: 0,
            payloads: 0,
            emptied: 0,
            watch: Watch::default(),
            arrival,
            door: None,
            armed: false,
            waits: false,
            turn: None,
        }
    }

    pub fn socket(&self) -> Option<&Socket> {
        self.stream.as_ref().map(Stream::socket)
    }

    /// When it came, if it has not chosen an export yet.
    pub fn is_choosing_since(&self) -> Option<u64> {
        (self.stream.is_some() && matches!(self.phase, Phase::Choosing(..))).then_some(self.arrival)
    }

    /// What it owes us before others can have all that it holds.
    pub fn owes(&self) -> Owes {
        match self.phase {
            _ if self.stream.is_none() => Owes::Nothing,
            Phase::Choosing(..) => Owes::Choice,
            Phase::Serving { .. } if self.payload.is_none() && self.output.len() == 0 => Owes::Nothing,
            Phase::Serving { .. } => Owes::Rest {
                payload: (!self.payload.is_none()).then(|| (self.payloads, self.payload.moved())),
                answers: (self.output.len() > 0).then(|| (self.emptied, self.output.total())),
            },
        }
    }

    /// Memory of all that it asked for.
    pub fn holds(&self) -> usize {
        self.held + self.output.held()
    }

    /// Looks at it once more; whether it has done nothing for too long. `hungry`: others wait for memory.
    pub fn is_over_due(&mut self, hungry: bool) -> bool {
        let owes = self.owes();
        let held = hungry.then(|| self.holds());
        self.watch.is_over(owes, held)
    }

    /// Nothing is to come from it or for it.
    pub fn is_done(&self) -> bool {
        self.over && self.asked.len() == 0 && !self.has_unsent()
    }

    pub fn has_unsent(&self) -> bool {
        self.output.len() > 0 || self.stream.as_ref().is_some_and(Stream::has_unsent)
    }

    /// Requests that the engine has.
    pub fn outstanding(&self) -> usize {
        self.asked.len()
    }

    /// There are bytes to read, or the end.
    pub fn set_readable(&mut self, ended: bool) {
        self.readable = true;
        self.ended |= ended;
    }

    /// Reads no more; what was asked is still answered.
    pub fn stop(&mut self, memory: &mut Memory) {
        self.over = true;
        self.stalled = None;
        self.keep_pending(Vec::new(), memory);
        self.held -= self.payload.drop(memory);
    }

    pub fn disk(&self) -> Option<usize> {
        if let Phase::Serving { disk, .. } = self.phase { Some(disk) } else { None }
    }

    /// The client is gone: nothing is kept but what the engine still has.
    pub fn part(&mut self, memory: &mut Memory) {
        self.stop(memory);
        self.output.clear(memory);
        self.stream = None;
    }

    /// Takes what there is to read, as far as there is memory for it.
    pub fn read(&mut self, context: &mut Context<'_>) -> Flow {
        for _ in 0..READS {
            match self.read_once(context) {
                Ok(None) => {}
                Ok(Some(flow)) => return flow,
                Err(_) => return Flow::Broken,
            }
        }
        Flow::More
    }

    /// What was kept, or what one look at the socket gives; `None` where there may be more.
    fn read_once(&mut self, context: &mut Context<'_>) -> io::Result<Option<Flow>> {
        if self.stalled.is_some() || !self.pending.is_empty() {
            let kept = std::mem::take(&mut self.pending);
            return self.parse(&kept, context);
        }
        if self.over || !self.readable {
            return Ok(Some(Flow::Empty));
        }
        let room = context.memory.readable(self.holds()).min(context.scratch.len());
        let Some(stream) = &mut self.stream else { return Ok(Some(Flow::Empty)) };
        let wanted = self.payload.left() + room;
        let received = match self.payload.receive(stream, &mut context.scratch[..room]) {
            Ok(received) => received,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                self.readable = false;
                return Ok(Some(Flow::Empty));
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => return Ok(None),
            Err(error) => return Err(error),
        };
        if received.total() == 0 {
            self.stop(context.memory);
            return Ok(Some(Flow::Empty));
        }
        // Less than asked for: the socket is empty, and has an event when it no longer is. TLS may keep some.
        self.readable = self.ended || received.total() == wanted || stream.keeps();
        self.finish_payload(context);
        let scratch = std::mem::take(&mut context.scratch);
        let flow = self.parse(&scratch[..received.scratch], context);
        context.scratch = scratch;
        flow
    }

    /// Makes requests of bytes; keeps those that it cannot take yet.
    fn parse(&mut self, mut input: &[u8], context: &mut Context<'_>) -> io::Result<Option<Flow>> {
        let waits = loop {
            if self.over {
                return Ok(Some(Flow::Empty));
            }
            let went_on = match &self.phase {
                Phase::Choosing(..) => self.choose(&mut input, context),
                Phase::Serving { .. } => self.serve(&mut input, context),
            };
            match went_on.map_err(io::Error::other)? {
                Next::Again => {}
                Next::Wants => break false,
                Next::Waits => break true,
            }
        };
        self.keep_pending(input.to_vec(), context.memory);
        Ok(waits.then_some(Flow::Waits))
    }

    fn keep_pending(&mut self, bytes: Vec<u8>, memory: &mut Memory) {
        memory.keep(bytes.len(), self.kept);
        (self.kept, self.pending) = (bytes.len(), bytes);
    }

    fn choose(&mut self, input: &mut &[u8], context: &mut Context<'_>) -> Result<Next, ProtocolError> {
        let Phase::Choosing(handshake, only) = &mut self.phase else { return Ok(Next::Again) };
        if self.output.len() >= SAYINGS_MAX {
            return Ok(Next::Waits);
        }
        let mut bytes = Vec::new();
        let first = only.unwrap_or(0);
        let exports = &context.exports[first..only.map_or(context.exports.len(), |only| only + 1)];
        let step = handshake.take(input, exports, &mut bytes)?;
        self.output.say(&bytes);
        match step {
            Step::Wants => return Ok(Next::Wants),
            Step::Answered => {}
            Step::Chosen { export } => {
                self.phase = Phase::Serving { disk: first + export, reader: RequestReader::default() };
            }
            Step::Secures => {
                let first = std::mem::take(input);
                self.secure(first, context).map_err(|_| ProtocolError::Malformed("begin of TLS"))?;
            }
            Step::Ended => self.stop(context.memory),
        }
        Ok(Next::Again)
    }

    /// What was said before goes out as it is; a client that takes not even that is none.
    fn secure(&mut self, first: &[u8], context: &mut Context<'_>) -> io::Result<()> {
        let (Some(stream), Some(config)) = (&mut self.stream, context.tls) else {
            return Err(io::ErrorKind::Unsupported.into());
        };
        match self.output.flush(stream, context.memory)? {
            Sent::All => stream.secure(config, first),
            Sent::Full => Err(io::ErrorKind::WouldBlock.into()),
        }
    }

    fn serve(&mut self, input: &mut &[u8], context: &mut Context<'_>) -> Result<Next, ProtocolError> {
        if !self.payload.is_none() {
            self.payload.fill(input);
            return Ok(if self.finish_payload(context) { Next::Again } else { Next::Wants });
        }
        let Phase::Serving { reader, .. } = &mut self.phase else { return Ok(Next::Again) };
        let request = match self.stalled.take() {
            Some(request) => request,
            None => match reader.take(input)? {
                Some(request) => request,
                None => return Ok(Next::Wants),
            },
        };
        if self.begin(request, context) {
            return Ok(Next::Again);
        }
        self.stalled = Some(request);
        Ok(Next::Waits)
    }
}

/// How taking bytes goes on.
enum Next {
    Again,
    /// More bytes are wanted before it can go on.
    Wants,
    /// With something that was given back.
    Waits,
}
