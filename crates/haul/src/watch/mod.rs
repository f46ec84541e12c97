//! Files that appear in a folder go through the whole chain: load, dispatch, retire.
//!
//! [`Folder`] says which files are whole, [`Chain`] does one step with one of them, and [`WatchError::trouble`] says what an error means
//! for who goes on: whether the file is bad, the server away, or somebody else at work. What is done is known by the manifest of
//! [`crate::load`] and the journal of [`crate::dispatch`], so that nothing is remembered here from one start to the next.

mod chain;
mod folder;
mod moved;

pub use chain::{Chain, Trouble, Turn, WatchError};
pub use folder::Folder;
pub use moved::{Moved, move_to};
