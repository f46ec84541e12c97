use super::{HostPlan, Row, Scenario, Stretch, Trace};
use crate::random::Random;
use crate::share::{Admission, Array, Costs, Io, Measured, Report, Sent, WindowLaw};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// A host whose latest report is older than this many periods is gone.
const STALE: f64 = 3.0;

#[derive(Clone, Copy, Debug)]
enum Event {
    Done(usize, Sent),
    PeriodEnds(usize),
    Wake(usize),
    Change,
}

/// Events by time.
#[derive(Default)]
struct Agenda {
    heap: BinaryHeap<Reverse<(u64, usize)>>,
    events: Vec<Event>,
    free: Vec<usize>,
}

impl Agenda {
    fn add(&mut self, at_s: f64, event: Event) {
        let place = match self.free.pop() {
            Some(place) => {
                self.events[place] = event;
                place
            }
            None => {
                self.events.push(event);
                self.events.len() - 1
            }
        };
        self.heap.push(Reverse(((at_s * 1e9) as u64, place)));
    }

    fn next(&mut self) -> Option<(f64, Event)> {
        let Reverse((at, place)) = self.heap.pop()?;
        self.free.push(place);
        Some((at as f64 / 1e9, self.events[place]))
    }
}

pub fn run(scenario: &Scenario) -> Trace {
    let mut run = Run::new(scenario);
    while let Some((now_s, event)) = run.agenda.next() {
        if now_s > scenario.duration_s {
            break;
        }
        run.on(event, now_s);
    }
    run.trace
}

struct Run<'a> {
    scenario: &'a Scenario,
    array: Array,
    hosts: Vec<Host<'a>>,
    /// When each host will be woken; infinite for one that will not be.
    waking_s: Vec<f64>,
    agenda: Agenda,
    trace: Trace,
}

impl<'a> Run<'a> {
    fn new(scenario: &'a Scenario) -> Self {
        let many = scenario.hosts.len();
        let mut agenda = Agenda::default();
        agenda.add(0.0, Event::Change);
        for (place, host) in scenario.hosts.iter().enumerate() {
            let spread = (place + 1) as f64 / many as f64;
            agenda.add(spread * scenario.period_s, Event::PeriodEnds(place));
            host.changes().into_iter().for_each(|at_s| agenda.add(at_s, Event::Change));
        }
        Self {
            scenario,
            array: Array::new(scenario.array, scenario.seed),
            hosts: (0..many).map(|place| Host::new(scenario, place)).collect(),
            waking_s: vec![f64::INFINITY; many],
            agenda,
            trace: Trace::new(many, scenario.period_s),
        }
    }

    fn on(&mut self, event: Event, now_s: f64) {
        match event {
            Event::Done(place, sent) => {
                self.hosts[place].complete(sent, now_s);
                self.send(place, now_s);
            }
            Event::PeriodEnds(place) => {
                self.end_period(place, now_s);
                self.send(place, now_s);
                self.agenda.add(now_s + self.scenario.period_s, Event::PeriodEnds(place));
            }
            Event::Wake(place) => {
                self.waking_s[place] = f64::INFINITY;
                self.send(place, now_s);
            }
            Event::Change => (0..self.hosts.len()).for_each(|place| self.send(place, now_s)),
        }
    }

    fn send(&mut self, place: usize, now_s: f64) {
        let host = &mut self.hosts[place];
        let array = &mut self.array;
        host.want(now_s);
        loop {
            match host.next(now_s) {
                Ok((sent, io)) => {
                    let before_s = array.device_s();
                    let done_s = array.send(io, now_s) + host.plan.path_s;
                    host.device_s += array.device_s() - before_s;
                    self.agenda.add(done_s, Event::Done(place, sent));
                }
                // Once more where something has completed since: a debt is paid the sooner, the more room there is.
                Err(Some(wait_s)) if now_s + wait_s < self.waking_s[place] => {
                    self.waking_s[place] = now_s + wait_s;
                    // A nanosecond more, so that rounding does not wake it too early for ever.
                    return self.agenda.add(now_s + wait_s + 1e-9, Event::Wake(place));
                }
                Err(_) => return,
            }
        }
    }

    fn end_period(&mut self, place: usize, now_s: f64) {
        let before = self.hosts[place].window();
        let measured = self.hosts[place].measure(now_s);
        let stale_s = STALE * self.scenario.period_s;
        let (mut all, mut own): (Vec<Report>, usize) = (Vec::new(), 0);
        for (number, host) in self.hosts.iter().enumerate() {
            if let Some((_, report)) = host.last_report.as_ref().filter(|(at_s, _)| now_s - at_s <= stale_s) {
                own = if number == place { all.len() } else { own };
                all.push(report.clone());
            }
        }
        if self.hosts[place].plan.reports {
            self.hosts[place].update(&all, own, now_s);
        }
        self.trace.add(Row {
            at_s: now_s,
            host: place,
            window: self.hosts[place].window(),
            outstanding: measured.period.outstanding,
            wanted: measured.period.wanted(),
            used: measured.period.used_shares(before),
            completions: measured.period.completions,
            latency_s: measured.period.latency,
            cost_per_s: measured.period.rate,
            device_s: std::mem::take(&mut self.hosts[place].device_s),
            seconds: measured.seconds,
            unfair: self.hosts[place].unfair(),
        });
    }
}

pub struct Host<'a> {
    pub plan: &'a HostPlan,
    admission: Admission<Io>,
    costs: Costs,
    law: Box<dyn WindowLaw>,
    /// Number of I/Os of each disk that are wanted: sent or held back.
    wanted: Vec<u32>,
    random: Random,
    /// How many I/Os the clients of each disk want, and when.
    spells: Vec<Vec<(Stretch, u32)>>,
    pub last_report: Option<(f64, Report)>,
    /// Device time of the I/Os that it has sent in this period, by the array's own account.
    pub device_s: f64,
}

impl<'a> Host<'a> {
    pub fn new(scenario: &'a Scenario, place: usize) -> Self {
        let plan = &scenario.hosts[place];
        let shares: Vec<f64> = plan.disks.iter().map(|disk| disk.shares).collect();
        Self {
            plan,
            admission: Admission::new(&shares, plan.law.initial(), 0.0),
            law: plan.law.build(),
            costs: plan.costs.unwrap_or_else(|| scenario.array.cost.into()),
            wanted: vec![0; shares.len()],
            spells: plan.disks.iter().map(|disk| disk.spells(f64::INFINITY)).collect(),
            random: Random::new(scenario.seed.child("host").numbered(place as u64)),
            last_report: None,
            device_s: 0.0,
        }
    }

    pub fn window(&self) -> f64 {
        self.admission.window()
    }

    /// Lets clients that are there want as many I/Os as their depth.
    pub fn want(&mut self, now_s: f64) {
        for (place, disk) in self.plan.disks.iter().enumerate() {
            let spell =
                self.spells[place].iter().find(|((from_s, until_s), _)| (*from_s..*until_s).contains(&now_s));
            let most = spell.map_or(0, |(_, depth)| *depth);
            while self.wanted[place] < most {
                let io = disk.io(self.random.unit());
                self.wanted[place] += 1;
                self.admission.want((place, 0), self.costs.of(io), io, now_s);
            }
        }
    }

    pub fn next(&mut self, now_s: f64) -> Result<(Sent, Io), Option<f64>> {
        self.admission.next(now_s)
    }

    pub fn complete(&mut self, sent: Sent, now_s: f64) {
        self.admission.complete(sent, now_s);
        self.wanted[sent.disk] -= 1;
    }

    pub fn measure(&mut self, now_s: f64) -> Measured {
        let measured = self.admission.measure(now_s);
        let report = self.law.report(&measured.period);
        self.last_report = self.plan.reports.then_some((now_s, report));
        measured
    }

    pub fn unfair(&self) -> Option<f64> {
        self.law.unfair()
    }

    pub fn update(&mut self, all: &[Report], own: usize, now_s: f64) {
        let window = self.law.update(all, own);
        self.admission.set_window(window, now_s);
    }
}
