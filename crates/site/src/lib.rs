//! The site is a server, yours or private, and the machine that it runs on. Nothing is left behind on it.
//!
//! `server` is how to reach one and what it can bear, `sandbox` a private one, `copy` a copy of the data directory of one that is
//! stopped, `elsewhere` sees one on another machine, `relayout` builds its tables anew.
#![forbid(unsafe_code)]

/// An enum that is stored and shown as one word for each variant.
#[macro_export]
macro_rules! words {
    ($(#[$doc:meta])* $name:ident { $($(#[$variant_doc:meta])* $variant:ident = $word:literal,)+ }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
        pub enum $name {
            $($(#[$variant_doc])* #[serde(rename = $word)] $variant,)+
        }

        impl $name {
            pub const ALL: [Self; [$($word),+].len()] = [$(Self::$variant),+];

            /// As it is stored and shown.
            pub const fn word(self) -> &'static str {
                match self {
                    $(Self::$variant => $word,)+
                }
            }
        }

        impl std::str::FromStr for $name {
            type Err = String;

            fn from_str(text: &str) -> Result<Self, String> {
                let known = Self::ALL.into_iter().find(|known| known.word() == text);
                known.ok_or_else(|| format!("{text:?} is none of {}", [$($word),+].join(", ")))
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                out.pad(self.word())
            }
        }
    };
}

pub mod copy;
pub mod elsewhere;
pub mod relayout;
pub mod sandbox;
pub mod server;

use std::ffi::OsString;
use std::io::{self, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};

/// A small process outlives a crash of this one and does what is left to do.
///
/// It is a shell that waits on a pipe from us. When we say "done" it leaves; when the pipe closes without a word, we have crashed.
#[derive(Debug)]
pub(crate) struct Survivor(Child);

impl Survivor {
    /// Starts a script, which has to read the word first, under this name.
    pub(crate) fn start(
        script: &str,
        name: &str,
        arguments: impl IntoIterator<Item = OsString>,
    ) -> io::Result<Self> {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", script, name]).args(arguments);
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        // A group of its own: Ctrl-C in the terminal is not for it.
        command.env_remove("EVENKEEL_PASSWORD").process_group(0).current_dir("/").spawn().map(Self)
    }

    /// Hands it a line for its script to read.
    pub(crate) fn tell(&mut self, line: &str) -> io::Result<()> {
        let pipe = self.0.stdin.as_mut().ok_or(io::ErrorKind::BrokenPipe)?;
        pipe.write_all(format!("{line}\n").as_bytes())
    }

    /// There is nothing left to do, or we do it ourselves.
    pub(crate) fn dismiss(mut self) {
        if let Some(mut pipe) = self.0.stdin.take() {
            let _ = pipe.write_all(b"done\n");
        }
        let _ = self.0.wait();
    }

    /// What it sees when we are killed.
    #[cfg(test)]
    pub(crate) fn crash(mut self) {
        drop(self.0.stdin.take());
        self.0.wait().expect("a shell");
    }
}
