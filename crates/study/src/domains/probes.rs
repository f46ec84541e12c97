//! What the places themselves give: the network between them, their disks, and how long a flush takes.

use super::places::{Places, client_cpus, note_probe, watch};
use super::setting::{LINE_BYTES_PER_S, PAIRS, PLACES, Setting, at_work};
use crate::harness::{Order, Run};
use crate::probe::Place;
use crate::probe::disk::{Access, disk as disk_speeds, flush};
use crate::probe::machine::machine as speeds;
use crate::probe::memory::held;
use crate::probe::network::{Flow, Pair, at_once};
use crate::published::{At, PrivateServer, PublishedError, Result, joined};
use evenkeel_site::sandbox::{Domain, Net, SandboxSpec};
use std::time::Duration;

const CLIENT: &str = "client";
/// A connection takes some of this to come to its rate.
const NET_SECONDS_MIN: f64 = 2.0;

/// The client machine of Table 1: a network and a line of its own; nobody asks its server.
pub fn client_machine(at: &At<'_, Setting>) -> Result<PrivateServer> {
    let net = Some(Net { bytes_per_s: Some(LINE_BYTES_PER_S) });
    let domain = Domain { cpus: client_cpus(), net, ..Domain::default() };
    let name = format!("{}-{CLIENT}", at.plan.private_name());
    PrivateServer::up(&at.workplace, &SandboxSpec { domain, ..SandboxSpec::new(at.workplace.home, name) })
}

/// Table 1: the pairs of a level at once, server and client by name.
pub fn network(
    at: &At<'_, Setting>,
    places: &Places,
    client: &PrivateServer,
    level: &str,
    run: &mut Run,
) -> Result<()> {
    let client = Place::of(&client.sandbox)?;
    let own =
        places.all.iter().map(|place| Place::of(&place.server.sandbox)).collect::<Result<Vec<Place>>>()?;
    let place = |name: &str| {
        let known = PLACES.iter().position(|known| *known == name);
        known.map_or(&client, |known| &own[known])
    };
    let names = PAIRS.iter().find(|(name, ..)| *name == level).map_or(&[][..], |(_, pairs, _)| *pairs);
    let pairs: Vec<Pair<'_>> =
        names.iter().map(|[server, client]| Pair { server: place(server), client: place(client) }).collect();
    let watched = watch(places, &[])?;
    let seconds = at.setting.seconds.ceil().max(NET_SECONDS_MIN) as u32;
    let Some(flows) = at_once(&pairs, seconds, at.workplace.stop)? else { return Ok(()) };
    note_probe(&watched, run);
    let sum = |of: &dyn Fn(&Flow) -> f64| flows.iter().map(of).sum::<f64>();
    run.set("mbit", sum(&|flow| flow.received_mbit_per_s));
    run.set("sent_mbit", sum(&|flow| flow.sent_mbit_per_s));
    if let [first, second, ..] = flows.as_slice() {
        let ([one, _], [other, _]) = (names[0], names[1]);
        run.set(&format!("{one}_over_{other}"), first.received_mbit_per_s / second.received_mbit_per_s);
    }
    for name in PLACES.iter().chain(&[CLIENT]) {
        let ends = flows.iter().zip(names).flat_map(|(flow, [server, client])| {
            [(server, flow.server_cpu_percent), (client, flow.client_cpu_percent)]
        });
        let cpu = ends.filter(|(end, _)| *end == name).map(|(_, cpu)| cpu).reduce(|sum, cpu| sum + cpu);
        run.set(&format!("theta_{name}"), cpu);
    }
    Ok(())
}

/// A point of Figures 1 to 6: random reads and random writes of a file in records, through the page cache; MB/s of each place.
pub fn disk(at: &At<'_, Setting>, places: &Places, order: &Order<'_>, run: &mut Run) -> Result<()> {
    let number = |factor: &str| {
        order
            .level(factor)
            .parse::<u64>()
            .map_err(|_| PublishedError::unreadable("size of a file or a record"))
    };
    let bytes = [number("file")? << 20, number("record")? << 10];
    let (time, stop) = (Duration::from_secs_f64(at.setting.seconds), at.workplace.stop);
    let accesses = [Access::RandomRead, Access::RandomWrite];
    let all = in_each(places, order.level("where"), run, |place| {
        disk_speeds(place, bytes, &accesses, false, time, stop)
    })?;
    for (at, figure) in ["read_mb_per_s", "write_mb_per_s"].into_iter().enumerate() {
        run.set(figure, mean(all.iter().map(|speeds| speeds[at].mb_per_s)));
    }
    Ok(())
}

/// Flushes of a small append.
pub fn flushes(at: &At<'_, Setting>, places: &Places, level: &str, run: &mut Run) -> Result<()> {
    let (time, stop) = (Duration::from_secs_f64(at.setting.seconds), at.workplace.stop);
    let flushes = in_each(places, level, run, |place| flush(place, time, stop))?;
    run.set("flush_ms", mean(flushes.into_iter()));
    Ok(())
}

/// CPU, memory and cache of each place, and the memory that its server has, and the kernel for it.
pub fn machine(at: &At<'_, Setting>, places: &Places, level: &str, run: &mut Run) -> Result<()> {
    let (seconds, stop) = (at.setting.seconds.ceil() as u32, at.workplace.stop);
    let all = in_each(places, level, run, |place| {
        let held = held(place);
        Ok(speeds(place, seconds, stop)?.map(|found| (found, held)))
    })?;
    let found = || all.iter().map(|(found, _)| found);
    run.set("operations", mean(found().map(|found| found.operations_per_s / 1e6)));
    run.set("copied_mb_per_s", mean(found().map(|found| found.copied_bytes_per_s / 1e6)));
    for (set, figure) in ["cache_ns", "memory_ns"].into_iter().enumerate() {
        run.set(figure, mean(found().filter_map(|found| found.access_ns[set])));
    }
    let held = || all.iter().filter_map(|(_, held)| *held);
    run.set("server_mb", mean(held().map(|held| held.anonymous as f64 / 1e6)));
    run.set("kernel_mb", mean(held().map(|held| held.kernel as f64 / 1e6)));
    Ok(())
}

/// What a probe says of each place of a level, of all at once; of none where somebody asked to stop.
fn in_each<T: Send>(
    places: &Places,
    level: &str,
    run: &mut Run,
    probe: impl Fn(&Place) -> Result<Option<T>> + Sync,
) -> Result<Vec<T>> {
    let watched = watch(places, &[])?;
    let found = std::thread::scope(|scope| {
        let start = |place: &usize| {
            let (server, probe) = (&places.all[*place].server, &probe);
            scope.spawn(move || probe(&Place::of(&server.sandbox)?))
        };
        let working: Vec<_> = at_work(level).iter().map(start).collect();
        working.into_iter().map(joined).collect::<Result<Vec<_>>>()
    })?;
    note_probe(&watched, run);
    Ok(found.into_iter().flatten().collect())
}

fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let (sum, count) = values.fold((0.0, 0.0), |(sum, count), value| (sum + value, count + 1.0));
    (count > 0.0).then(|| sum / count)
}
