//! `--sense-from`: the page of node_exporter, from a small server that counts what this machine counts.

use super::{doubts, profile, runs};
use crate::guard::server::Server;
use crate::sandbox::figures;
use evenkeel_os::stop::Stop;
use evenkeel_site::elsewhere::Elsewhere;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

/// This machine's own counters as node_exporter shows them.
fn page() -> String {
    let modes = ["user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal"];
    let stat = fs::read_to_string("/proc/stat").expect("CPUs");
    let mut page = String::from("# TYPE node_cpu_seconds_total counter\n");
    for line in stat.lines() {
        let mut words = line.split_ascii_whitespace();
        let Some(cpu) = words.next().and_then(|name| name.strip_prefix("cpu")).filter(|cpu| !cpu.is_empty())
        else {
            continue;
        };
        for (mode, ticks) in modes.iter().zip(words) {
            let seconds = ticks.parse::<f64>().expect("ticks") / 100.0;
            page.push_str(&format!("node_cpu_seconds_total{{cpu=\"{cpu}\",mode=\"{mode}\"}} {seconds}\n"));
        }
    }
    page + "node_uname_info{nodename=\"db1\",release=\"6.1\"} 1\n"
}

/// A server of pages that answers each connection by what `answer` does with it.
fn serve(answer: impl Fn(TcpStream) + Send + Sync + 'static) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    let answer = Arc::new(answer);
    // It ends with the test's process.
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let answer = Arc::clone(&answer);
            thread::spawn(move || {
                let mut request =
                    BufReader::new(stream.try_clone().expect("a socket")).lines().map_while(Result::ok);
                if request.any(|line| line.is_empty()) {
                    answer(stream);
                }
            });
        }
    });
    format!("http://{address}/metrics")
}

fn send(mut stream: TcpStream, body: &str) {
    let head =
        format!("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: {}\r\n\r\n", body.len());
    // Who asked may have gone.
    let _ = stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(body.as_bytes()));
}

#[test]
fn theta_is_that_of_the_machine_and_what_breaks_off_is_not_available() {
    let is_broken = Arc::new(AtomicBool::new(false));
    let broken = Arc::clone(&is_broken);
    let url = serve(move |stream| match broken.load(Ordering::Relaxed) {
        false => send(stream, &page()),
        true => send(stream, "<html>Bad gateway</html>"),
    });
    let server = Server::up(&[]);
    let home = server.file("home");
    let mut child = profile(&server, "20,30,40", &["--duration", "6s", "--sense-from", &url]);
    let watcher = thread::spawn({
        let home = home.clone();
        move || {
            crate::patience::found("the first run", || {
                let folders = fs::read_dir(super::study(&home).ok()?.join("runs")).ok()?.flatten();
                folders.map(|folder| folder.path().join("run.json")).find(|path| path.exists())
            });
            is_broken.store(true, Ordering::Relaxed);
        }
    });
    let (said, _) = figures(&child.output().expect("it starts"));
    watcher.join().expect("a run");
    let runs = runs(&home);
    assert_eq!(runs[0]["sensed"]["by"].as_str(), Some("node_exporter"), "{:#}", runs[0]);
    let theta = &runs[0]["theta"];
    assert_eq!((theta["domain"].as_str(), runs[0]["sensed"]["host"].as_str()), (Some("host"), Some("db1")));
    let total = theta["total_percent"].as_f64().expect("theta");
    assert!(total > 0.0 && total < 110.0, "{:#}", runs[0]);
    assert!(theta["steal_percent"].is_f64() && runs[0]["sensed"]["resolution_ms"].as_f64() == Some(10.0));
    assert!(runs[0]["sensed"]["gap_ms"].as_f64() >= Some(900.0), "{:#}", runs[0]);
    assert!(runs[2]["theta"].is_null() && doubts(&runs[2]).contains(&"not-available"), "{:#}", runs[2]);
    assert!(
        runs[2]["sensed"]["missing"].as_str().is_some_and(|why| why.contains("CPU times")),
        "{:#}",
        runs[2]
    );
    assert!(said.contains("server sensed by node_exporter"), "{said}");
}

/// Why a page cannot be used.
fn refusal(answer: impl Fn(TcpStream) + Send + Sync + 'static) -> String {
    let url = serve(answer);
    let far = Elsewhere::metrics(&url).expect("an address");
    let error = far.start(&Stop::default()).expect_err("no page");
    assert!(error.hint().is_some());
    error.to_string()
}

#[test]
fn garbage_endless_pages_and_slow_ones_are_told_within_bounds() {
    let garbage = refusal(|mut stream| drop(stream.write_all(&[0xff; 4096])));
    assert!(garbage.contains("HTTP"), "{garbage}");
    let other = refusal(|stream| send(stream, "go_goroutines 8\n"));
    assert!(other.contains("does not show CPU times"), "{other}");
    let endless = |mut stream: TcpStream| {
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n");
        while stream.write_all(&[b'x'; 1 << 16]).is_ok() {}
    };
    let endless = refusal(endless);
    assert!(endless.contains("MiB") || endless.contains("within"), "{endless}");
    let headers = |mut stream: TcpStream| {
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\n");
        while stream.write_all(b"X: y\r\n").is_ok() {}
    };
    let headers = refusal(headers);
    assert!(headers.contains("MiB") || headers.contains("within"), "{headers}");
    // Drop by drop it is late as well: the time is that of the whole page.
    let slow = |mut stream: TcpStream| {
        while stream.write_all(b"H").is_ok() {
            thread::sleep(std::time::Duration::from_millis(200));
        }
    };
    let slow = refusal(slow);
    assert!(slow.contains("no complete answer within 5 s"), "{slow}");
}
