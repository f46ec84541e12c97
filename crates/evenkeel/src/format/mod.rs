//! Numbers as people read them, which studies write into their findings too; who saw a server, and who told the parts of response times; commands as one types them.

mod parts;
mod sensed;

pub use evenkeel_study::format::*;
pub use parts::parts;
pub use sensed::{generator, sensed};

// Commands as one types them, headings, and names.

pub fn capital(words: &str) -> String {
    let mut letters = words.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

/// Each name once, in the order of its first.
pub fn distinct<'a>(names: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let mut found: Vec<&str> = Vec::new();
    for name in names {
        if !found.contains(&name) {
            found.push(name);
        }
    }
    found
}

/// The command as one would type it: words with blanks or signs of the shell are quoted.
pub fn command(words: &[String]) -> String {
    let plain = |word: &String| {
        !word.is_empty()
            && word.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_./:=,@%+".contains(&byte))
    };
    let quoted =
        |word: &String| if plain(word) { word.clone() } else { format!("'{}'", word.replace('\'', r"'\''")) };
    let program = words.first().is_none_or(|word| word != "evenkeel").then(|| "evenkeel".to_owned());
    program.into_iter().chain(words.iter().map(quoted)).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_can_be_typed_again() {
        let words = ["evenkeel", "profile", "--set", "a b", "it's", ""].map(str::to_owned);
        assert_eq!(command(&words), r"evenkeel profile --set 'a b' 'it'\''s' ''");
        assert_eq!(command(&words[1..2]), "evenkeel profile", "plans keep the arguments alone");
    }
}
