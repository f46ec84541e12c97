//! A message between hosts has a member's report, and what the others need to know to place it.
//!
//! Its numbers are little-endian, it has its own length in it, and its bytes are the same in a slot and in a message of NATS:
//!
//! ```text
//!    0  magic      "EKSR"                     40  window       f64, I/Os: what the member has in force
//!    4  version    u16, 2                     48  most         f64, I/Os; 0: nothing bounds its window
//!    6  length     u16, of all                56  outstanding  f64, I/Os
//!    8  checksum   u32, CRC-32 of the rest    64  latency      f64, seconds; 0: nothing completed yet
//!   12  flags      u8, 1: the member leaves   72  completions  u64
//!   13  name       u8, its length             80  total        f64, I/Os; 0: the law has none
//!   14  disks      u16, at most 64            88  rate         f64, cost completed per second
//!   16  incarnation u64, random per start     96  cost latency f64, seconds in the mean over cost; 0: nothing yet
//!   24  sequence   u64, from 1               104  grain        f64, cost of an I/O in the mean over cost; 0: nothing yet
//!   32  period     u64, nanoseconds          112  costs        u64, mark of the table of costs; 0: not known
//!                                            120  name, UTF-8
//!                                                 then of each disk: shares f64, wanted f64
//! ```
//!
//! Figures are bounded (`figures`): a sender keeps to the bounds, and a reader drops a message that does not.
//!
//! Version 1 had no field from `rate` to `costs`.
//!
//! No instant of any clock is in it: what is old is found by who reads it, on his own clock. Whoever changes the form
//! raises the version; a reader drops versions that it does not know, and counts them.

use evenkeel_core::Nanos;
use evenkeel_core::share::{DiskUse, Report};

pub const VERSION: u16 = 2;
/// At most so many disks are in a message one by one; those beyond are added to the last.
pub const DISKS_MAX: usize = 64;
/// Longest name of a member in bytes.
pub const NAME_MAX: usize = 64;
/// Most bytes that a report takes.
pub const BYTES_MAX: usize = HEAD + NAME_MAX + DISKS_MAX * 16;

const MAGIC: &[u8; 4] = b"EKSR";
const HEAD: usize = 120;
const CHECKSUM: std::ops::Range<usize> = 8..12;
const LEAVES: u8 = 1;

#[derive(Clone, Debug, PartialEq)]
pub struct Message {
    pub member: String,
    /// A random number that the member drew at its start: two members of one name have two of them.
    pub incarnation: u64,
    pub sequence: u64,
    /// Time from one message to the next.
    pub period: Nanos,
    /// Whether the member leaves, so that this is its last message.
    pub leaves: bool,
    pub window: f64,
    /// Mark of its table of costs; 0 where it is not known.
    pub costs: u64,
    /// What the member's law reports.
    pub report: Report,
}

/// Why a message was dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dropped {
    /// The bytes are no message.
    Malformed,
    /// Its checksum is wrong: torn, or damaged.
    Checksum,
    /// It has another version.
    Version,
    /// Its figures cannot be.
    Figures,
    /// One that is as new, or newer, was heard before.
    Stale,
    /// It is further ahead of the one before than time has passed, so that its member cannot have sent it.
    Ahead,
    /// It came under the name of another member.
    Name,
    /// A live member of that name has another incarnation.
    Twin,
    /// There are more members than are listened to.
    Crowd,
}

impl Dropped {
    /// All reasons, in the order in which they are counted.
    pub const ALL: [Self; 9] = [
        Self::Malformed,
        Self::Checksum,
        Self::Version,
        Self::Figures,
        Self::Stale,
        Self::Ahead,
        Self::Name,
        Self::Twin,
        Self::Crowd,
    ];

    pub fn name(self) -> &'static str {
        const NAMES: [&str; Dropped::ALL.len()] =
            ["malformed", "checksum", "version", "figures", "stale", "ahead", "name", "twin", "crowd"];
        NAMES[self as usize]
    }
}

/// Whether a member may have this name: letters, digits, `-`, `_` and `.`, at most [`NAME_MAX`] of them.
pub fn is_name(name: &str) -> bool {
    let letter = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    (1..=NAME_MAX).contains(&name.len()) && name.bytes().all(letter)
}

/// A member's name as one word of a subject of NATS.
pub fn token(name: &str) -> String {
    name.replace('.', "_")
}

impl Message {
    /// The message as bytes that others accept: disks beyond [`DISKS_MAX`] are added to the last, and a figure that cannot be is the
    /// nearest one that can. A host whose report were dropped by all would have no window set by its law any more.
    pub fn encode(&self) -> Vec<u8> {
        self.bounded().bytes()
    }

    pub fn bytes(&self) -> Vec<u8> {
        let disks = &self.report.disks;
        let mut bytes = Vec::with_capacity(BYTES_MAX);
        bytes.extend(MAGIC);
        bytes.extend(VERSION.to_le_bytes());
        bytes.extend([0; 6]);
        bytes.push(if self.leaves { LEAVES } else { 0 });
        bytes.push(self.member.len() as u8);
        bytes.extend((disks.len() as u16).to_le_bytes());
        bytes.extend(self.incarnation.to_le_bytes());
        bytes.extend(self.sequence.to_le_bytes());
        bytes.extend(self.period.0.to_le_bytes());
        let report = &self.report;
        let first = [self.window, report.most, report.outstanding, report.latency];
        bytes.extend(first.into_iter().flat_map(f64::to_le_bytes));
        bytes.extend(report.completions.to_le_bytes());
        let rest = [report.total, report.rate, report.cost_latency, report.grain];
        bytes.extend(rest.into_iter().flat_map(f64::to_le_bytes));
        bytes.extend(self.costs.to_le_bytes());
        bytes.extend(self.member.as_bytes());
        for disk in disks {
            bytes.extend(disk.shares.to_le_bytes());
            bytes.extend(disk.wanted.to_le_bytes());
        }
        let length = (bytes.len() as u16).to_le_bytes();
        bytes[6..8].copy_from_slice(&length);
        let sum = checksum(&bytes).to_le_bytes();
        bytes[CHECKSUM].copy_from_slice(&sum);
        bytes
    }

    /// From bytes, of which there may be more than the report has.
    pub fn decode(bytes: &[u8]) -> Result<Self, Dropped> {
        let mut fields = Fields(bytes);
        if fields.take::<4>()? != *MAGIC {
            return Err(Dropped::Malformed);
        }
        if u16::from_le_bytes(fields.take()?) != VERSION {
            return Err(Dropped::Version);
        }
        let length = usize::from(u16::from_le_bytes(fields.take()?));
        let whole = bytes.get(..length).filter(|whole| (HEAD..=BYTES_MAX).contains(&whole.len()));
        let whole = whole.ok_or(Dropped::Malformed)?;
        if u32::from_le_bytes(fields.take()?) != checksum(whole) {
            return Err(Dropped::Checksum);
        }
        let message = Fields(&whole[CHECKSUM.end..]).message()?;
        if message.is_sane() { Ok(message) } else { Err(Dropped::Figures) }
    }
}

/// CRC-32 of all but the checksum itself.
fn checksum(bytes: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&bytes[..CHECKSUM.start]);
    hasher.update(&bytes[CHECKSUM.end..]);
    hasher.finalize()
}

struct Fields<'a>(&'a [u8]);

impl<'a> Fields<'a> {
    fn slice(&mut self, length: usize) -> Result<&'a [u8], Dropped> {
        let (taken, rest) = self.0.split_at_checked(length).ok_or(Dropped::Malformed)?;
        self.0 = rest;
        Ok(taken)
    }

    fn take<const N: usize>(&mut self) -> Result<[u8; N], Dropped> {
        self.slice(N)?.try_into().map_err(|_| Dropped::Malformed)
    }

    fn u64(&mut self) -> Result<u64, Dropped> {
        Ok(u64::from_le_bytes(self.take()?))
    }

    fn f64(&mut self) -> Result<f64, Dropped> {
        Ok(f64::from_le_bytes(self.take()?))
    }

    /// All behind the checksum.
    fn message(mut self) -> Result<Message, Dropped> {
        let [flags, name, disks @ ..] = self.take::<4>()?;
        let (incarnation, sequence, period) = (self.u64()?, self.u64()?, Nanos(self.u64()?));
        let window = self.f64()?;
        let mut report = Report {
            most: self.f64()?,
            outstanding: self.f64()?,
            latency: self.f64()?,
            completions: self.u64()?,
            total: self.f64()?,
            rate: self.f64()?,
            cost_latency: self.f64()?,
            grain: self.f64()?,
            disks: Vec::new(),
        };
        let costs = self.u64()?;
        let member = std::str::from_utf8(self.slice(usize::from(name))?).map_err(|_| Dropped::Malformed)?;
        let disks = usize::from(u16::from_le_bytes(disks));
        if !is_name(member) || disks > DISKS_MAX || self.0.len() != disks * 16 {
            return Err(Dropped::Malformed);
        }
        for _ in 0..disks {
            report.disks.push(DiskUse { shares: self.f64()?, wanted: self.f64()? });
        }
        let leaves = flags & LEAVES != 0;
        Ok(Message {
            member: member.to_owned(),
            incarnation,
            sequence,
            period,
            leaves,
            window,
            costs,
            report,
        })
    }
}

#[cfg(test)]
pub(super) mod tests;

// Figures of a report lie within bounds.
//
// A sender brings its figures into these bounds, and a reader drops a message that is outside: one bound, written
// once, so that no figure that a host measures keeps its reports from being heard.

/// More I/Os, or shares, than anybody has.
const COUNT_MAX: f64 = 1e6;
/// More cost per second than any storage does.
const RATE_MAX: f64 = 1e12;
/// Latencies in seconds, where there is one: a smaller or greater one nothing has.
const LATENCIES: (f64, f64) = (1e-9, 3_600.0);
/// Costs of an I/O, where there is one.
const GRAINS: (f64, f64) = (1e-6, COUNT_MAX);
/// Shortest and longest period.
const PERIODS: (Nanos, Nanos) = (Nanos::from_millis(10), Nanos::from_secs(60));

impl Message {
    /// Whether its figures can be.
    fn is_sane(&self) -> bool {
        *self == self.bounded()
    }

    /// The same with figures that can be, the nearest to its own; what is no number is 0.
    fn bounded(&self) -> Self {
        let period = self.period.clamp(PERIODS.0, PERIODS.1);
        let report = &self.report;
        let completions_max = COUNT_MAX * period.as_secs_f64().max(1.0) * 10.0;
        let report = Report {
            disks: few(report.disks.iter().copied().map(disk)).into_iter().map(disk).collect(),
            most: count(report.most),
            outstanding: count(report.outstanding),
            latency: known(report.latency, LATENCIES),
            completions: report.completions.min(completions_max as u64),
            total: count(report.total),
            rate: up_to(report.rate, RATE_MAX),
            cost_latency: known(report.cost_latency, LATENCIES),
            grain: known(report.grain, GRAINS),
        };
        let (sequence, window) = (self.sequence.max(1), count(self.window));
        Self { sequence, period, window, report, ..self.clone() }
    }
}

fn disk(disk: DiskUse) -> DiskUse {
    DiskUse { shares: count(disk.shares), wanted: count(disk.wanted) }
}

fn count(value: f64) -> f64 {
    up_to(value, COUNT_MAX)
}

/// Between 0 and the most; no number is 0.
fn up_to(value: f64, most: f64) -> f64 {
    if value > 0.0 { value.min(most) } else { 0.0 }
}

/// 0 where nothing is known, else between these.
fn known(value: f64, (least, most): (f64, f64)) -> f64 {
    if value > 0.0 { value.clamp(least, most) } else { 0.0 }
}

/// At most [`DISKS_MAX`] disks, with the sums of all.
fn few(mut disks: impl Iterator<Item = DiskUse>) -> Vec<DiskUse> {
    let mut few: Vec<DiskUse> = disks.by_ref().take(DISKS_MAX).collect();
    if let Some(last) = few.last_mut() {
        for disk in disks {
            last.shares += disk.shares;
            last.wanted += disk.wanted;
        }
    }
    few
}
