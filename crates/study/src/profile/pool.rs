//! Sizes of the buffer pool.

use super::StudyError;
use super::spec::PoolSize;

/// What a MariaDB or MySQL server starts with at least: below 5 MiB it refuses, and MariaDB 10.11 with pages of
/// 16 KiB needs 6 MiB in practice.
pub const POOL_BYTES_MIN: u64 = 6 << 20;

/// The server counts its pool in pieces of 1 MiB and rounds up by itself; rounding here makes the plan say what
/// the server does.
const PIECE: u64 = 1 << 20;

/// A pool in bytes, from the bytes of the workload's tables and indexes.
pub(super) fn bytes(pool: PoolSize, tables_bytes: Option<u64>, workload: &str) -> Result<u64, StudyError> {
    match pool {
        PoolSize::Bytes(bytes) => Ok(bytes),
        PoolSize::Percent(percent) => {
            let tables_bytes =
                tables_bytes.ok_or_else(|| StudyError::UnknownSize { workload: workload.to_owned() })?;
            let exact = tables_bytes as f64 * percent / 100.0;
            let pool_bytes = (exact as u64).div_ceil(PIECE) * PIECE;
            if pool_bytes < POOL_BYTES_MIN {
                return Err(StudyError::SmallPool {
                    percent,
                    tables_bytes,
                    pool_bytes,
                    minimum_bytes: POOL_BYTES_MIN,
                });
            }
            Ok(pool_bytes)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percent_counts_from_the_tables_and_rounds_up_to_whole_mebibytes() {
        assert_eq!(bytes(PoolSize::Percent(20.0), Some(60 << 20), "w").unwrap(), 12 << 20);
        assert_eq!(bytes(PoolSize::Percent(33.0), Some(60 << 20), "w").unwrap(), 20 << 20);
        assert_eq!(bytes(PoolSize::Bytes(7), None, "w").unwrap(), 7);
    }

    #[test]
    fn a_pool_below_the_minimum_is_refused() {
        let refused = bytes(PoolSize::Percent(20.0), Some(10 << 20), "w").unwrap_err();
        assert!(refused.to_string().contains("below the server's minimum"), "{refused}");
        assert!(matches!(bytes(PoolSize::Percent(20.0), None, "w"), Err(StudyError::UnknownSize { .. })));
    }
}
