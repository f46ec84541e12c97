//! A server that stops in its tracks, as one does that waits for a disk: whoever asks it is told, and nobody waits for ever.

use super::sandbox::eventually;
use super::study::{folder, measure, spec};
use evenkeel_core::Nanos;
use evenkeel_core::rates::RatePlan;
use evenkeel_lab::load::LoadPhase;
use evenkeel_os::Stop;
use evenkeel_site::sandbox::{ProcessId, Sandbox};
use evenkeel_site::server::{Control, Target, TargetError};
use evenkeel_study::profile::{self, Reset, ServerSpec, StudyError, StudyEvent, StudySpec};
use evenkeel_study::store::StudyFolder;
use evenkeel_study::store::format::SummaryFile;
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

/// Longer than everything that may be waited for, and much shorter than for ever.
const PATIENCE: Duration = Duration::from_secs(150);

/// A process that stands still from the moment it is told to; it goes on when the value is dropped.
struct Still(i32);

impl Still {
    fn hold(pid: i32) -> Self {
        // SAFETY: kill takes two numbers, and the process is a server that this test has started.
        unsafe { libc::kill(pid, libc::SIGSTOP) };
        eventually("the server stands still", || state(pid) == Some('T'));
        Self(pid)
    }
}

impl Drop for Still {
    fn drop(&mut self) {
        // SAFETY: as above; one that is gone meanwhile is not hit.
        unsafe { libc::kill(self.0, libc::SIGCONT) };
    }
}

fn state(pid: i32) -> Option<char> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    stat.rsplit_once(") ")?.1.chars().next()
}

/// What a study says, with the process of the private server that is up.
type Moment = fn(&StudyEvent) -> bool;

/// Measures, and holds the server at that moment.
fn measured(
    spec: &StudySpec,
    folder: &StudyFolder,
    moment: Moment,
    stops: bool,
) -> Result<SummaryFile, StudyError> {
    let stop = Stop::default();
    let mut pid = None;
    let mut still = None;
    let (ended, end) = mpsc::channel::<()>();
    // Where a study hangs, its server goes on, so that the test fails instead of hanging too.
    let (held, hears) = mpsc::channel();
    let watchdog = thread::spawn(move || {
        let pid = hears.recv().ok()?;
        let hung = end.recv_timeout(PATIENCE) == Err(mpsc::RecvTimeoutError::Timeout);
        // SAFETY: as above.
        unsafe { libc::kill(pid, if hung { libc::SIGKILL } else { libc::SIGCONT }) };
        Some(hung)
    });
    let outcome = profile::run(spec, folder, &stop, &mut |event| {
        if let StudyEvent::Preparing(text) = &event
            && let Some(number) = text.strip_prefix("starting the server (process ")
        {
            pid = number.trim_end_matches(')').parse().ok();
        }
        if still.is_none() && moment(&event) {
            let pid = pid.expect("a server");
            still = Some(Still::hold(pid));
            held.send(pid).unwrap();
            if stops {
                let stop = stop.clone();
                // Later than the statement or the wait that the stop has to end.
                thread::spawn(move || {
                    thread::sleep(Duration::from_millis(1_500));
                    stop.set();
                });
            }
        }
    });
    let pid = pid.expect("a server");
    let is_gone = ProcessId::of(pid).is_none_or(|id| !id.is_alive());
    drop(ended);
    assert_eq!(watchdog.join().unwrap(), Some(false), "the study hung: {outcome:?}");
    assert!(still.is_some() && is_gone, "the private server is left behind: {outcome:?}");
    outcome
}

fn short(home: &Path) -> StudySpec {
    let mut spec = spec(home, "tpcw.simple", RatePlan::List(vec![20.0]));
    (spec.duration, spec.timeout) = (Nanos::from_secs(2), Nanos::from_secs(3));
    spec
}

fn in_a_run(event: &StudyEvent) -> bool {
    matches!(event, StudyEvent::Load { load, .. } if load.phase == LoadPhase::Measure)
}

fn before_the_plans(event: &StudyEvent) -> bool {
    matches!(event, StudyEvent::Preparing(text) if text.starts_with("explaining"))
}

/// What comes of a study whose server stands still from that moment: no run.
fn held(moment: Moment, seconds: u64, stops: bool) -> Result<SummaryFile, StudyError> {
    let home = tempfile::tempdir().unwrap();
    let mut spec = short(home.path());
    spec.duration = Nanos::from_secs(seconds);
    let folder = folder(&home.path().join("runs"), &spec);
    let outcome = measured(&spec, &folder, moment, stops);
    assert!(folder.runs().unwrap().is_empty(), "a run of a server that stood still is no measurement");
    outcome
}

fn is_told(moment: Moment, seconds: u64, words: &str) {
    let error = held(moment, seconds, false).expect_err("nothing was measured");
    assert!(error.to_string().contains(words), "{error}");
    assert!(error.hint().is_some_and(|hint| hint.contains("stopped")), "{:?}", error.hint());
}

fn is_stopped(moment: Moment, seconds: u64) {
    let summary = held(moment, seconds, true).unwrap();
    assert_eq!((summary.complete, summary.runs_done), (false, 0));
}

#[test]
fn a_long_run_ends_by_itself_when_its_server_stands_still() {
    is_told(in_a_run, 3_600, "has not answered since");
}

#[test]
fn a_server_that_stands_still_between_two_statements_is_told() {
    is_told(before_the_plans, 2, "no answer from");
}

#[test]
fn a_stop_ends_a_study_whose_server_stands_still_in_a_run() {
    is_stopped(in_a_run, 600);
}

#[test]
fn a_stop_ends_a_study_whose_server_stands_still_before_its_first_statement_of_a_phase() {
    is_stopped(before_the_plans, 2);
}

#[test]
fn a_stop_ends_a_study_whose_server_stands_still_while_data_goes_in() {
    is_stopped(|event| matches!(event, StudyEvent::Data(_)), 2);
}

/// The private server of a study, with data, up by itself.
fn server(home: &Path) -> Sandbox {
    let spec = short(home);
    measure(&spec, &folder(&home.join("first"), &spec), 1);
    let ServerSpec::Sandbox { sandbox, .. } = &spec.sites[0].place else { panic!("it is a private server") };
    Sandbox::up(sandbox, &Stop::default(), &mut |_| ()).unwrap()
}

#[test]
fn a_statement_that_is_silent_ends_when_the_server_lets_nobody_in_and_not_before() {
    let home = tempfile::tempdir().unwrap();
    let server = server(home.path());
    let mut control = Control::connect(&server.target()).unwrap();
    // As long as the server lets others in, a statement takes the time that it takes.
    assert_eq!(control.query_value("SELECT SLEEP(25)").unwrap().as_deref(), Some("0"));
    let still = Still::hold(server.pid());
    let (sender, answer) = mpsc::channel();
    let asking = thread::spawn(move || sender.send(control.query_value("SELECT 1")).unwrap());
    let answer = answer.recv_timeout(PATIENCE);
    drop(still);
    asking.join().unwrap();
    let error = answer.expect("the statement hung").expect_err("nobody answers");
    assert!(matches!(error, TargetError::Silent { .. }), "{error}");
    server.down(&mut |_| ()).unwrap();
}

#[test]
fn a_stop_ends_a_statement_at_the_server_too() {
    let home = tempfile::tempdir().unwrap();
    let server = server(home.path());
    let (stop, target) = (Stop::default(), server.target());
    let mut control = Control::connect_until(&target, &stop).unwrap();
    let (sender, answer) = mpsc::channel();
    thread::spawn(move || sender.send(control.query_value("SELECT SLEEP(1000)")));
    let mut other = Control::connect(&target).unwrap();
    let mut asleep = || {
        let sql = "SELECT COUNT(*) FROM information_schema.processlist WHERE info LIKE 'SELECT SLEEP(1000)%'";
        other.query_value(sql).unwrap().as_deref() == Some("1")
    };
    eventually("the statement is under way", &mut asleep);
    stop.set();
    let error = answer.recv_timeout(PATIENCE).expect("the statement hung").expect_err("it was stopped");
    assert!(matches!(error, TargetError::Stopped), "{error}");
    eventually("the statement has ended", || !asleep());
    server.down(&mut |_| ()).unwrap();
}

#[test]
fn a_server_of_the_users_that_stands_still_is_told_and_left_as_it_is() {
    let home = tempfile::tempdir().unwrap();
    let server = Arc::new(server(home.path()));
    let target = Target { database: Some("tpcw".into()), ..server.target() };
    let mut spec = short(home.path());
    (spec.sites[0].place, spec.series[0].pool) = (ServerSpec::Remote(target), None);
    spec.reset = Reset::Nothing;
    let folder = folder(&home.path().join("far"), &spec);
    let pid = server.pid();
    let mut still = None;
    let outcome = profile::run(&spec, &folder, &Stop::default(), &mut |event| {
        if still.is_none() && in_a_run(&event) {
            still = Some(Still::hold(pid));
        }
    });
    let text = outcome.expect_err("nobody answers").to_string();
    assert!(text.contains("has not answered since"), "{text}");
    assert_eq!(state(pid), Some('T'), "it is the user's to look at");
    drop(still);
    assert!(Control::connect(&server.target()).is_ok());
}
