/// More servers than these wait as little.
const SERVERS_MAX: f64 = 4_096.0;

/// Mean wait in seconds for one of `servers` that together serve `capacity` requests per second, with Poisson arrivals and
/// negative exponential service; infinite from the capacity on.
///
/// `W = C / (capacity - rate)` with Erlang's `C`, by way of his `B`: `B(i) = a B(i-1) / (i + a B(i-1))`, `C = B / (1 - u (1 - B))` for
/// `a = servers u` (Kleinrock, Queueing Systems, vol. 1, 1975, section 3.5).
pub(super) fn wait(rate: f64, capacity: f64, servers: f64) -> f64 {
    let servers = if servers >= 1.0 { servers.round().min(SERVERS_MAX) } else { 1.0 };
    let utilisation = rate / capacity;
    if !(0.0..1.0).contains(&utilisation) {
        return f64::INFINITY;
    }
    let offered = servers * utilisation;
    let blocked = (1..=servers as u32).fold(1.0, |b, i| offered * b / (f64::from(i) + offered * b));
    let waits = blocked / (1.0 - utilisation * (1.0 - blocked));
    waits / (capacity - rate)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_wait_for_servers_is_that_of_the_theory() {
        // M/M/1 at 0.8: u / (1 - u) services. M/M/2 at 0.8: u^2 / (1 - u^2) services of 2 / capacity.
        assert!((wait(80.0, 100.0, 1.0) - 0.04).abs() < 1e-12);
        assert!((wait(80.0, 100.0, 2.0) - 0.64 / 0.36 * 0.02).abs() < 1e-12);
        assert!(wait(80.0, 100.0, 64.0) < 0.005);
        assert_eq!((wait(100.0, 100.0, 1.0), wait(f64::NAN, 100.0, 1.0)), (f64::INFINITY, f64::INFINITY));
        assert_eq!(wait(0.0, 100.0, 4.0), 0.0);
    }
}
