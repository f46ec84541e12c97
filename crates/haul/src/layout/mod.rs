//! How records lie, from a TOML file with names, types and checks.

mod guess;
mod toml_form;

pub use guess::{Guess, NoLayout, Sample, guess};
use std::fs;
use std::path::Path;
use toml_form::Problem;
pub use toml_form::{LayoutFile, LayoutFileError};

/// Reads a layout file, whatever its name ends with.
pub fn read(path: &Path) -> Result<LayoutFile, LayoutFileError> {
    let failed = |problem: Problem| LayoutFileError {
        path: path.to_owned(),
        line: problem.line,
        problem: problem.text,
    };
    let text = fs::read_to_string(path).map_err(|error| failed(Problem::new(error.to_string())))?;
    toml_form::parse(&text).map_err(failed)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(name: &str, text: &str) -> Result<LayoutFile, String> {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join(name);
        fs::write(&path, text).unwrap();
        let prefix = format!("{}", path.display());
        read(&path).map_err(|error| error.to_string().replace(&prefix, name))
    }

    fn line(file: &LayoutFile, record: &str) -> String {
        let mut out = Vec::new();
        match file.layout.delimit(record.as_bytes(), &mut out) {
            Ok(_) => String::from_utf8(out).unwrap(),
            Err(reject) => reject.explain(&file.layout),
        }
    }

    #[test]
    fn a_layout_has_names_types_and_checks() {
        let text = "delimiter = ';'\nkey = ['seq']\n\n[[field]]\nname = 'seq'\nwidth = 4\ntype = 'integer'\n\n\
                    [[field]]\nname = 'at'\nwidth = 8\ntype = 'time'\n\n[[field]]\nname = 'cause'\nwidth = 2\none_of = ['16', '17']\n\n\
                    [[field]]\nname = 'rest'\nwidth = 3\nskip = true\n";
        let file = of("calls.toml", text).unwrap();
        assert_eq!(line(&file, "  1720260102163.."), "17;20260102;16\n");
        assert_eq!(line(&file, "    20260102163.."), "seq: blank, and a value is required");
        assert_eq!(line(&file, "  17        183.."), "cause: not one of the values listed");
        assert_eq!(line(&file, "  17        163.."), "17;\\N;16\n");
        assert_eq!(file.layout.types()[0].key, [0]);
    }

    #[test]
    fn a_mistake_is_told_with_its_line_and_what_was_meant() {
        let of = |text: &str| self::of("a.toml", text).unwrap_err();
        let unknown = of("[[field]]\nname = 'a'\nwidht = 3\n");
        assert!(
            unknown.starts_with("a.toml:3: ") && unknown.contains("widht") && unknown.contains("width"),
            "{unknown}"
        );
        let kind = of("[[field]]\nname = 'a'\nwidth = 3\ntype = 'number'\n");
        assert!(kind.starts_with("a.toml:4: ") && kind.contains("integer"), "{kind}");
        assert!(
            of("[[field]]\nname = 'a'\nwidth = 0\n")
                .ends_with("field a has no width, or begins before the one before it ends")
        );
        assert!(of("delimiter = ';'\n").contains("no field"));
        assert!(of("key = ['b']\n[[field]]\nname = 'a'\nwidth = 3\n").contains("key names `b`"));
    }

    #[test]
    fn several_types_are_told_apart_by_their_bytes() {
        let text = "tell = { from = 0, width = 2 }\n[[record]]\nname = 'calls'\nis = ['01']\n[[record.field]]\nname = 'a'\nstart = 2\nwidth = 3\n\
                    [[record]]\nname = 'texts'\nis = ['02', '03']\n[[record.field]]\nname = 'type'\nwidth = 2\n[[record.field]]\nname = 'b'\nwidth = 1\n";
        let file = of("a.toml", text).unwrap();
        assert_eq!((line(&file, "01xyz"), line(&file, "03q")), ("xyz\n".to_owned(), "03;q\n".to_owned()));
    }
}
