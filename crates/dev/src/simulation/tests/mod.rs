//! What core says of queues whose truth is known.

mod bounds;
mod pooled;
mod rates;
mod stability;
