//! The variation study: servers that should be alike, measured from start to start; how much each level varies, and why.
//!
//! `study` is what the harness makes: `bed` has the servers, `round` makes a run on one of them or the same load on several at once.
//!
//! All else is pure: `record` is the setting in its plan, `parts` which runs there are and how long they take, `figures` which figures a run
//! has, with the published ones, `seen` makes of runs what core judges, `facts` compares plans and pages, which `pages` reads, `judge` refuses
//! servers that are not alike and says what the runs come to, `findings` holds them beside the published ones, `words` has the sentences.

mod bed;
mod facts;
pub mod figures;
mod findings;
mod judge;
pub mod pages;
pub mod parts;
pub mod record;
mod round;
mod seen;
mod study;
mod words;

pub use judge::judge;
pub use study::Variation;

/// The study's name in plans and on the command line.
pub const NAME: &str = "variation";

pub const QUESTION: &str =
    "how much do response times differ from run to run, start to start and server to server, and why?";

#[cfg(test)]
mod tests {
    use super::figures::{KEPT_UP, NETWORK, READ, READS, ROWS, TAU, THETA, THROUGHPUT};
    use super::parts::{Extent, parts};
    use super::record::{DataRecord, PRIVATE, Setting, TargetRecord};
    use crate::harness::{FORMAT, Judgement, Outcome, Plan, Run};
    use evenkeel_core::caveat::{Caveat, Severity};
    use evenkeel_core::random::{Random, Seed};
    use evenkeel_core::why::{Ruling, Suspect};

    pub(super) fn setting() -> Setting {
        let target = |name: &str| TargetRecord {
            name: name.to_owned(),
            url: PRIVATE.to_owned(),
            ..TargetRecord::default()
        };
        Setting {
            targets: vec![target("t1"), target("t2")],
            workload: "tpcw.complex".to_owned(),
            runs_of_start: 2,
            warm_up_s: 1.0,
            duration_s: 4.0,
            timeout_s: 10.0,
            data: DataRecord { ebs: 1, items: 1_000, seed: 1 },
            pool_percent: 20.0,
            ..Setting::default()
        }
    }

    /// The same with servers elsewhere.
    fn elsewhere() -> Setting {
        let mut setting = setting();
        for (number, target) in setting.targets.iter_mut().enumerate() {
            target.url = format!("mysql://db{number}/tpcw");
        }
        setting
    }

    pub(super) fn plan() -> Plan {
        plan_of(&setting())
    }

    pub(super) fn extent() -> Extent {
        Extent {
            levels: vec![30, 60],
            are_rates: false,
            simple: vec![50, 120],
            write: vec![50],
            published: [vec![20, 120], vec![80]],
            class: vec![50],
            storage: vec![50],
            pools: vec![20, 100],
            starts: 4,
            other_starts: 4,
            class_starts: 2,
        }
    }

    fn plan_of(setting: &Setting) -> Plan {
        Plan {
            format: FORMAT,
            id: "variation-1".to_owned(),
            kind: super::NAME.to_owned(),
            seed: 1,
            parts: parts(setting, &extent()),
            setting: serde_json::to_value(setting).expect("a setting"),
            ..Plan::default()
        }
    }

    /// Runs of the first part; a request to the first target has this much more of the network.
    fn runs(setting: &Setting, network_ms: f64) -> Vec<Run> {
        let plan = plan_of(setting);
        let part = &plan.parts[0];
        let mut random = Random::new(Seed(9));
        let mut made = Vec::new();
        for (levels, repeat) in part.order(1) {
            let mut run = Run { part: part.name.clone(), levels: levels.clone(), repeat, ..Run::default() };
            for (target, record) in setting.targets.iter().enumerate() {
                if !setting.duet && levels[0] != record.name {
                    continue;
                }
                let more = if target == 0 { network_ms } else { 0.0 };
                let of_target = setting.of_target(target);
                let mut set = |name: &str, value: f64| run.set(&format!("{name}{of_target}"), value);
                set(TAU, 5.0 + more + 0.1 * random.normal());
                set(NETWORK, 0.2 + more + 0.01 * random.normal());
                set(READS, 0.0);
                set(READ, 0.1);
                set(ROWS, 500.0);
                set(THETA, 40.0);
                set(THROUGHPUT, 30.0);
                set("p95_ms", 9.0);
                set("lost_percent", 0.0);
                set(KEPT_UP, 1.0);
                run.notes.insert(format!("plan{of_target}"), "tpcw.complex: item ref i_subject".to_owned());
            }
            run.set("rate_per_s", 30.0);
            made.push(run);
        }
        made
    }

    fn judged(setting: &Setting, network_ms: f64) -> Judgement {
        super::judge(&plan_of(setting), setting, &runs(setting, network_ms))
    }

    fn ruling(said: &Judgement, suspect: Suspect) -> Ruling {
        said.verdicts.iter().find(|verdict| verdict.suspect == suspect).expect("a verdict on each").ruling
    }

    fn outcome(said: &Judgement, name: &str) -> Outcome {
        said.findings.iter().find(|one| one.name == name).expect("a finding").outcome
    }

    #[test]
    fn a_network_that_differs_is_named_with_and_without_a_duet() {
        for setting in [elsewhere(), Setting { duet: true, ..elsewhere() }] {
            let said = judged(&setting, 5.0);
            assert_eq!(ruling(&said, Suspect::Network), Ruling::Cause, "{said:#?}");
            assert!(said.headline.ends_with("the cause is the network."), "{}", said.headline);
            assert_eq!(outcome(&said, "network-is-not-the-cause"), Outcome::DoesNotHold);
        }
    }

    #[test]
    fn servers_on_one_machine_say_nothing_of_a_network_between_machines() {
        let said = judged(&setting(), 5.0);
        let finding = said.findings.iter().find(|one| one.name == "network-is-not-the-cause").unwrap();
        assert_eq!(finding.outcome, Outcome::NotTestable);
        assert!(finding.here.starts_with("Servers and load are on this machine"), "{}", finding.here);
    }

    #[test]
    fn the_last_sentence_of_the_rates_is_of_the_headlines_rate() {
        let mut all = runs(&setting(), 5.0);
        // The higher of two rates is beyond what servers carry.
        for run in all.iter_mut().filter(|run| run.levels[1] == "60") {
            run.set(KEPT_UP, 0.0);
            run.set("rate_per_s", 60.0);
        }
        let said = super::judge(&plan(), &setting(), &all);
        let last = &said.sentences.iter().rfind(|(part, _)| part == "rates").unwrap().1;
        assert!(said.headline.contains("At 30.0 requests per second"), "{}", said.headline);
        assert!(last.starts_with("At 30.0 requests per second: cause: the network"), "{last}");
    }

    #[test]
    fn a_server_that_answers_nothing_is_no_server_that_is_alike() {
        let setting = setting();
        let mut all = runs(&setting, 0.0);
        all.retain(|run| run.levels[0] == "t2");
        let said = super::judge(&plan_of(&setting), &setting, &all);
        assert!(said.headline.contains("only t2 answered"), "{}", said.headline);
    }

    #[test]
    fn a_rate_that_is_not_trusted_names_no_cause() {
        let setting = setting();
        let mut all = runs(&setting, 5.0);
        // Starts of one server differ by more than is trusted.
        for run in all.iter_mut().filter(|run| run.levels[0] == "t1") {
            let (start, _) = setting.start_and_run(run.repeat);
            let slower = run.figure(TAU).unwrap() + 4.0 * f64::from(start % 2);
            run.set(TAU, slower);
        }
        let said = super::judge(&plan_of(&setting), &setting, &all);
        assert_eq!(ruling(&said, Suspect::Network), Ruling::Undecided, "{said:#?}");
        assert!(said.headline.contains("no cause is named, since runs differ too much"), "{}", said.headline);
    }

    #[test]
    fn servers_that_are_alike_have_no_cause_and_their_components_are_told() {
        let said = judged(&setting(), 0.0);
        assert!(said.verdicts.iter().all(|verdict| verdict.ruling != Ruling::Cause), "{:#?}", said.verdicts);
        assert_eq!(ruling(&said, Suspect::Plan), Ruling::NotTheCause);
        let levels: Vec<&str> = said.components.iter().map(|share| share.level).collect();
        assert_eq!(levels, ["target", "start", "run"], "runs without batches tell nothing of requests");
        assert!((said.components.iter().map(|share| share.percent).sum::<f64>() - 100.0).abs() < 1e-6);
        assert!(said.headline.contains("do not differ clearly"), "{}", said.headline);
        assert!(said.sentences.iter().any(|(_, text)| text.starts_with("One more ")), "{:?}", said.sentences);
    }

    #[test]
    fn the_network_is_acquitted_where_response_times_climb_with_the_rate_and_its_delay_does_not() {
        let network = |network_ms: f64| {
            let setting = elsewhere();
            let mut all = runs(&setting, 0.0);
            for run in all.iter_mut().filter(|run| run.levels[1] == "60") {
                let (taken, delay) = (run.figure(TAU).unwrap(), run.figure(NETWORK).unwrap());
                run.set(TAU, taken + 4.0);
                run.set(NETWORK, delay + network_ms);
                run.set("rate_per_s", 60.0);
            }
            let said = super::judge(&plan_of(&setting), &setting, &all);
            outcome(&said, "network-is-not-the-cause")
        };
        assert_eq!(network(0.1), Outcome::Holds);
        assert_eq!(network(3.0), Outcome::DoesNotHold);
    }

    /// What a finding about this part comes to, where its runs take what `tau` says of their levels.
    fn outcome_of(part: &str, name: &str, tau: impl Fn(&[String], &mut Random) -> f64) -> Outcome {
        let plan = plan();
        let mut random = Random::new(Seed(3));
        let run = |(levels, repeat): (Vec<String>, u32)| {
            let tau = tau(&levels, &mut random);
            let mut run = Run { part: part.to_owned(), levels, repeat, ..Run::default() };
            [(TAU, tau), ("rate_per_s", 50.0), (KEPT_UP, 1.0), (THROUGHPUT, 50.0), ("p95_ms", 40.0)]
                .iter()
                .for_each(|(name, value)| run.set(name, *value));
            run
        };
        let runs: Vec<Run> = plan.part(part).expect("a part").order(1).into_iter().map(run).collect();
        outcome(&super::judge(&plan, &setting(), &runs), name)
    }

    /// Of runs of the simple read that lie this far from one another, and differ from server to server by `apart_ms`.
    fn simple_runs(deviation_ms: f64, apart_ms: f64) -> Outcome {
        outcome_of("simple-published", "simple-reads-are-alike", |levels, random| {
            let more = if levels[0] == "t1" { apart_ms } else { 0.0 };
            3.0 + more + deviation_ms * random.normal().abs()
        })
    }

    #[test]
    fn a_finding_needs_intervals_that_are_narrow_enough() {
        assert_eq!(simple_runs(0.01, 0.1), Outcome::Holds);
        assert_eq!(simple_runs(0.01, 5.0), Outcome::DoesNotHold);
        assert_eq!(simple_runs(20.0, 0.1), Outcome::NotTestable, "the runs differ too much to tell");
    }

    #[test]
    fn the_simple_read_and_the_write_are_judged_at_published_rates_alone() {
        let vary = |part: &str, name: &str| {
            outcome_of(part, name, |levels, random| {
                3.0 + if levels[0] == "t1" { 3.0 } else { 0.0 } + 0.01 * random.normal()
            })
        };
        for (today, name) in [("simple", "simple-reads-are-alike"), ("write", "writes-vary-little")] {
            assert_eq!(vary(today, name), Outcome::NotTestable);
            assert_eq!(vary(&format!("{today}-published"), name), Outcome::DoesNotHold);
        }
    }

    /// Runs of which every so many-th one failed.
    fn judged_with_failures(every: usize) -> Judgement {
        let mut all = runs(&setting(), 5.0);
        for run in all.iter_mut().step_by(every) {
            run.caveats.push(Caveat::new(
                "generator-saturated",
                Severity::Invalid,
                "The generator was busy.",
            ));
            run.set(TAU, 500.0);
        }
        super::judge(&plan(), &setting(), &all)
    }

    #[test]
    fn a_run_that_failed_is_left_out_and_told() {
        let said = judged_with_failures(9);
        assert!(said.headline.ends_with("the cause is the network."), "{}", said.headline);
        let told = said.caveats.iter().find(|caveat| caveat.code == "generator-saturated").expect("a caveat");
        assert!(
            told.text.starts_with("The generator was busy. (In ") && told.text.contains(" of "),
            "{told}"
        );
    }

    #[test]
    fn where_half_of_the_runs_failed_nothing_is_trusted_and_the_first_words_say_so() {
        let said = judged_with_failures(1);
        assert!(said.headline.starts_with("Runs failed (generator-saturated)"), "{}", said.headline);
        let trust =
            said.sentences.iter().find(|(_, text)| text.starts_with("Response times and servers are"));
        assert!(trust.is_some_and(|(_, text)| text.contains("not valid (generator-saturated)")), "{trust:?}");
    }

    /// Whether rows from a dump take variation away, by runs with this many ms more after the script, and servers that differ by so many after the dump.
    fn dump_runs(script_ms: f64, apart_ms: f64) -> Outcome {
        outcome_of("layout", "a-dump-takes-it-away", |levels, random| {
            let of = |name: &str, ms: f64| if levels.iter().any(|level| level == name) { ms } else { 0.0 };
            20.0 + of("script", script_ms) + of("t1", apart_ms) + 0.05 * random.normal()
        })
    }

    #[test]
    fn a_dump_takes_variation_away_where_it_is_faster_and_servers_agree_then() {
        assert_eq!(dump_runs(10.0, 0.0), Outcome::Holds);
        assert_eq!(dump_runs(-5.0, 0.0), Outcome::DoesNotHold);
        assert_eq!(dump_runs(0.0, 0.0), Outcome::NotTestable, "of servers that do not differ nobody knows");
        assert_eq!(dump_runs(10.0, 15.0), Outcome::DoesNotHold, "servers are apart after the dump as well");
    }

    #[test]
    fn servers_of_a_duet_are_no_level_since_they_have_the_machine_in_common() {
        let said = judged(&Setting { duet: true, ..setting() }, 0.0);
        let levels: Vec<&str> = said.components.iter().map(|share| share.level).collect();
        assert_eq!(levels, ["start", "run"]);
        assert!(said.sentences.iter().any(|(_, text)| text.starts_with("Components are those of t")));
    }

    #[test]
    fn rented_servers_differ_where_they_do_at_more_rates_than_chance_would_have() {
        let rented = |more_ms: f64| {
            let setting = elsewhere();
            let mut all = runs(&setting, more_ms);
            for run in &mut all {
                // Runs that agree well, so that what does not differ can be told.
                let base = 5.0 + if run.levels[0] == "t1" { more_ms } else { 0.0 };
                let taken = base + 0.3 * (run.figure(TAU).unwrap() - base);
                run.set(TAU, taken);
            }
            let said = super::judge(&plan_of(&setting), &setting, &all);
            outcome(&said, "rented-servers-differ")
        };
        assert_eq!(rented(5.0), Outcome::Holds);
        assert_eq!(rented(0.0), Outcome::DoesNotHold);
    }

    #[test]
    fn a_rate_is_judged_by_the_server_that_is_known_least_and_by_its_starts_not_its_runs() {
        let setting = setting();
        let mut all = runs(&setting, 0.0);
        for run in all.iter_mut().filter(|run| run.levels[0] == "t2") {
            let (start, _) = setting.start_and_run(run.repeat);
            let taken = run.figure(TAU).unwrap() + f64::from(start);
            run.set(TAU, taken);
        }
        let plan = plan();
        let cells = crate::harness::cells(&plan, &all);
        let at: Vec<_> = cells.iter().filter(|cell| cell.levels[1] == "30").collect();
        let on = super::seen::on_targets(&setting, &at);
        let point = super::seen::point(&setting, &on, 30.0).expect("there are runs");
        assert_eq!((point.tau.n, point.tau_degrees), (4, 3.0), "four starts with two runs each");
        assert!((point.tau.mean - 7.5).abs() < 0.3, "{:?}", point.tau);
        assert_eq!(point.target_taus.len(), 2);
    }
}
