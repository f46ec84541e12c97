use evenkeel_core::control::{*, trial, plant::*};
use evenkeel_core::random::Seed;
fn family(c: &Curve) -> &'static str { match c { Curve::Linear{..}=>"linear", Curve::Usl{..}=>"usl", Curve::TwoBottlenecks{..}=>"two", Curve::Points(_)=>"pts",
 Curve::Peaked{fall,..}=> match fall { Fall::Power{..}=>"locks", Fall::Shelf{..}=>"shelf", Fall::Cliff{..}=>"cliff"} } }
fn main() {
    let a: Vec<String> = std::env::args().collect();
    let n: u64 = a.get(1).map_or(100, |s| s.parse().unwrap());
    let seed = Seed(a.get(2).map_or(1, |s| s.parse().unwrap()));
    let d = Distribution::default();
    if let Some(num) = a.get(3) {
        let num: u64 = num.parse().unwrap(); let start: u32 = a[4].parse().unwrap();
        let plant = random_plant(&d, seed, num); let half = d.half_s(&plant);
        println!("{plant:?} half {half} best {:?}", plant.best(1024, 0.0));
        let mut c = Evenkeel::new(evenkeel::Settings { initial: start, ..Default::default() });
        let sc = simulation::Scenario { plants: vec![plant.clone()], load: simulation::Load::constant(1024), tick: evenkeel_core::Nanos::from_millis(50),
          duration: evenkeel_core::Nanos::from_secs_f64(half*301.0), start, seed: seed.child("trial").numbered(num).numbered(u64::from(start)) };
        let mut last = String::new();
        simulation::simulate_with(&sc, &mut c, |s, dec| { let t = format!("{dec}"); 
          let key = t.chars().filter(|c| !c.is_ascii_digit()).collect::<String>();
          if key != last { println!("h{:6.1} L{:4} n{:6.1} share {:.2} c{:4} | {t}", s.start.as_secs_f64()/half, s.limit, s.in_flight, s.share(), s.completions); last = key; } });
        return;
    }
    let mut all = vec![];
    let mut per: std::collections::BTreeMap<(&str,u32),Vec<trial::Verdict>> = Default::default();
    let mut bad = 0;
    for i in 0..n { for start in trial::STARTS {
        let mut c = Evenkeel::new(evenkeel::Settings { initial: start, ..Default::default() });
        let (p, _, v) = trial::run(&d, seed, i, start, &mut c);
        let (b, _) = p.best(1024, 0.0);
        if (!v.is_settled() || v.worst < 0.7 || v.cycles) && bad < 40 { bad += 1; println!("{i} start {start} {} best {b} peak {:.0} half {:.2} shift {:?} settle {:.3}: {v:?}", family(&p.curve), p.peak_per_s, d.half_s(&p), p.shift.map(|s| s.factor), p.settle_s); }
        per.entry((family(&p.curve), start)).or_default().push(v); all.push(v);
    }}
    for (k, v) in &per { let s = trial::Summary::of(v); println!("{k:?} {:.3} worst {:.2} below {} cycles {} steady {:.3} halves {:?}", s.settled_share(), s.worst, s.below, s.cycles, s.steady, s.halves); }
    let s = trial::Summary::of(&all); println!("ALL {} {:.4} worst {:.2} below {} cycles {} steady {:.3} halves {:?}", s.runs, s.settled_share(), s.worst, s.below, s.cycles, s.steady, s.halves);
}
