//! Words of the files that are one of a few.

use serde::{Deserialize, Serialize};
use std::fmt;

/// An enum that is stored and shown as one word for each variant.
macro_rules! words {
    ($(#[$doc:meta])* $name:ident { $($(#[$variant_doc:meta])* $variant:ident = $word:literal,)+ }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
        pub enum $name {
            $($(#[$variant_doc])* #[serde(rename = $word)] $variant,)+
        }

        impl $name {
            /// As it is stored and shown.
            pub fn word(self) -> &'static str {
                match self {
                    $(Self::$variant => $word,)+
                }
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                out.pad(self.word())
            }
        }
    };
}

words! {
    /// Whether the response of a run, or of the runs of a cell, came to rest.
    #[derive(Default)]
    Verdict {
        /// It did.
        Settled = "settled",
        /// The queue grew to the end.
        Unstable = "unstable",
        /// The run was too short to tell.
        #[default]
        TooShort = "too-short",
        /// The runs of the cell differ; of a single run never.
        Mixed = "mixed",
    }
}

words! {
    /// How much a doubt weighs, the lightest first.
    #[derive(PartialOrd, Ord)]
    SeverityRecord {
        /// Good to know; the figures stand.
        Note = "note",
        /// The figures may be off, or wider than they look.
        Doubt = "doubt",
        /// The measurement itself failed.
        Invalid = "invalid",
    }
}

words! {
    /// Whose CPU time theta counts.
    #[derive(Default)]
    DomainRecord {
        /// All processes on the server's CPUs.
        #[default]
        Host = "host",
        /// A control group.
        Cgroup = "cgroup",
        /// The server's own process.
        Process = "process",
    }
}

words! {
    /// Where the CPU figures of a run come from.
    #[derive(Default)]
    SensedBy {
        /// The machine that Evenkeel runs on, because the server does too.
        ThisMachine = "this machine",
        /// A command that speaks as `evenkeel sense` does.
        Command = "command",
        /// The page of node_exporter.
        NodeExporter = "node_exporter",
        /// What the server counts itself.
        Statistics = "server statistics",
        /// None: the figures are not available.
        #[default]
        Nobody = "nobody",
    }
}

words! {
    /// How the rows came into the files.
    LayoutRecord {
        /// One by one.
        Insert = "insert",
        /// By LOAD DATA.
        Load = "load",
        /// From a dump.
        Dump = "dump",
        /// As the server had them.
        AsIs = "as-is",
    }
}

words! {
    /// What happened before each run.
    ResetRecord {
        /// The server was restarted.
        Restart = "restart",
        /// The database was restored, and the server restarted.
        Restore = "restore",
        /// A command of the user's was run.
        Command = "command",
        /// Nothing.
        Nothing = "none",
    }
}

words! {
    /// Process of the arrivals.
    ArrivalsRecord {
        /// Independent.
        Poisson = "poisson",
        /// Evenly spaced.
        Constant = "constant",
    }
}

words! {
    /// How statements travelled.
    ProtocolRecord {
        /// Prepared once per session.
        Prepared = "prepared",
        /// As text.
        Text = "text",
    }
}

words! {
    /// Class of a statement.
    ClassRecord {
        /// Finds its rows by an index.
        Simple = "simple",
        /// Does more than that.
        Complex = "complex",
        /// Changes rows.
        Write = "write",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_is_stored_as_it_is_shown_and_an_unknown_one_refused() {
        let stored = serde_json::to_string(&Verdict::TooShort).unwrap();
        assert_eq!(stored, format!("\"{}\"", Verdict::TooShort));
        assert_eq!(serde_json::from_str::<Verdict>(&stored).unwrap(), Verdict::TooShort);
        assert!(serde_json::from_str::<Verdict>("\"tired\"").is_err());
    }
}
