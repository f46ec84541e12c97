//! A command line is split into words without a shell.

/// Splits by blanks; `'...'` keeps all as it is, `"..."` all but `\"` and `\\`, and a backslash outside of quotes keeps the
/// character behind it. Nothing else is special: no variables, no pipes.
///
/// # Errors
/// What is open at the end, in words.
pub(super) fn split(text: &str) -> Result<Vec<String>, &'static str> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        match character {
            ' ' | '\t' | '\n' => words.extend(word.take()),
            '\'' => single(&mut characters, word.get_or_insert_default())?,
            '"' => double(&mut characters, word.get_or_insert_default())?,
            '\\' => word.get_or_insert_default().push(characters.next().ok_or("it ends with a backslash")?),
            plain => word.get_or_insert_default().push(plain),
        }
    }
    words.extend(word);
    Ok(words)
}

fn single(rest: &mut impl Iterator<Item = char>, word: &mut String) -> Result<(), &'static str> {
    for character in rest {
        match character {
            '\'' => return Ok(()),
            kept => word.push(kept),
        }
    }
    Err("a ' is not closed")
}

fn double(rest: &mut impl Iterator<Item = char>, word: &mut String) -> Result<(), &'static str> {
    const OPEN: &str = "a \" is not closed";
    while let Some(character) = rest.next() {
        match character {
            '"' => return Ok(()),
            '\\' => match rest.next().ok_or(OPEN)? {
                kept @ ('"' | '\\') => word.push(kept),
                other => word.extend(['\\', other]),
            },
            kept => word.push(kept),
        }
    }
    Err(OPEN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_parted_by_blanks_outside_of_quotes() {
        for (text, words) in [
            ("ssh db1 evenkeel sense", vec!["ssh", "db1", "evenkeel", "sense"]),
            ("  sh -c 'exec evenkeel sense'  ", vec!["sh", "-c", "exec evenkeel sense"]),
            ("a\"b c\"d ''", vec!["ab cd", ""]),
            (r#"a\ b "c\"d\n" 'e\'"#, vec!["a b", "c\"d\\n", "e\\"]),
            ("$HOME | x", vec!["$HOME", "|", "x"]),
            ("", vec![]),
        ] {
            assert_eq!(split(text).expect(text), words, "{text}");
        }
    }

    #[test]
    fn what_is_left_open_is_told() {
        for (text, why) in [("a 'b", "'"), ("a \"b", "\""), ("a \"b\\", "\""), ("a\\", "backslash")] {
            assert!(split(text).expect_err(text).contains(why), "{text}");
        }
    }
}
