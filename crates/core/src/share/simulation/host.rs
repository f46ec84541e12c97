use super::{HostPlan, Scenario, Stretch};
use crate::random::Random;
use crate::share::{Admission, Costs, Io, Measured, Report, Sent, WindowLaw};

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
