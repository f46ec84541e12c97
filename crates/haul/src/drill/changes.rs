//! Changes of many kinds to tables of their own, while a backup is taken: rows with and without keys, and definitions.

use crate::HaulError;
use evenkeel_core::random::{Random, Seed};
use evenkeel_os::Stop;
use evenkeel_site::server::{Control, Target, TargetError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// Between two changes.
const PAUSE: Duration = Duration::from_millis(10);

/// Makes the tables: `keyed` and `keyless`, and `base` with at least so many bytes.
pub fn fill(control: &mut Control, bytes: u64) -> Result<(), HaulError> {
    const ROW: u64 = 256;
    for sql in [
        "CREATE TABLE keyed (id INT AUTO_INCREMENT PRIMARY KEY, v INT NOT NULL, filler VARCHAR(100) NOT NULL) ENGINE=InnoDB",
        "CREATE TABLE keyless (v INT NOT NULL, filler VARCHAR(100) NOT NULL) ENGINE=InnoDB",
        "CREATE TABLE base (id INT AUTO_INCREMENT PRIMARY KEY, filler CHAR(200) NOT NULL) ENGINE=InnoDB",
        "INSERT INTO base (filler) VALUES (SHA2(1, 256)), (SHA2(2, 256)), (SHA2(3, 256)), (SHA2(4, 256))",
    ] {
        control.exec(sql)?;
    }
    let mut rows = 4;
    while rows * ROW < bytes {
        rows +=
            control.exec("INSERT INTO base (filler) SELECT SHA2(id + RAND(), 256) FROM base LIMIT 100000")?;
    }
    Ok(())
}

/// Somebody who changes things until told to end.
pub struct Changes {
    end: Stop,
    thread: Option<JoinHandle<()>>,
}

impl Changes {
    /// Starts; ends by itself where the server does. Whether definitions change too: a dump of one instant does not bear that.
    pub fn start(target: &Target, seed: Seed, definitions: bool) -> Result<Self, HaulError> {
        let mut control = Control::connect(target)?;
        let end = Stop::default();
        let ended = end.clone();
        let work = move || {
            let mut random = Random::new(seed);
            while !ended.is_set() && !is_over(control.exec(&change(&mut random, definitions))) {
                thread::sleep(PAUSE);
            }
        };
        let thread = thread::Builder::new().name("changes".into()).spawn(work);
        let thread = thread.map_err(HaulError::io("start a thread for", "changes".as_ref()))?;
        Ok(Self { end, thread: Some(thread) })
    }
}

impl Drop for Changes {
    fn drop(&mut self) {
        self.end.set();
        self.thread.take().map(JoinHandle::join);
    }
}

/// A statement that is refused (a lock, a table that is gone) is none to stop for.
fn is_over(outcome: Result<u64, TargetError>) -> bool {
    !matches!(outcome, Ok(_) | Err(TargetError::Statement { .. }))
}

fn change(random: &mut Random, definitions: bool) -> String {
    let number = random.uniform(0, 999);
    match random.uniform(0, if definitions { 99 } else { 94 }) {
        0..40 => format!(
            "INSERT INTO keyed (v, filler) VALUES ({number}, UUID()), ({number}, UUID()), ({number}, UUID())"
        ),
        40..60 => {
            format!("UPDATE keyed SET v = v + 1, filler = UUID() WHERE v BETWEEN {number} AND {number} + 20")
        }
        60..75 => format!("DELETE FROM keyed WHERE v = {number} LIMIT 5"),
        75..90 => format!("INSERT INTO keyless VALUES ({number}, UUID()), ({number}, UUID())"),
        90..95 => format!("UPDATE keyless SET v = v + 1 WHERE v < {number} LIMIT 10"),
        95..97 => format!("CREATE TABLE IF NOT EXISTS made{} (a INT PRIMARY KEY) ENGINE=InnoDB", number % 10),
        97..98 => format!("DROP TABLE IF EXISTS made{}", number % 10),
        98 => format!("ALTER TABLE keyed ADD COLUMN IF NOT EXISTS c{} INT DEFAULT {number}", number % 4),
        _ => format!("ALTER TABLE keyed DROP COLUMN IF EXISTS c{}", number % 4),
    }
}
