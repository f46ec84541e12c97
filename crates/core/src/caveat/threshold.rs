//! From where on a doubt is stated: every bound that decides it, each with its reason. A bound on the same thing stands once;
//! where two differ, they answer two questions, and say which.

use crate::time::Nanos;

/// Mean dispatch lag up to this share of the mean response time is no doubt: it is part of the response time, so
/// that tau is too long by as much, and an error of 5 % is less than the standard error over runs may be.
pub const LAG_SHARE_MAX: f64 = 0.05;

/// Mean dispatch lag up to this share of the mean response time sets no run aside. Above, it does where a verdict is another one when
/// responses count from the instant of sending.
pub const LAG_SHARE_DECIDES: f64 = 0.02;

/// Mean dispatch lag up to here is always tolerated: what waking up a thread costs.
pub const LAG_ALWAYS_TOLERATED: Nanos = Nanos::from_micros(50);

/// p99 of the dispatch lag up to this share of the p99 of the response time is tolerated.
pub const LAG_TAIL_SHARE_MAX: f64 = 0.25;

/// p99 of the dispatch lag up to here is always tolerated.
pub const LAG_TAIL_ALWAYS_TOLERATED: Nanos = Nanos::from_micros(250);

/// Most that the CPU time of a request differs by between runs of one rate, percent: undisturbed runs differ by about 3.
pub const CPU_VARIES_MAX: f64 = 10.0;

/// Mean wait for a session up to this share of the mean response time is tolerated: tau is then that of the server to
/// within what [`LAG_SHARE_MAX`] allows the generator.
pub const SESSION_WAIT_SHARE_MAX: f64 = 0.05;

/// Mean wait for a session up to here is always tolerated.
pub const SESSION_WAIT_ALWAYS_TOLERATED: Nanos = LAG_ALWAYS_TOLERATED;

/// Share of its CPUs' time in percent for which a quota may hold the server back before that is said.
pub const HELD_BACK_MAX: f64 = 1.0;

/// Clock of the server's CPUs beside their fastest, in percent, below which it is called slow. That fastest is mostly one of
/// a single busy core, so that a machine with all cores at work lies below 100 without any fault.
pub const CLOCK_MIN: f64 = 70.0;

/// CPU use in percent up to which a thread of the generator keeps its schedule: a single-server queue at 90 %
/// makes requests wait nine times as long as they take to send.
pub const GENERATOR_CPU_MAX: f64 = 90.0;

/// Fewest runs of a cell: with two, Student's t makes the interval 12.7 standard errors wide on either side, with
/// three 4.3.
pub const RUNS_MIN: u64 = 3;

pub const RUNS_MIN_COUNT: usize = RUNS_MIN as usize;

/// Stolen CPU time in percent from which on the hypervisor shapes the response times: 1 % are 10 ms in each
/// second, in pieces that one request each has to bear.
pub const STEAL_MAX: f64 = 1.0;

/// Stolen CPU time in percent from which on a run is measured once more. That is another question than whether it is doubted
/// ([`STEAL_MAX`]), and the bound is twice as high: below 2 % (20 ms in each second) a second attempt on the same machine is rarely
/// any quieter.
pub const STEAL_REPEATED: f64 = 2.0 * STEAL_MAX;

/// CPU time of the server in percent below which what all neighbours took, the hypervisor among them, is called no matter: as much
/// as the hypervisor alone may take without a doubt.
pub const NEIGHBOURS_MIN: f64 = STEAL_MAX;

/// Share of the server's CPUs in percent that others took, from which on what a request costs and how long it takes is partly theirs.
pub const NEIGHBOURS_MUCH: f64 = 10.0;

/// CPU time of the machine in percent that neither server nor generator may use: 5 % of two cores are one tenth of
/// a core, which daemons of an idle machine do not reach.
pub const OTHER_LOAD_MAX: f64 = 5.0;

/// Share of CPU time that may be stolen or used by others in a stretch of a tenth of a second that counts as free, and in the look
/// that `doctor` takes at a machine. It is above [`STEAL_MAX`], which is about a whole run: kernels count so short a stretch coarsely.
pub const TAKEN_MAX: f64 = 0.03;

/// CPU time of the machine in percent that others used, beyond which a published finding is not judged without saying so in the
/// first sentence: with a fifth of the machine taken, throughput may fall by more than the
/// fall that is looked for.
pub const OTHER_LOAD_MUCH: f64 = 20.0;

/// Requests under way at the end that are always tolerated: some always are.
pub const BACKLOG_ALWAYS_TOLERATED: u64 = 10;

/// Share of the arrivals that may be under way at the end; beyond, throughput falls short by as much.
pub const BACKLOG_SHARE_MAX: f64 = 0.01;

/// Fewest independent batches inside a run: below, its own mean is known to a third of its deviation at best.
pub const INDEPENDENT_BATCHES_MIN: f64 = 10.0;

/// The first repeat must differ from the later ones by at least this share to be worth a word.
pub const FIRST_REPEAT_SHARE: f64 = 0.05;

/// Share of the arrivals above which failures are what was found: most of what was measured is errors then, and no figure is
/// about the statements.
pub const FAILURES_FOUND: f64 = 0.5;

/// Utilisation in percent below which a server that answers nothing is not overloaded: what it is asked for takes longer than anybody
/// waits, or waits itself.
pub const UNUSED_THETA_MAX: f64 = 10.0;

/// Share of the arrivals up to which failures are a note: they cannot move the mean by more than that, unless
/// they are very slow.
pub const FAILURES_NOTED: f64 = 0.001;

/// Fewest reads of a step of `share knee`: fewer give its mean latency to no better than a tenth (standard error of exponential
/// latencies).
pub const READS_MIN: u64 = 100;

/// Least mean latency of a read in seconds that is one of storage: no disk or flash ends a read in less; memory does.
pub const READ_LEAST_S: f64 = 20e-6;

/// Share of a file that is at least on the storage: one of which less is has holes, or is compressed; file systems round a
/// little.
pub const ALLOCATED_LEAST: f64 = 0.95;

/// Arrivals in percent that may be lost (failed, timed out or never sent) at a rate that is trusted or counts as carried: a server
/// that answers only some of its requests looks fast to these.
pub const LOST_MAX: f64 = 1.0;

/// Share of the arrivals given up (timed out or never sent) above which a queue counts as unstable: giving up caps the backlog,
/// so that its growth no longer shows. Errors are not among them, and else it is what may be lost ([`LOST_MAX`]).
pub const GIVEN_UP_MAX: f64 = LOST_MAX / 100.0;

/// Growth of the backlog, in units of what chance brings, up to which a queue counts as settled in any run; [`crate::stability`]
/// has the reason, as of the two below.
pub const GROWTH_MIN: f64 = 0.3;

/// The same times the root of the number of arrivals, for short runs.
pub const GROWTH_FEW: f64 = 16.5;

/// Seconds below which nothing but an instability that shows can be said.
pub const SECONDS_MIN: usize = 8;

/// Arrivals below which nothing but an instability that shows can be said: the number of fewer
/// scatters by more than a tenth by chance alone.
pub const ARRIVALS_MIN: u64 = 100;

/// Utilisation in percent below which a failure that more load does not confirm is taken for noise: the variation study saw
/// variation begin at 50 % at the earliest, and never go away again as load rose.
pub const LOW_LOAD: f64 = 50.0;
