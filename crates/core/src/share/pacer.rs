use super::turns::Turns;
use std::collections::VecDeque;

/// Holds the mean of what is outstanding at a window, also at one below 1, by sigma-delta modulation: an I/O that fits goes at
/// once; one that fits only in part goes when the time integral of `window - outstanding` is not negative.
///
/// That integral, the credit, has no bound in seconds: a debt is what one I/O has had beyond the window, and whoever
/// forgives a part of it lets the mean rise above the window, the more so the smaller the window and the larger the I/O. Two
/// things are no debts. What is outstanding beyond a window that was lowered is *excused*: who sent it kept to the window of
/// then. And after a stall of the storage a host does not wait for ever: [`forgive`](Pacer::forgive). Credit does not build
/// up while nothing is wanted, so that there is no burst after idleness.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pacer {
    window: f64,
    outstanding: f64,
    /// The part of it that was within the window when it was sent and is beyond the present one.
    excused: f64,
    /// The time integral of `window - outstanding`, at most 0.
    credit: f64,
    at_s: f64,
}

impl Pacer {
    pub fn new(window: f64, now_s: f64) -> Self {
        Self { window, outstanding: 0.0, excused: 0.0, credit: 0.0, at_s: now_s }
    }

    pub fn set(&mut self, window: f64, now_s: f64) {
        self.pass(now_s);
        if window.is_finite() {
            let window = window.max(0.0);
            self.excused = (self.excused + self.window - window).max(0.0);
            self.window = window;
            self.excuse();
        }
    }

    pub fn window(&self) -> f64 {
        self.window
    }

    pub fn outstanding(&self) -> f64 {
        self.outstanding
    }

    /// Sends an I/O of this cost if it may go now; else the seconds until it may where nothing completes before,
    /// infinite where it has to wait for a completion.
    pub fn send(&mut self, cost: f64, now_s: f64) -> Result<(), f64> {
        self.pass(now_s);
        let room = self.window - self.outstanding;
        if room >= cost - 1e-9 || (room > 1e-9 && self.credit >= -1e-9) {
            self.outstanding += cost;
            return Ok(());
        }
        Err(if room > 1e-9 { -self.credit / room } else { f64::INFINITY })
    }

    pub fn complete(&mut self, cost: f64, now_s: f64) {
        self.pass(now_s);
        self.outstanding = (self.outstanding - cost).max(0.0);
        self.excuse();
    }

    /// Forgives the debt that the window cannot pay in so many seconds, but for a debt that is usual. Called with the length
    /// of a period at the end of each, it lets a host with a window send within two periods, however long the storage stood
    /// still. An I/O that costs many times the window owes more than a period can pay each time; that is no stall, and who
    /// forgave it would let such I/Os have more than their share.
    pub fn forgive(&mut self, seconds: f64, usual: f64, now_s: f64) {
        self.pass(now_s);
        self.credit = self.credit.max(-(self.window * seconds.max(0.0)).max(usual));
    }

    /// Takes back the excuse of what is within the window by now.
    fn excuse(&mut self) {
        self.excused = self.excused.min((self.outstanding - self.window).max(0.0));
    }

    fn pass(&mut self, now_s: f64) {
        let seconds = (now_s - self.at_s).max(0.0);
        self.at_s = self.at_s.max(now_s);
        let counted = self.outstanding - self.excused;
        self.credit = (self.credit + seconds * (self.window - counted)).min(0.0);
    }
}

// The disks of one host divide its window by start-time fair queueing (Goyal, Vin and Cheng, 1996; SFQ(D) of Jin, Chase
// and Kaur, 2004).

/// Waiting I/Os of several disks; the one with the least start tag goes first.
///
/// An I/O's start tag is the later of the virtual time and its disk's last finish tag; its finish tag is that plus cost over
/// shares. Virtual time is the start tag of the I/O sent last, so that a disk that was idle has earned nothing. Within a disk
/// its clients take turns, by cost.
#[derive(Clone, Debug)]
pub struct Queue<T> {
    disks: Vec<Disk<T>>,
    virtual_time: f64,
}

#[derive(Clone, Debug)]
struct Disk<T> {
    shares: f64,
    finish: f64,
    waiting: Turns<T>,
}

impl<T> Queue<T> {
    /// An empty queue for disks with these shares, which must be above zero.
    pub fn new(shares: &[f64]) -> Self {
        let disk = |&shares: &f64| Disk { shares, finish: 0.0, waiting: Turns::new() };
        Self { disks: shares.iter().map(disk).collect(), virtual_time: 0.0 }
    }

    pub fn set_shares(&mut self, disk: usize, shares: f64) {
        if let Some(disk) = self.disks.get_mut(disk) {
            disk.shares = shares;
        }
    }

    pub fn len(&self) -> usize {
        self.disks.iter().map(|disk| disk.waiting.len()).sum()
    }

    pub fn is_empty(&self) -> bool {
        self.disks.iter().all(|disk| disk.waiting.len() == 0)
    }

    pub fn push(&mut self, disk: usize, client: u64, cost: f64, io: T) {
        if let Some(disk) = self.disks.get_mut(disk) {
            disk.waiting.push(client, cost, io);
        }
    }

    pub fn withdraw(&mut self, disk: usize, client: u64) -> VecDeque<(f64, T)> {
        self.disks.get_mut(disk).map_or_else(VecDeque::new, |disk| disk.waiting.withdraw(client))
    }

    pub fn withdraw_all(&mut self, disk: usize) -> Vec<(f64, T)> {
        self.disks.get_mut(disk).map_or_else(Vec::new, |disk| disk.waiting.withdraw_all())
    }

    /// The disk whose turn it is, and the cost of its first I/O.
    pub fn next(&self) -> Option<(usize, f64)> {
        let start = |disk: &Disk<T>| disk.finish.max(self.virtual_time);
        let waiting = self.disks.iter().enumerate().filter(|(_, disk)| disk.waiting.len() > 0);
        let (place, disk) = waiting.min_by(|(_, a), (_, b)| start(a).total_cmp(&start(b)))?;
        Some((place, disk.waiting.next()?))
    }

    pub fn pop(&mut self) -> Option<(usize, f64, T)> {
        let (place, _) = self.next()?;
        let disk = self.disks.get_mut(place)?;
        let (cost, io) = disk.waiting.pop()?;
        self.virtual_time = disk.finish.max(self.virtual_time);
        disk.finish = self.virtual_time + cost / disk.shares;
        Some((place, cost, io))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Mean outstanding over ten seconds, of I/Os that take so long each and are always wanted.
    fn mean(window: f64, cost: f64, latency_s: f64) -> f64 {
        let mut pacer = Pacer::new(window, 0.0);
        let (mut due, mut area): (Vec<f64>, f64) = (Vec::new(), 0.0);
        let step = 1e-5;
        for step_number in 0..1_000_000 {
            let now = f64::from(step_number) * step;
            while due.first().is_some_and(|&first| first <= now) {
                due.remove(0);
                pacer.complete(cost, now);
            }
            while pacer.send(cost, now).is_ok() {
                due.push(now + latency_s);
            }
            area += pacer.outstanding() * step;
        }
        area / 10.0
    }

    #[test]
    fn the_mean_outstanding_is_the_window_also_below_one_and_between_numbers() {
        for window in [0.3, 1.0, 2.5, 7.9] {
            for cost in [1.0, 1.4] {
                let mean = mean(window, cost, 0.01);
                assert!((mean / window - 1.0).abs() < 0.03, "{mean} of {window} with cost {cost}");
            }
        }
    }

    #[test]
    fn what_was_sent_within_a_larger_window_is_no_debt() {
        let mut pacer = Pacer::new(70.0, 0.0);
        (0..70).for_each(|_| assert_eq!(pacer.send(1.0, 0.0), Ok(())));
        pacer.set(4.0, 0.0);
        (0..70).for_each(|_| pacer.complete(1.0, 0.1));
        assert_eq!(pacer.send(4.3, 0.1), Ok(()), "fits only in part, and nothing is owed");
    }

    #[test]
    fn windows_that_change_a_little_excuse_nothing_that_is_beyond_all_of_them() {
        let mut pacer = Pacer::new(0.5, 0.0);
        assert_eq!(pacer.send(1.0, 0.0), Ok(()));
        (1..=1_000).for_each(|step_number| {
            pacer.set(if step_number % 2 == 0 { 0.5 } else { 0.49 }, f64::from(step_number) * 0.0001)
        });
        pacer.complete(1.0, 0.1);
        let wait = pacer.send(1.0, 0.1).unwrap_err();
        assert!((wait - 0.1).abs() < 0.01, "{wait}");
    }

    #[test]
    fn after_a_stall_nobody_waits_longer_than_a_period() {
        let mut pacer = Pacer::new(0.1, 0.0);
        assert_eq!(pacer.send(1.0, 0.0), Ok(()));
        pacer.complete(1.0, 1_000.0);
        pacer.forgive(2.0, 0.0, 1_000.0);
        let wait = pacer.send(1.0, 1_000.0).unwrap_err();
        assert!((wait - 2.0).abs() < 1e-9, "{wait}");
    }

    #[test]
    fn idleness_earns_no_burst() {
        let mut pacer = Pacer::new(2.0, 0.0);
        let sent = (0..10).filter(|_| pacer.send(1.0, 100.0).is_ok()).count();
        assert_eq!(sent, 2);
    }

    fn sent(queue: &mut Queue<()>, many: usize) -> Vec<usize> {
        let mut sent = vec![0; queue.disks.len()];
        for _ in 0..many {
            let (disk, cost, ()) = queue.pop().expect("something waits");
            sent[disk] += 1;
            queue.push(disk, 0, cost, ());
        }
        sent
    }

    #[test]
    fn disks_that_always_want_get_their_shares() {
        let mut queue = Queue::new(&[20.0, 10.0]);
        (0..8).for_each(|number| queue.push(number % 2, 0, 1.0, ()));
        assert_eq!(sent(&mut queue, 300), [200, 100]);
    }

    #[test]
    fn shares_are_of_cost_not_of_numbers() {
        let mut queue = Queue::new(&[1.0, 1.0]);
        queue.push(0, 0, 4.0, ());
        queue.push(1, 0, 1.0, ());
        assert_eq!(sent(&mut queue, 500), [100, 400]);
    }

    #[test]
    fn a_disk_that_was_idle_has_earned_nothing() {
        let mut queue = Queue::new(&[1.0, 1.0]);
        queue.push(0, 0, 1.0, ());
        sent(&mut queue, 1_000);
        queue.push(1, 0, 1.0, ());
        let sent = sent(&mut queue, 100);
        assert!(sent[0].abs_diff(sent[1]) <= 1, "{sent:?}");
    }
}
