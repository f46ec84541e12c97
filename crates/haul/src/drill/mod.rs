//! Recovery is done for real, and what it gives is compared.

pub mod binlog;
