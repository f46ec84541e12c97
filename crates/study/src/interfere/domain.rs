//! What the domain of a private server may use, as a flag says it. The one place that knows how it is written.

use crate::published::{PublishedError, Result, While};
use evenkeel_site::sandbox::SandboxSpec;

const HINT: &str =
    "a domain is `host`, or any of cpus=0-1, memory=512M and disk-iops=300 with commas between";

/// From `cpus=0,2,memory=512M,disk-iops=300`; `host` is one without limits.
pub fn domain_of(text: &str) -> Result<SandboxSpec> {
    let mut spec = SandboxSpec::default();
    if matches!(text, "" | "host") {
        return Ok(spec);
    }
    for (key, value) in settings(text) {
        let wrong = || PublishedError::with_hint(format!("{key}={value} says nothing of a domain"), HINT);
        match key {
            "cpus" => spec.cpus = Some(value.parse().map_err(|_| wrong())?),
            "memory" => spec.memory = Some(bytes(&value).ok_or_else(wrong)?),
            "disk-iops" => {
                let iops: u64 = value.parse().doing(|| format!("reading {key}={value}"))?;
                spec.disk.iops = Some(iops).filter(|iops| *iops > 0);
            }
            _ => return Err(wrong()),
        }
    }
    Ok(spec)
}

/// Keys with their values; a piece without a key belongs to the value before, as in `cpus=0,2`.
fn settings(text: &str) -> Vec<(&str, String)> {
    let mut found: Vec<(&str, String)> = Vec::new();
    for piece in text.split(',') {
        match (piece.split_once('='), found.last_mut()) {
            (Some((key, value)), _) => found.push((key, value.to_owned())),
            (None, Some((_, value))) => *value += &format!(",{piece}"),
            (None, None) => found.push((piece, String::new())),
        }
    }
    found
}

/// A size with its unit, in powers of 1,024.
fn bytes(text: &str) -> Option<u64> {
    let unit = text.find(|c: char| !c.is_ascii_digit())?;
    let shift = ["K", "M", "G"].iter().position(|known| *known == &text[unit..])? as u32 * 10 + 10;
    text[..unit].parse::<u64>().ok()?.checked_shl(shift).filter(|bytes| *bytes > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_domain_is_read_with_commas_inside_of_its_cpus() {
        let spec = domain_of("cpus=0,2-3,memory=512M,disk-iops=300").unwrap();
        assert_eq!(spec.cpus.unwrap().to_string(), "0,2-3");
        assert_eq!((spec.memory, spec.disk.iops), (Some(512 << 20), Some(300)));
        let host = domain_of("host").unwrap();
        assert!(host.cpus.is_none() && host.memory.is_none() && host.disk.is_none());
    }

    #[test]
    fn what_no_domain_has_is_refused_with_what_one_may_have() {
        for text in ["cpu=0", "cpus=x", "memory=512", "memory=0M", "disk-iops=many", "0", "quota=50%"] {
            let error = domain_of(text).unwrap_err();
            assert!(error.hint().is_none_or(|hint| hint.contains("memory=512M")), "{text}: {error}");
        }
    }
}
