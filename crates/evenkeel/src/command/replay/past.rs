//! What a replay that was stopped has sent, as its CSV has it.

use super::lines::head;
use crate::failure::WithHint;
use anyhow::{Context, Result, anyhow};
use evenkeel_core::Nanos;
use evenkeel_lab::replay::play::Past;
use evenkeel_lab::replay::{Answered, Recording};
use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, Seek};
use std::os::unix::fs::FileExt;
use std::path::Path;

/// Longest line: numbers alone.
const LINE_MAX: usize = 2 << 10;

/// Lines of the file by client and number of the command, each read when it is asked for.
pub struct Sent {
    file: File,
    /// Client, number, and where the line begins; in order.
    places: Vec<(u32, u32, u64)>,
}

impl Sent {
    /// Reads the file, cuts off a last line that is not whole, and leaves the end as the place for more.
    pub fn open(path: &Path, (servers, replay): (usize, u64), recording: &Recording) -> Result<(Self, File)> {
        let name = path.display();
        let opened = OpenOptions::new().read(true).write(true).open(path);
        let mut file = opened
            .with_context(|| format!("cannot read {name}"))
            .hint("without --resume the replay starts from the beginning, and creates this file")?;
        let sessions = sessions(recording);
        let (mut lines, mut line, mut at) = (BufReader::new(file.try_clone()?), Vec::new(), 0);
        let mut places = Vec::new();
        loop {
            line.clear();
            let length = lines.read_until(b'\n', &mut line).with_context(|| format!("reading {name}"))?;
            let Some(whole) = line.strip_suffix(b"\n") else { break };
            let text = String::from_utf8_lossy(whole);
            let is_head = at == 0 && text == head(servers);
            match known(&text, &sessions).filter(|_| text.ends_with(&format!(",{replay:016x}"))) {
                // What a lost server left unanswered is sent again.
                Some(_) if parse(&text).is_none_or(|past| past.is_lost()) => {}
                Some((client, number)) => places.push((client, number, at)),
                None if is_head => {}
                None => {
                    return Err(anyhow!("{name} was written for another log, server or number of clients"))
                        .hint("name the file that the stopped replay made, with the same flags, or leave out --resume");
                }
            }
            at += length as u64;
        }
        file.set_len(at).with_context(|| format!("writing {name}"))?;
        file.seek(std::io::SeekFrom::End(0))?;
        places.sort_unstable();
        Ok((Self { file: file.try_clone()?, places }, file))
    }

    pub fn count(&self) -> u64 {
        self.places.len() as u64
    }

    pub fn find(&self, client: u32, number: u32) -> Option<Past> {
        let found = self.places.binary_search_by_key(&(client, number), |place| (place.0, place.1)).ok()?;
        let mut bytes = [0; LINE_MAX];
        let got = self.file.read_at(&mut bytes, self.places[found].2).ok()?;
        let line = bytes[..got].split(|byte| *byte == b'\n').next()?;
        parse(std::str::from_utf8(line).ok()?)
    }
}

/// The session of each command, by its number.
fn sessions(recording: &Recording) -> Vec<u64> {
    let mut all = vec![0; recording.commands()];
    for session in recording.sessions() {
        for place in &session.commands {
            all[place.number as usize] = session.session;
        }
    }
    all
}

/// Client and number of a line whose command is of that session.
fn known(line: &str, sessions: &[u64]) -> Option<(u32, u32)> {
    let mut fields = line.split(',').skip(1);
    let number: u32 = fields.next()?.parse().ok()?;
    let session: u64 = fields.next()?.parse().ok()?;
    let client = fields.next()?.parse().ok()?;
    (sessions.get(number as usize) == Some(&session)).then_some((client, number))
}

fn parse(line: &str) -> Option<Past> {
    let mut fields = line.split(',').skip(4);
    let digest = u64::from_str_radix(fields.next()?, 16).ok()?;
    let behind = ms(fields.next()?)?;
    let mut answers = std::iter::from_fn(|| answered(&mut fields));
    let first = answers.next()?;
    let (second, again) = (answers.next().flatten(), answers.next().flatten());
    Some(Past { behind, digest, answers: [first, second], again })
}

/// One server's columns; `None` inside where they are empty, outside where there are none.
fn answered<'a>(fields: &mut impl Iterator<Item = &'a str>) -> Option<Option<Answered>> {
    let lag = fields.next()?;
    let mut rest = [""; 7];
    for field in &mut rest {
        *field = fields.next()?;
    }
    let [response, rows, affected, bytes, warnings, error, hash] = rest;
    let number = |text: &str| text.parse().ok();
    let of = || {
        Some(Answered {
            lag: ms(lag)?,
            response: ms(response)?,
            rows: number(rows)?,
            affected: number(affected)?,
            bytes: number(bytes)?,
            warnings: number(warnings)?,
            hash: u64::from_str_radix(hash, 16).ok()?,
            error: error.parse().ok(),
        })
    };
    Some(of())
}

fn ms(text: &str) -> Option<Nanos> {
    text.parse::<f64>().ok().map(|ms| Nanos::from_secs_f64(ms / 1e3))
}
