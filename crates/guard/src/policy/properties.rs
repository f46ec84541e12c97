//! Whatever text comes.

use super::*;
use proptest::prelude::*;

proptest! {
    #[test]
    fn no_text_makes_the_reader_panic(text in prop::collection::vec(any::<u8>(), 0..200), whole: bool, escapes: bool) {
        Statement::read(&text, whole, escapes);
    }

    #[test]
    fn comments_and_blanks_change_no_classification(index in 0..6_usize, blanks in prop::collection::vec(0..5_usize, 3)) {
        let words = [
            ["LOCK", "TABLES", "t WRITE"], ["FLUSH", "TABLES", "WITH READ LOCK"], ["XA", "COMMIT", "'x'"],
            ["SELECT", "GET_LOCK", "('a',1)"], ["BACKUP", "STAGE", "END"], ["START", "TRANSACTION", ""],
        ][index];
        let blank = [" ", "/* c */", "\n-- c\n", "\t# c\n", " /*+ h */ "];
        let spread: String = words.iter().zip(&blanks).map(|(word, b)| format!("{}{word}", blank[*b])).collect();
        let plain = Statement::read(words.join(" ").as_bytes(), true, true);
        prop_assert_eq!(Statement::read(spread.as_bytes(), true, true), plain, "{}", spread);
    }

    #[test]
    fn whatever_passes_without_a_permit_calls_nothing_but_releases(verb in 0..6_usize, pieces in prop::collection::vec(0..20_usize, 0..8)) {
        const VERBS: [&str; 6] =
            ["SELECT RELEASE_LOCK('a')", "DO RELEASE_LOCK(", "SELECT", "KILL", "COMMIT", "XA COMMIT 'a'"];
        const PIECES: [&str; 20] = [
            "(", ")", ",", ";", "RELEASE_LOCK", "RELEASE_ALL_LOCKS()", "SLEEP", "'a'", "17", "?", "@a", ":=", ".",
            "`x`", "AS", "FROM t", "-", "/*! ", "SELECT", "+",
        ];
        let words: Vec<&str> = pieces.iter().map(|index| PIECES[*index]).collect();
        let text = format!("{} {}", VERBS[verb], words.join(" "));
        if Statement::read(text.as_bytes(), true, true).bypass {
            for work in ["SLEEP (", ":=", ".", "+", "-", "/*!", "( SELECT", "( (", "( RELEASE", "FROM t ,"] {
                prop_assert!(!text.contains(work), "{text}");
            }
        }
    }
}
