//! Text with units: `10s`, `250ms`, `2m`, `64M`, `20%`.

use crate::failure::WithHint;
use anyhow::{Context, Result, anyhow, bail};
use evenkeel_core::Nanos;
use evenkeel_core::experiment::Margin;
use evenkeel_sense::cpu::{CPUS_MAX, CpuOf, CpuSet};

/// Reads a duration with its unit.
pub fn duration(text: &str) -> Result<Nanos> {
    let (number, unit) = split(text, ("250ms, 10s or 2m", "1500s"))?;
    let seconds = match unit {
        "ns" => number / 1e9,
        "us" => number / 1e6,
        "ms" => number / 1e3,
        "s" => number,
        "m" | "min" => number * 60.0,
        "h" => number * 3_600.0,
        "" if number == 0.0 => 0.0,
        "" => bail!("{text:?} has no unit; write it as {number}s, {number}ms or {number}m"),
        _ => bail!("{text:?} has no unit of time; write it as 250ms, 10s, 2m or 1h"),
    };
    if seconds > 30.0 * 86_400.0 {
        bail!("{text:?} is longer than 30 days");
    }
    Ok(Nanos::from_secs_f64(seconds))
}

/// The duration that a flag names, which is to last.
/// Errors: names the flag and what may be written.
pub fn positive(text: &str, flag: &str) -> Result<Nanos> {
    let duration = duration(text).with_context(|| format!("reading {flag}"))?;
    if duration.0 == 0 {
        return Err(anyhow!("{flag} {text} is not a time")).hint("write it as 250ms, 10s or 2m");
    }
    Ok(duration)
}

/// Reads a size in bytes; K, M, G and T are powers of 1,024, as for the server's own settings.
pub fn bytes(text: &str) -> Result<u64> {
    let (number, unit) = split(text, ("6M or 2G", "1500M"))?;
    let factor = match unit.trim_end_matches('B').trim_end_matches('i') {
        "" => 1_u64,
        "K" | "k" => 1 << 10,
        "M" | "m" => 1 << 20,
        "G" | "g" => 1 << 30,
        "T" | "t" => 1 << 40,
        _ => bail!("{text:?} has no unit of size; write it as 6M or 2G"),
    };
    let value = number * factor as f64;
    if value >= 2.0_f64.powi(60) {
        bail!("{text:?} is larger than an exbibyte");
    }
    Ok(value as u64)
}

/// A share from `5%`, which is 0.05; above 0 and at most 100 %.
pub fn share(text: &str) -> Result<f64> {
    let percent = text.trim().strip_suffix('%').and_then(|number| number.trim().parse::<f64>().ok());
    match percent.filter(|percent| *percent > 0.0 && *percent <= 100.0) {
        Some(percent) => Ok(percent / 100.0),
        None => Err(anyhow!("a percentage above 0 and at most 100 is needed, as 5%, not {text:?}")),
    }
}

/// A margin of a comparison, from `5%`.
pub fn margin(text: &str) -> Result<Margin> {
    Ok(Margin::new(share(text)?)?)
}

/// Reads `0`, `0-2` or `0,2-3` as CPUs, at least one.
pub fn cpus(text: &str) -> Result<CpuSet> {
    match text.parse::<CpuSet>() {
        Ok(cpus) if !cpus.is_empty() => Ok(cpus),
        _ => bail!("{text:?} is not a list of CPUs below {CPUS_MAX}; write it as 0, 0-2 or 0,2-3"),
    }
}

/// The CPUs that a flag names; those that this machine does not have are refused before anything is begun.
/// Errors: names the flag and what it may be.
pub fn machine_cpus(text: &str, flag: &str) -> Result<CpuSet> {
    let named = cpus(text).with_context(|| format!("reading {flag}"))?;
    let Some(there) = CpuOf::Host.cpus() else { return Ok(named) };
    let stranger = named.iter().find(|cpu| !there.contains(*cpu));
    match stranger {
        None => Ok(named),
        Some(cpu) => Err(anyhow!("there is no CPU {cpu}: this machine has CPUs {there}"))
            .hint(format!("name some of CPUs {there} by {flag}, or leave it out")),
    }
}

/// How many values there are from one to another by steps, both ends included; `None` where they are more than `most`, and where
/// they are too many to be counted.
pub fn steps(from: f64, to: f64, step: f64, most: usize) -> Option<usize> {
    let more = ((to - from) / step + 1e-9).floor();
    // Compared as it is: as a whole number it would stop at the largest one, and one more would be none at all.
    (more >= 0.0 && more < most as f64).then(|| more as usize + 1)
}

/// Splits a number that is finite and not negative from its unit; `like` says how it may be written, and how one without exponent is.
fn split<'a>(text: &'a str, like: (&str, &str)) -> Result<(f64, &'a str)> {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    let exponent = unit.strip_prefix(['e', 'E']).unwrap_or_default().trim_start_matches(['+', '-']);
    if exponent.starts_with(|sign: char| sign.is_ascii_digit()) {
        bail!("{text:?} has an exponent, which is not accepted; write the number out, as {}", like.1);
    }
    match number.parse::<f64>() {
        Ok(number) if number.is_finite() => Ok((number, unit.trim())),
        _ => bail!("{text:?} is not a number with a unit; write it as {}", like.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_carry_their_unit() {
        for (text, millis) in [("250ms", 250.0), ("10s", 10_000.0), ("1.5s", 1_500.0), ("2m", 120_000.0)] {
            assert_eq!(duration(text).unwrap().as_millis_f64(), millis, "{text}");
        }
        assert!(duration("1e9s").unwrap_err().to_string().contains("has an exponent, which is not accepted"));
        assert!(duration("8").unwrap_err().to_string().contains("has no unit; write it as 8s, 8ms or 8m"));
        for text in ["", "s", "-1s", "10 parsecs", "nan", "1e9h", "99999h"] {
            assert!(duration(text).is_err(), "{text}");
        }
    }

    #[test]
    fn steps_are_counted_up_to_a_bound_however_small_they_are() {
        assert_eq!(steps(10.0, 30.0, 10.0, 3), Some(3));
        assert_eq!(steps(0.1, 0.3, 0.1, 3), Some(3), "three tenths are three steps of a tenth");
        assert_eq!(steps(10.0, 30.0, 10.0, 2), None);
        for (to, step) in [(1e308, 1e-300), (2.0, 1e-320), (2.0, f64::NAN), (2.0, 0.0)] {
            assert_eq!(steps(1.0, to, step, 1_000), None, "{to} {step}");
        }
    }

    #[test]
    fn sizes_are_powers_of_1024() {
        for (text, size) in
            [("6M", 6 << 20), ("1.5G", 3 << 29), ("512", 512), ("64MiB", 64 << 20), ("2KB", 2_048)]
        {
            assert_eq!(bytes(text).unwrap(), size, "{text}");
        }
        for text in ["M", "6X", "-6M", "99999999T"] {
            assert!(bytes(text).is_err(), "{text}");
        }
    }

    #[test]
    fn cpu_lists_are_sorted_and_have_no_doubles() {
        assert_eq!(cpus("2-3,0,2").unwrap().iter().collect::<Vec<_>>(), [0, 2, 3]);
        for text in ["", " ", "a", "3-1", "0-99999"] {
            let error = cpus(text).unwrap_err().to_string();
            assert!(error.starts_with(&format!("{text:?} is not a list of CPUs")), "{error}");
        }
    }
}
