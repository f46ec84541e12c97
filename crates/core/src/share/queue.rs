//! The disks of one host divide its window by start-time fair queueing (Goyal, Vin and Cheng, 1996; SFQ(D) of Jin, Chase
//! and Kaur, 2004).

use super::turns::Turns;
use std::collections::VecDeque;

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
