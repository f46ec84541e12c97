use crate::statistics::halved;

/// Pages of one kind, which requests touch alike.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Touched {
    pub pages: f64,
    /// How many of them a request touches in the mean; those that it touches again count again.
    pub by_request: f64,
}

/// Of so many pages, those that hold at least one of `places` that are drawn by chance, each `wide` pages one after the other:
/// `n (1 - (1 - w / n)^k)` (Cardenas, Communications of the ACM 18 (1975) 253, for `w = 1`).
pub fn distinct(pages: f64, places: f64, wide: f64) -> f64 {
    match pages > wide {
        true => pages * (1.0 - (1.0 - wide / pages).powf(places)),
        false if places > 0.0 => pages,
        false => 0.0,
    }
}

/// Pages that are touched, and how often a request touches each of them.
fn kinds(touched: &[Touched]) -> Vec<(f64, f64)> {
    touched
        .iter()
        .filter(|kind| kind.pages > 0.0 && kind.by_request > 0.0)
        .map(|kind| (kind.pages, kind.by_request / kind.pages))
        .collect()
}

/// Pages that a request reads from disk where requests overlap, of a cache that has room for `room` pages and gives up the one that nobody
/// touched for longest.
///
/// Requests that overlap touch pages in no order: a page that one touches `l` times in the mean is still there with the probability
/// `1 - exp(-l T)`, with `T` the number of requests after which an untouched page is given up: that at which the cache is full,
/// `sum n (1 - exp(-l T)) = room` (Che, Tung and Wang, IEEE Journal on Selected Areas in Communications 20 (2002) 1305). Then
/// `sum n l exp(-l T)` touches find none.
pub fn reads_at_once(touched: &[Touched], room: f64) -> f64 {
    let own = kinds(touched);
    let left = |often: f64, age: f64| (-often * age).exp();
    let read = |age: f64| own.iter().map(|(pages, often)| pages * often * left(*often, age)).sum();
    age_at(&own, room, left).map_or(0.0, read)
}

/// The same where each request is answered before the next one comes.
///
/// Each goes through its pages in the order of keys, as the one before it. From one touch of a page to the next `j` requests later all pages
/// of `j` requests were touched, `sum n (1 - (1 - l)^j)`, neither more nor less: what is not found within the largest whole `j` for which
/// these have room is read. So a cache with room for half of what a request touches finds nothing at all.
pub fn reads_one_by_one(touched: &[Touched], room: f64) -> f64 {
    let own = kinds(touched);
    let left = |often: f64, age: f64| (1.0 - often.min(1.0)).powf(age);
    let read =
        |age: f64| own.iter().map(|(pages, often)| pages * often.min(1.0) * left(*often, age.floor())).sum();
    age_at(&own, room, left).map_or(0.0, read)
}

/// Both as one where so many requests are under way in the mean: of Poisson arrivals the share `1 - exp(-n)` meets another one, as far as none
/// waits for another.
pub fn mixed(at_once: f64, one_by_one: f64, under_way: f64) -> f64 {
    let share = 1.0 - (-under_way.max(0.0)).exp();
    share * at_once + (1.0 - share) * one_by_one
}

/// Requests after which a page that nobody touches is given up; `left` is the share of pages that so many requests do not touch. `None` where
/// there is room for all.
fn age_at(own: &[(f64, f64)], room: f64, left: impl Fn(f64, f64) -> f64) -> Option<f64> {
    if own.iter().map(|(pages, _)| pages).sum::<f64>() <= room {
        return None;
    }
    let kept = |age: f64| own.iter().map(|(pages, often)| pages * (1.0 - left(*often, age))).sum::<f64>();
    let mut high = 1.0;
    while kept(high) < room && high < f64::MAX / 2.0 {
        high *= 2.0;
    }
    Some(halved(0.0, high, |age| kept(age) < room))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{Random, Seed};
    use std::collections::VecDeque;

    #[test]
    fn pages_that_are_all_touched_alike_are_missed_by_the_share_that_has_no_room() {
        let kind = Touched { pages: 1_000.0, by_request: 10.0 };
        let reads = reads_at_once(&[kind], 200.0);
        assert!((reads - 8.0).abs() < 1e-6, "{reads}");
        assert_eq!(reads_at_once(&[kind], 1_000.0), 0.0);
        assert!((reads_at_once(&[kind], 0.0) - 10.0).abs() < 1e-6);
    }

    #[test]
    fn rows_that_lie_where_chance_put_them_share_some_of_their_pages() {
        assert!((distinct(100.0, 1.0, 1.0) - 1.0).abs() < 1e-9);
        assert!((distinct(100.0, 1.0, 7.0) - 7.0).abs() < 1e-9);
        assert!((distinct(100.0, 100.0, 1.0) - 63.397).abs() < 0.001);
        assert_eq!((distinct(1.0, 50.0, 1.0), distinct(3.0, 0.0, 9.0)), (1.0, 0.0));
    }

    /// Reads of a cache that really gives up what was touched longest ago; of requests that touch pages in no order, or from the first to the
    /// last.
    fn counted(kinds: &[Touched], room: usize, in_order: bool) -> f64 {
        let mut random = Random::new(Seed(17));
        let mut cache: VecDeque<(usize, u64)> = VecDeque::new();
        let (warm, measured, mut reads) = (400, 400, 0);
        for request in 0..warm + measured {
            for (number, kind) in kinds.iter().enumerate() {
                let mut pages: Vec<u64> =
                    (0..kind.by_request as usize).map(|_| (random.unit() * kind.pages) as u64).collect();
                if in_order {
                    pages.sort_unstable();
                    pages.dedup();
                }
                for page in pages {
                    let page = (number, page);
                    match cache.iter().position(|held| *held == page) {
                        Some(at) => drop(cache.remove(at)),
                        None => reads += u32::from(request >= warm),
                    }
                    cache.push_back(page);
                    if cache.len() > room {
                        cache.pop_front();
                    }
                }
            }
        }
        f64::from(reads) / f64::from(measured)
    }

    #[test]
    fn what_is_predicted_is_what_a_cache_counts() {
        let hot = Touched { pages: 20.0, by_request: 10.0 };
        let cold = Touched { pages: 600.0, by_request: 30.0 };
        for room in [40, 120, 300, 500] {
            let told = reads_at_once(&[hot, cold], room as f64);
            let counted = counted(&[hot, cold], room, false);
            assert!((told / counted - 1.0).abs() < 0.05, "{told} told, {counted} counted, room {room}");
        }
    }

    #[test]
    fn requests_one_by_one_that_go_through_their_pages_in_order_find_nothing_in_a_cache_that_is_too_small_for_one()
     {
        let pages = 500.0;
        let kind = Touched { pages, by_request: distinct(pages, 400.0, 1.0) };
        let drawn = Touched { pages, by_request: 400.0 };
        for room in [150, 330, 430] {
            let told = reads_one_by_one(&[kind], f64::from(room));
            let counted = counted(&[drawn], room as usize, true);
            assert!((told / counted - 1.0).abs() < 0.1, "{told} told, {counted} counted, room {room}");
        }
        assert!((reads_one_by_one(&[kind], 150.0) - kind.by_request).abs() < 1e-6);
        assert_eq!((mixed(1.0, 3.0, 0.0), mixed(1.0, 3.0, 1e9)), (3.0, 1.0));
        assert!((mixed(1.0, 3.0, 2.0_f64.ln()) - 2.0).abs() < 1e-9, "half of the requests meet another one");
    }
}
