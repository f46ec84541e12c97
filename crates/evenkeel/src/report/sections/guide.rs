//! The words of a report, for one who sees it for the first time.

/// Words with their meaning.
const WORDS: [(&str, &str); 8] = [
    (
        "arrival rate",
        "requests that arrive per second, at instants fixed beforehand. The load is open: it does not wait for a \
         slow server, as real users do not.",
    ),
    (
        "response time",
        "from the arrival of a request to its completion, waiting included. Requests that timed out or were \
         never sent count with the age they reached, and the mean is then a lower bound.",
    ),
    ("CPU use", "the share of its CPU time that the server's domain used while it was measured."),
    ("buffer pool γ", "the memory in which the server keeps pages of tables and indexes."),
    (
        "dispatch lag",
        "how late a request was sent: the error of the generator, not of the server. Far below the response time it does not matter.",
    ),
    (
        "probe delay",
        "what a small request takes besides its execution at the server, measured by a probe beside the load: the network, \
         and on a busy machine the wait of both sides for a CPU.",
    ),
    (
        "95 % interval",
        "each cell was run several times; the mean of all such runs lies in the interval with a confidence of 95 % \
         (Student's t). It holds for runs on this machine, not of other machines.",
    ),
    (
        "trust limit",
        "the highest utilisation up to which runs, and targets where there are several, agree within the tolerances. \
         Beyond it, the same measurement may come out differently tomorrow.",
    ),
];

/// The card of words.
pub fn guide() -> String {
    let words: String =
        WORDS.iter().map(|(word, text)| format!("<div><dt>{word}</dt><dd>{text}</dd></div>\n")).collect();
    format!("<div class=\"card guide\" id=\"guide\"><h3>How to read this</h3><dl>\n{words}</dl></div>\n")
}
