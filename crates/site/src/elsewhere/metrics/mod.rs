//! The counters of node_exporter are of the machine as a whole, in ticks of 10 ms, and are read once a second during runs.

mod http;
mod text;

pub(super) use http::Url;

use super::error::ElsewhereError;
use super::readings::Readings;
use evenkeel_core::Nanos;
use evenkeel_os::clock::monotonic;
use evenkeel_os::{Background, Until};
use std::net::SocketAddr;
use text::Page;

/// Time from one look to the next: a page costs the far machine some 10 ms of CPU, so that this is one per cent of one CPU.
pub(super) const EVERY: Nanos = Nanos::from_secs(1);

#[derive(Clone, Debug)]
pub(super) struct Metrics {
    url: Url,
    addresses: Vec<SocketAddr>,
    pub host: Option<String>,
    pub kernel: Option<String>,
    pub cpus: f64,
}

impl Metrics {
    pub(super) fn start(url: &Url) -> Result<Self, ElsewhereError> {
        let failed = |why: String| ElsewhereError::Page { url: url.to_string(), why };
        let addresses = url.addresses().map_err(|error| failed(error.to_string()))?;
        let text = http::get(url, &addresses).map_err(|error| failed(error.to_string()))?;
        let page = Page::parse(&text).ok_or_else(|| failed("it does not show CPU times".to_owned()))?;
        let cpus = page.reading.host.map_or(0.0, |host| host.capacity);
        Ok(Self { url: url.clone(), addresses, host: page.host, kernel: page.kernel, cpus })
    }

    /// Looks at it again and again from now on; `None` where there is no thread for that.
    pub(super) fn watch(&self) -> Option<Background<Looked>> {
        let metrics = self.clone();
        Background::start("metrics", move |until| metrics.look(until)).ok()
    }

    fn look(&self, until: &Until) -> Looked {
        let mut looked = Looked::default();
        let mut elapsed = None;
        let mut next = monotonic();
        loop {
            let asked = monotonic();
            let page = http::get(&self.url, &self.addresses);
            let answered = monotonic();
            let (time, middle) = (answered - asked, Nanos(asked.0 + (answered - asked).0 / 2));
            match page.map(|text| Page::parse(&text)) {
                Err(error) => looked.failed = Some(error.to_string()),
                Ok(None) => looked.failed = Some("the page does not show CPU times".to_owned()),
                // Read somewhere in this time, so that its place is not known well enough.
                Ok(Some(_)) if time > EVERY => {
                    looked.failed = Some("the page takes longer than a second".to_owned())
                }
                // Something in between shows an old page.
                Ok(Some(page)) if elapsed == Some(page.elapsed) => {
                    looked.failed = Some("the counters of the page do not change".to_owned());
                }
                Ok(Some(mut page)) => {
                    elapsed = Some(page.elapsed);
                    page.reading.at = middle;
                    looked.bound = looked.bound.max(Some(Nanos(time.0 / 2)));
                    looked.failed = None;
                    looked.readings.push(page.reading);
                }
            }
            next = (next + EVERY).max(monotonic());
            if !until.wait((next - monotonic()).into()) {
                return looked;
            }
        }
    }
}

/// What was seen of the page.
#[derive(Debug, Default)]
pub(super) struct Looked {
    pub readings: Readings,
    /// By how much the place of a reading may be wrong.
    pub bound: Option<Nanos>,
    pub failed: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::elsewhere::readings::Machine;
    use evenkeel_sense::sampler::{SenseRecord, SenseSample};
    use std::io::{BufRead, BufReader, Write};
    use std::net::TcpListener;
    use std::thread;

    fn page() -> String {
        let now = monotonic().as_secs_f64();
        let times = [("user", 0.5), ("system", 0.0), ("idle", 0.4), ("steal", 0.1)];
        let line = |cpu, (mode, share): &(&str, f64)| {
            format!("node_cpu_seconds_total{{cpu=\"{cpu}\",mode=\"{mode}\"}} {:.2}\n", share * now)
        };
        [0, 1].iter().flat_map(|cpu| times.iter().map(move |time| line(cpu, time))).collect()
    }

    fn serve(page: fn() -> String) -> Url {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address");
        // It ends with the test's process.
        thread::spawn(move || {
            for mut stream in listener.incoming().flatten() {
                let request =
                    BufReader::new(stream.try_clone().expect("a socket")).lines().map_while(Result::ok);
                request.take_while(|line| !line.is_empty()).for_each(drop);
                let _ = stream.write_all(format!("HTTP/1.0 200 OK\r\n\r\n{}", page()).as_bytes());
            }
        });
        Url::parse(&format!("http://{address}/metrics")).expect("an address")
    }

    fn looked(page: fn() -> String) -> (Nanos, Looked) {
        let metrics = Metrics::start(&serve(page)).expect("a page");
        assert_eq!(metrics.cpus, 2.0);
        let (begins, watch) = (monotonic(), metrics.watch().expect("a thread"));
        thread::sleep(Nanos::from_millis(4_300).into());
        (begins, watch.finish().expect("no panic"))
    }

    /// Utilisation and stolen time over four seconds, and how well the readings are placed, seconds; `None` where this
    /// machine stood still at one of the ends.
    fn four_seconds() -> Option<(f64, f64, f64)> {
        let (begins, looked) = looked(page);
        let whole =
            SenseSample { at: Nanos::from_secs(4), duration: Nanos::from_secs(4), ..SenseSample::default() };
        let mut record = SenseRecord { whole: Some(whole), ..SenseRecord::default() };
        looked.readings.fill(&mut record, begins, Machine::default());
        let used = record.whole?.domain?;
        Some((used.total, used.steal?, looked.bound?.as_secs_f64()))
    }

    #[test]
    fn half_busy_is_half_busy_whatever_this_machine_does_meanwhile() {
        let (total, steal, placed) = (0..10).find_map(|_| four_seconds()).expect("a figure");
        // A reading stands where it belongs but for half of the time that the page took.
        let error = 100.0 * placed + 2.0;
        assert!(
            (total - 50.0).abs() < error && (steal - 10.0).abs() < error,
            "{total} and {steal}, {placed} s"
        );
    }

    #[test]
    fn counters_that_stand_still_are_not_available() {
        fn still() -> String {
            let line = |cpu, mode| format!("node_cpu_seconds_total{{cpu=\"{cpu}\",mode=\"{mode}\"}} 5\n");
            ["user", "system"].iter().flat_map(|mode| [0, 1].map(|cpu| line(cpu, mode))).collect()
        }
        let (_, looked) = looked(still);
        assert_eq!(looked.readings.len(), 1);
        assert!(looked.failed.is_some_and(|why| why.contains("do not change")));
    }
}
