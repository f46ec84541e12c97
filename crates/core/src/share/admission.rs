use super::{DiskUse, Done, Pacer, Period, Queue};

/// A debt of so many usual I/Os is never forgiven, because one slow I/O may owe as much.
const DEBTS: f64 = 4.0;

/// Queues, window and figures of one host. Time is an argument, in seconds, and must not run backwards.
///
/// A disk's I/O is [`want`](Admission::want)ed, [sent](Admission::next) when the window has room and it is its turn, and
/// [completed](Admission::complete) by the device. All three are counted for the [`Period`] that a law goes by.
#[derive(Clone, Debug)]
pub struct Admission<T> {
    pacer: Pacer,
    queue: Queue<T>,
    disks: Vec<Wanted>,
    begun_s: f64,
    at_s: f64,
    outstanding_area: f64,
    /// The cost outstanding when each I/O was sent, summed over the I/Os, and their number.
    met: (f64, u64),
    latency_sum: f64,
    completions: u64,
    done: Done,
    /// Cost times latency of an I/O in the mean over cost, as far as it was usual so far: the debt of one I/O.
    usual: f64,
}

/// Cost wanted of one disk, sent or held back, and its time integral.
#[derive(Clone, Copy, Debug)]
struct Wanted {
    shares: f64,
    cost: f64,
    area: f64,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sent {
    pub disk: usize,
    pub cost: f64,
    pub at_s: f64,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Measured {
    pub period: Period,
    pub seconds: f64,
}

impl<T> Admission<T> {
    /// The admission of disks with these shares, which must be above zero, and with an initial window.
    pub fn new(shares: &[f64], window: f64, now_s: f64) -> Self {
        Self {
            pacer: Pacer::new(window, now_s),
            queue: Queue::new(shares),
            disks: shares.iter().map(|&shares| Wanted { shares, cost: 0.0, area: 0.0 }).collect(),
            begun_s: now_s,
            at_s: now_s,
            outstanding_area: 0.0,
            met: (0.0, 0),
            latency_sum: 0.0,
            completions: 0,
            done: Done::default(),
            usual: 0.0,
        }
    }

    pub fn window(&self) -> f64 {
        self.pacer.window()
    }

    pub fn set_window(&mut self, window: f64, now_s: f64) {
        self.pass(now_s);
        self.pacer.set(window, now_s);
    }

    /// Sets other shares of a disk from the next I/O on; they must be above zero.
    pub fn set_shares(&mut self, disk: usize, shares: f64) {
        if let Some(wanted) = self.disks.get_mut(disk) {
            wanted.shares = shares;
            self.queue.set_shares(disk, shares);
        }
    }

    pub fn waiting(&self) -> usize {
        self.queue.len()
    }

    pub fn outstanding(&self) -> f64 {
        self.pacer.outstanding()
    }

    pub fn want(&mut self, (disk, client): (usize, u64), cost: f64, io: T, now_s: f64) {
        self.pass(now_s);
        if let Some(wanted) = self.disks.get_mut(disk) {
            wanted.cost += cost;
            self.queue.push(disk, client, cost, io);
        }
    }

    /// Gives back the I/Os of a client that are held back, because the client has gone and no longer wants them.
    pub fn withdraw(&mut self, disk: usize, client: u64, now_s: f64) -> Vec<T> {
        let held_back = self.queue.withdraw(disk, client);
        self.want_no_more(disk, held_back, now_s)
    }

    /// Gives back all I/Os that are held back, because nobody wants them any more.
    pub fn withdraw_all(&mut self, now_s: f64) -> Vec<T> {
        let mut all = Vec::new();
        for disk in 0..self.disks.len() {
            let held_back = self.queue.withdraw_all(disk);
            all.extend(self.want_no_more(disk, held_back, now_s));
        }
        all
    }

    fn want_no_more(
        &mut self,
        disk: usize,
        held_back: impl IntoIterator<Item = (f64, T)>,
        now_s: f64,
    ) -> Vec<T> {
        self.pass(now_s);
        let Some(wanted) = self.disks.get_mut(disk) else { return Vec::new() };
        let give_back = |(cost, io): (f64, T)| {
            wanted.cost = (wanted.cost - cost).max(0.0);
            io
        };
        held_back.into_iter().map(give_back).collect()
    }

    /// The next I/O that may be sent now, and counts as sent; else the seconds until one may, if time alone brings it.
    pub fn next(&mut self, now_s: f64) -> Result<(Sent, T), Option<f64>> {
        let (disk, cost) = self.queue.next().ok_or(None)?;
        self.pass(now_s);
        self.pacer.send(cost, now_s).map_err(|wait_s| wait_s.is_finite().then_some(wait_s))?;
        let (_, _, io) = self.queue.pop().ok_or(None)?;
        self.met = (self.met.0 + self.pacer.outstanding(), self.met.1 + 1);
        Ok((Sent { disk, cost, at_s: now_s }, io))
    }

    pub fn complete(&mut self, sent: Sent, now_s: f64) {
        self.pass(now_s);
        self.pacer.complete(sent.cost, now_s);
        if let Some(wanted) = self.disks.get_mut(sent.disk) {
            wanted.cost = (wanted.cost - sent.cost).max(0.0);
        }
        let latency_s = now_s - sent.at_s;
        self.latency_sum += latency_s;
        self.completions += 1;
        self.done.cost += sent.cost;
        self.done.cost_seconds += sent.cost * latency_s;
        self.done.cost_squares += sent.cost * sent.cost;
    }

    /// Ends a period with its figures, and begins the next.
    pub fn measure(&mut self, now_s: f64) -> Measured {
        self.pass(now_s);
        let seconds = (now_s - self.begun_s).max(1e-9);
        let done = std::mem::take(&mut self.done);
        self.pacer.forgive(seconds, DEBTS * self.usual, now_s);
        self.learn_usual(done);
        let disk = |wanted: &mut Wanted| DiskUse {
            shares: wanted.shares,
            wanted: std::mem::take(&mut wanted.area) / seconds,
        };
        let (met, sent) = std::mem::take(&mut self.met);
        let period = Period {
            met: met / (sent as f64).max(1.0),
            disks: self.disks.iter_mut().map(disk).collect(),
            outstanding: std::mem::take(&mut self.outstanding_area) / seconds,
            latency: (self.completions > 0).then(|| self.latency_sum / self.completions as f64),
            completions: std::mem::take(&mut self.completions),
            done,
            rate: done.cost / seconds,
        };
        self.latency_sum = 0.0;
        self.begun_s = now_s;
        Measured { period, seconds }
    }

    /// Learns the usual debt of an I/O. It at most doubles from one period to the next, so that a stall of the storage does not
    /// become usual.
    fn learn_usual(&mut self, done: Done) {
        if done.cost > 0.0 {
            let seen = done.cost_seconds * done.cost_squares / (done.cost * done.cost);
            self.usual = if self.usual > 0.0 { seen.min(2.0 * self.usual) } else { seen };
        }
    }

    fn pass(&mut self, now_s: f64) {
        let seconds = (now_s - self.at_s).max(0.0);
        self.outstanding_area += seconds * self.pacer.outstanding();
        for wanted in &mut self.disks {
            wanted.area += seconds * wanted.cost;
        }
        self.at_s = self.at_s.max(now_s);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_window_has_no_room_for_waits_and_counts_as_wanted() {
        let mut host = Admission::new(&[1.0], 1.0, 0.0);
        host.want((0, 0), 1.0, 'a', 0.0);
        host.want((0, 0), 1.0, 'b', 0.0);
        let (first, io) = host.next(0.0).unwrap();
        assert_eq!((io, host.next(0.0)), ('a', Err(None)));
        host.complete(first, 2.0);
        assert_eq!(host.next(2.0).unwrap().1, 'b');
        let measured = host.measure(4.0);
        assert_eq!((measured.period.completions, measured.period.latency), (1, Some(2.0)));
        assert!((measured.period.outstanding - 1.0).abs() < 1e-9);
        assert!((measured.period.met - 1.0).abs() < 1e-9);
        assert!((measured.period.disks[0].wanted - 1.5).abs() < 1e-9, "two for 2 s, then one");
        assert_eq!(host.measure(5.0).period.completions, 0, "a period begins with nothing");
    }

    #[test]
    fn what_ios_meet_is_more_than_the_mean_where_they_come_in_bursts() {
        let mut host = Admission::new(&[1.0], 4.0, 0.0);
        (0..4).for_each(|_| host.want((0, 0), 1.0, (), 0.0));
        let sent: Vec<Sent> = std::iter::from_fn(|| host.next(0.0).ok()).map(|(sent, ())| sent).collect();
        sent.into_iter().for_each(|sent| host.complete(sent, 1.0));
        let period = host.measure(10.0).period;
        assert!((period.outstanding - 0.4).abs() < 1e-9 && (period.met - 2.5).abs() < 1e-9, "{period:?}");
    }

    #[test]
    fn what_a_client_wanted_that_has_gone_is_wanted_no_more() {
        let mut host = Admission::new(&[1.0], 1.0, 0.0);
        (0..9).for_each(|io| host.want((0, 1), 1.0, io, 0.0));
        host.want((0, 2), 1.0, 99, 0.0);
        let (sent, first) = host.next(0.0).unwrap();
        assert_eq!((first, host.withdraw(0, 1, 1.0), host.waiting()), (0, (1..9).collect(), 1));
        host.complete(sent, 1.0);
        assert_eq!(host.next(1.0).unwrap().1, 99);
        let wanted = host.measure(2.0).period.disks[0].wanted;
        assert!((wanted - 5.5).abs() < 1e-9, "ten for a second, then one: {wanted}");
        host.want((0, 2), 1.0, 100, 2.0);
        assert_eq!((host.withdraw_all(2.0), host.waiting()), (vec![100], 0));
    }

    #[test]
    fn shares_can_change_while_disks_wait() {
        let mut host = Admission::new(&[1.0, 1.0], 1.0, 0.0);
        let sent = |host: &mut Admission<usize>| {
            let mut sent = [0, 0];
            for _ in 0..200 {
                (0..2).for_each(|disk| host.want((disk, 0), 1.0, disk, 0.0));
                let (io, disk) = host.next(0.0).unwrap();
                sent[disk] += 1;
                host.complete(io, 0.0);
            }
            sent
        };
        assert_eq!(sent(&mut host), [100, 100]);
        host.set_shares(1, 3.0);
        assert_eq!(sent(&mut host), [50, 150]);
    }
}
