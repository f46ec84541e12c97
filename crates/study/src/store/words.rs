//! Words of the files that are one of a few.

use evenkeel_site::words;

words! {
    /// Whether the response of a run, or of the runs of a cell, came to rest.
    #[derive(Default)]
    Verdict {
        /// The response came to rest.
        Settled = "settled",
        /// The queue grew to the end.
        Unstable = "unstable",
        #[default]
        TooShort = "too-short",
        /// The runs of the cell differ; of a single run never.
        Mixed = "mixed",
    }
}

words! {
    /// Whose CPU time theta counts.
    #[derive(Default)]
    DomainRecord {
        /// All processes on the server's CPUs.
        #[default]
        Host = "host",
        /// The server's own process.
        Process = "process",
    }
}

words! {
    /// How the rows came into the files.
    LayoutRecord {
        /// One by one.
        Insert = "insert",
        /// One by one, with all indexes from the start.
        Script = "script",
        /// In random order, with all indexes from the start.
        Shuffled = "shuffled",
        /// File by file from the server of the level before it.
        Copy = "copy",
        /// By LOAD DATA.
        Load = "load",
        /// From a dump.
        Dump = "dump",
        AsIs = "as-is",
    }
}

words! {
    /// What happened before each run.
    ResetRecord {
        Restart = "restart",
        /// The database was restored, and the server restarted.
        Restore = "restore",
        /// A command of the user's was run.
        Command = "command",
        Nothing = "none",
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
