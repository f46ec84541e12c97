use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// Waiting I/Os of the clients of a disk, each client's in the order in which it asked; equal parts of the cost for all.
///
/// An I/O starts at the later of the virtual time and the end of its client's last one, and ends that plus its cost later;
/// the one that ends first goes first, and virtual time is the latest start of what went. So one who asks for little goes
/// before all the large I/Os that others have asked for, and who was idle has earned nothing.
#[derive(Clone, Debug)]
pub(super) struct Turns<T> {
    clients: BTreeMap<u64, Client<T>>,
    /// Those for which something waits: the end of its first I/O, as bits, whose order is that of numbers from 0 up.
    order: BTreeSet<(u64, u64)>,
    virtual_time: f64,
    waiting: usize,
}

#[derive(Clone, Debug)]
struct Client<T> {
    /// Where its last I/O ended, or its first one that waits starts.
    from: f64,
    waiting: VecDeque<(f64, T)>,
}

impl<T> Client<T> {
    fn turn(&self, number: u64) -> Option<(u64, u64)> {
        let (cost, _) = self.waiting.front()?;
        Some(((self.from + cost).to_bits(), number))
    }
}

impl<T> Turns<T> {
    pub fn new() -> Self {
        Self { clients: BTreeMap::new(), order: BTreeSet::new(), virtual_time: 0.0, waiting: 0 }
    }

    pub fn len(&self) -> usize {
        self.waiting
    }

    pub fn push(&mut self, number: u64, cost: f64, io: T) {
        let now = self.virtual_time;
        let client =
            self.clients.entry(number).or_insert_with(|| Client { from: now, waiting: VecDeque::new() });
        if client.waiting.is_empty() {
            client.from = client.from.max(now);
        }
        client.waiting.push_back((cost, io));
        self.order.extend(client.turn(number).filter(|_| client.waiting.len() == 1));
        self.waiting += 1;
    }

    pub fn next(&self) -> Option<f64> {
        let (_, number) = self.order.first()?;
        self.clients.get(number)?.waiting.front().map(|(cost, _)| *cost)
    }

    pub fn pop(&mut self) -> Option<(f64, T)> {
        let (_, number) = self.order.pop_first()?;
        let client = self.clients.get_mut(&number)?;
        let (cost, io) = client.waiting.pop_front()?;
        self.virtual_time = self.virtual_time.max(client.from);
        client.from += cost;
        self.order.extend(client.turn(number));
        self.waiting -= 1;
        if self.waiting == 0 {
            // Who had more before holds up nobody.
            *self = Self::new();
        }
        Some((cost, io))
    }

    pub fn withdraw(&mut self, number: u64) -> VecDeque<(f64, T)> {
        let Some(client) = self.clients.remove(&number) else { return VecDeque::new() };
        if let Some(turn) = client.turn(number) {
            self.order.remove(&turn);
        }
        self.waiting -= client.waiting.len();
        client.waiting
    }

    pub fn withdraw_all(&mut self) -> Vec<(f64, T)> {
        let all = std::mem::replace(self, Self::new());
        all.clients.into_values().flat_map(|client| client.waiting).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whose I/Os go, in turn, of clients that always have one that waits.
    fn gone(turns: &mut Turns<u64>, many: usize) -> Vec<u64> {
        let mut gone = Vec::new();
        for _ in 0..many {
            let (cost, number) = turns.pop().expect("something waits");
            turns.push(number, cost, number);
            gone.push(number);
        }
        gone
    }

    #[test]
    fn who_asks_for_little_goes_before_what_others_have_piled_up() {
        let mut turns = Turns::new();
        for number in 0..12 {
            (0..1_000).for_each(|_| turns.push(number, 127.0, number));
        }
        turns.pop();
        turns.push(99, 1.0, 99);
        assert_eq!(turns.pop(), Some((1.0, 99)));
        assert_eq!(turns.len(), 11_999);
    }

    #[test]
    fn all_get_equal_parts_of_the_cost_and_none_is_left_out() {
        let mut turns = Turns::new();
        turns.push(1, 1.0, 1);
        turns.push(1, 1.0, 1);
        turns.push(2, 4.0, 2);
        turns.push(2, 4.0, 2);
        let gone = gone(&mut turns, 500);
        let of = |number| gone.iter().filter(|one| **one == number).count();
        assert!(of(1).abs_diff(400) <= 4 && of(2).abs_diff(100) <= 4, "{} {}", of(1), of(2));
    }

    #[test]
    fn one_client_is_served_in_the_order_in_which_it_asked() {
        let mut turns = Turns::new();
        [5.0, 1.0, 3.0].into_iter().for_each(|cost| turns.push(7, cost, cost));
        let order: Vec<f64> = std::iter::from_fn(|| turns.pop()).map(|(_, io)| io).collect();
        assert_eq!(order, [5.0, 1.0, 3.0]);
    }

    #[test]
    fn who_was_idle_has_earned_nothing() {
        let mut turns = Turns::new();
        (0..2).for_each(|_| turns.push(1, 1.0, 1));
        gone(&mut turns, 1_000);
        (0..2).for_each(|_| turns.push(2, 1.0, 2));
        let gone = gone(&mut turns, 100);
        assert!(gone.iter().filter(|one| **one == 1).count().abs_diff(50) <= 2, "{gone:?}");
    }

    #[test]
    fn who_has_gone_leaves_nothing_behind() {
        let mut turns = Turns::new();
        (0..3).for_each(|_| turns.push(1, 2.0, 'a'));
        turns.push(2, 2.0, 'b');
        assert_eq!((turns.withdraw(1).len(), turns.len()), (3, 1));
        assert!(turns.withdraw(1).is_empty());
        assert_eq!((turns.pop(), turns.pop()), (Some((2.0, 'b')), None));
        turns.push(3, 1.0, 'c');
        assert_eq!(turns.withdraw_all(), [(1.0, 'c')]);
        assert_eq!((turns.len(), turns.next()), (0, None));
    }
}
