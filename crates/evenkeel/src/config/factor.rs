//! Factors of a study: `buffer-pool=20%..100%`, `layout=insert,dump`, `tablespace=shared,own`, `disk-iops=300,none`.

use super::types::one_of;
use super::units;
use anyhow::{Context, Result, bail};
use evenkeel_lab::data::Via;
use evenkeel_site::sandbox::{DiskLimit, Domain};
use evenkeel_study::profile::PoolSize;

/// What changes between series besides the rate.
#[derive(Clone, Debug, PartialEq)]
pub enum Factor {
    /// Size of the buffer pool.
    BufferPool(Vec<PoolSize>),
    /// How the data came in.
    Layout(Vec<Layout>),
    /// Whether tables share a file (`true`) or have files of their own.
    Shared(Vec<bool>),
    /// I/Os per second that the disk gives at most; `None` without a limit.
    DiskIops(Vec<Option<u64>>),
    /// The same for bytes per second.
    DiskRate(Vec<Option<u64>>),
}

/// One level of the layout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// Filled in this way.
    Via(Via),
    /// Copied file by file from the server of the level before it.
    Copy,
}

const LEVELS: usize = 5;

/// Each level is a series of its own; more are a slip of the pen.
const LEVELS_MAX: usize = 100;

/// Reads one `--factor` value.
pub fn parse(text: &str) -> Result<Factor> {
    let Some((name, levels)) = text.split_once('=') else {
        bail!("{text:?} is not a factor; write it as NAME=LEVELS, for example buffer-pool=20%..100%");
    };
    match name.trim() {
        "buffer-pool" => Ok(Factor::BufferPool(pools(levels).with_context(|| format!("reading {text:?}"))?)),
        "layout" => Ok(Factor::Layout(layouts(levels)?)),
        "tablespace" => Ok(Factor::Shared(each(levels, |level| {
            one_of(level, &[("shared", true), ("own", false)]).context("tablespace")
        })?)),
        "disk-iops" => Ok(Factor::DiskIops(limits("disk-iops", levels, |disk| disk.iops)?)),
        "disk-rate" => Ok(Factor::DiskRate(limits("disk-rate", levels, |disk| disk.bytes_per_s)?)),
        other => {
            bail!(
                "unknown factor {other:?}; write it as buffer-pool=LEVELS, layout=LEVELS, tablespace=shared,own, \
                 disk-iops=300,none or disk-rate=20M,none"
            )
        }
    }
}

/// A list of levels.
fn each<T>(levels: &str, read: impl Fn(&str) -> Result<T>) -> Result<Vec<T>> {
    levels.split(',').map(|level| read(level.trim())).collect()
}

fn layouts(levels: &str) -> Result<Vec<Layout>> {
    let levels = each(levels, layout)?;
    if levels.first() == Some(&Layout::Copy) {
        bail!("layout=copy has nothing to copy: it is a copy of the level before it, as in layout=dump,copy");
    }
    Ok(levels)
}

fn layout(level: &str) -> Result<Layout> {
    if level == "copy" {
        return Ok(Layout::Copy);
    }
    let Ok(via) = level.parse() else {
        let known: Vec<&str> = Via::ALL.iter().map(|via| via.word()).collect();
        bail!("unknown layout {level:?}; known are {} and copy", known.join(", "));
    };
    Ok(Layout::Via(via))
}

/// Limits as a domain has them, and `none`.
fn limits(name: &str, levels: &str, of: fn(DiskLimit) -> Option<u64>) -> Result<Vec<Option<u64>>> {
    each(levels, |level| match level {
        "none" => Ok(None),
        number => Ok(of(format!("{name}={number}").parse::<Domain>()?.disk)),
    })
}

/// `20%..100%` (five levels evenly apart), `20%..100%:10%` (with a step), or a list of levels.
fn pools(levels: &str) -> Result<Vec<PoolSize>> {
    if let Some((low, rest)) = levels.split_once("..") {
        let (high, step) = rest.split_once(':').map_or((rest, None), |(high, step)| (high, Some(step)));
        let (low, high) = (percent(low)?, percent(high)?);
        if low >= high {
            bail!("{low} % is not below {high} %");
        }
        let step = step.map_or(Ok((high - low) / (LEVELS - 1) as f64), percent)?;
        let Some(count) = units::steps(low, high, step, LEVELS_MAX) else {
            bail!("from {low} % to {high} % by {step} % are more than {LEVELS_MAX} levels");
        };
        return Ok((0..count).map(|level| PoolSize::Percent(low + step * level as f64)).collect());
    }
    each(levels, pool)
}

fn pool(level: &str) -> Result<PoolSize> {
    if level.ends_with('%') {
        percent(level).map(PoolSize::Percent)
    } else {
        units::bytes(level).map(PoolSize::Bytes)
    }
}

fn percent(text: &str) -> Result<f64> {
    match text.trim().strip_suffix('%').and_then(|number| number.trim().parse::<f64>().ok()) {
        Some(number) if number > 0.0 && number <= 10_000.0 => Ok(number),
        _ => bail!("{text:?} is not a positive percentage; write it as 20%"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_can_be_listed_or_stepped() {
        assert_eq!(
            parse("buffer-pool=20%,64M").unwrap(),
            Factor::BufferPool(vec![PoolSize::Percent(20.0), PoolSize::Bytes(64 << 20)])
        );
        let Factor::BufferPool(pools) = parse("buffer-pool=10%..40%:10%").unwrap() else {
            panic!("not a pool")
        };
        assert_eq!(pools.len(), 4);
        assert_eq!(
            parse("layout=insert,dump").unwrap(),
            Factor::Layout(vec![Layout::Via(Via::Insert), Layout::Via(Via::Dump)])
        );
        assert_eq!(parse("disk-iops=300,none").unwrap(), Factor::DiskIops(vec![Some(300), None]));
        assert_eq!(parse("disk-rate=20M").unwrap(), Factor::DiskRate(vec![Some(20 << 20)]));
        assert_eq!(parse("tablespace=shared,own").unwrap(), Factor::Shared(vec![true, false]));
    }

    #[test]
    fn nonsense_is_refused() {
        let pools = "0% 50%..20% 1%..100%:0.1% 1%..2%:1e-320% 20%..100%:0%".split(' ');
        let pools = pools.map(|levels| format!("buffer-pool={levels}"));
        let others = "pool pool=1 buffer-pool= layout=copy,dump disk-iops=0 disk-rate=".split(' ');
        for text in pools.chain(others.map(str::to_owned)) {
            assert!(parse(&text).is_err(), "{text}");
        }
    }
}
