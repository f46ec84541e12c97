//! Study files: what is changed, and how it is measured. `examples/studies/*.toml` show every key.

use super::fields::{self, Fields};
use super::lines::located;
use super::types::{At, FromToml, one_of};
use super::units;
use anyhow::{Context, Result, anyhow, bail, ensure};
use evenkeel_core::experiment::Margin;
use evenkeel_study::compare::Criterion;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use toml::{Table, Value};

/// Combinations of levels beyond which a study would take days.
const COMBINATIONS_MAX: usize = 32;

/// Flags of a profile that are not for a file to say.
const NOT_HERE: [&str; 6] = ["resume", "json", "output", "quiet", "home", "name"];

/// The key that is no flag but a server.
const URL: &str = "url";

/// A flag that each level adds to; all others are replaced by a level's own.
const ADDED: &str = "set";

/// A study of the user's.
#[derive(Clone, Debug, PartialEq)]
pub struct StudyFile {
    /// The file, as it was named.
    pub file: String,
    /// Its name, for folders and tables.
    pub name: String,
    /// What it asks, in words.
    pub question: String,
    /// What is compared.
    pub compare: Criterion,
    /// Within it, levels count as the same.
    pub margin: Margin,
    /// Every combination of levels, one of each factor; the first level of a factor is what the others are held against.
    pub combinations: Vec<Combination>,
}

/// One level of each factor, and what follows from them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Combination {
    /// Level by factor.
    pub levels: BTreeMap<String, String>,
    /// In the order of the file.
    pub label: String,
    /// Flags of `evenkeel profile`, and a server's URL, as on its command line.
    pub arguments: Vec<String>,
    /// Statements for a private server, once its data is there.
    pub sql: Vec<String>,
    /// Where the value of each flag comes from, by its key.
    pub origins: BTreeMap<String, String>,
}

types! {
    "a text": Criterion = |value| Some(one_of(value.as_str()?, &Criterion::ALL.map(|figure| (figure.word(), figure))));
    "a percentage, as \"5%\"": Margin = |value| value.as_str().map(units::margin);
}

struct Level {
    name: String,
    flags: Table,
    sql: Vec<String>,
}

struct Factor {
    name: String,
    levels: Vec<Level>,
}

/// Reads a study.
/// Errors: names the file, the entry and what to do.
pub fn load(path: &Path) -> Result<StudyFile> {
    let file = path.display().to_string();
    let text = fields::file_text(path).with_context(|| format!("cannot read study {file}"))?;
    let study: StudyFile = fields::parse("study", &text).map_err(|error| located(&file, &text, &error))?;
    Ok(StudyFile { file, ..study })
}

impl FromToml for StudyFile {
    fn from_toml(value: Value, at: At<'_>) -> Result<Self> {
        let mut fields = Fields::of(at.key, value)?;
        let name: String = fields.required("name")?;
        let words = format!("is that of a folder: letters, digits, - and _, at most 40, not {name:?}");
        At { key: "name", ..at }.ensure(is_name(&name), &words)?;
        let question = fields.optional("question")?.unwrap_or_default();
        let compare = fields.optional("compare")?.unwrap_or(Criterion::Response);
        let margin = fields.optional("margin")?.unwrap_or(Margin::new(0.05)?);
        let profile: Table = fields.optional("profile")?.unwrap_or_default();
        let factors: Vec<Factor> = fields.optional("factor")?.unwrap_or_default();
        fields.finish()?;
        ensure!(
            !factors.is_empty(),
            "study: `factor` is missing: say what is changed, as [[factor]] with a `name` and two [[factor.level]] or more"
        );
        if let Some(name) = twice(factors.iter().map(|factor| factor.name.as_str())) {
            bail!("factor `{name}`: there are two of that name");
        }
        check_flags("profile", &profile)?;
        let combinations = combinations(&profile, &factors)?;
        Ok(Self { file: String::new(), name, question, compare, margin, combinations })
    }
}

impl FromToml for Factor {
    fn from_toml(value: Value, at: At<'_>) -> Result<Self> {
        let entry = at.key;
        let mut fields = Fields::of(entry, value)?;
        let name = fields.required("name")?;
        let levels: Vec<Level> = fields.optional("level")?.unwrap_or_default();
        fields.finish()?;
        ensure!(
            levels.len() > 1,
            "{entry}: fewer than two levels change nothing: give it another [[factor.level]] with a `name`"
        );
        match twice(levels.iter().map(|level| level.name.as_str())) {
            Some(name) => bail!("{entry}: there are two levels `{name}`"),
            None => Ok(Self { name, levels }),
        }
    }
}

impl FromToml for Level {
    fn from_toml(value: Value, at: At<'_>) -> Result<Self> {
        let entry = format!("{}, {}", at.entry, at.key);
        let mut fields = Fields::of(&entry, value)?;
        let name = fields.required("name")?;
        let sql = fields.optional("sql")?.map_or(Some(Vec::new()), |sql: Value| texts(&sql));
        let sql = sql.with_context(|| format!("{entry}: `sql` is a statement or a list of them"))?;
        // The server is restarted after it, which loses what SET set.
        let sets = |statement: &String| {
            let mut words = statement.split_whitespace().map(str::to_ascii_uppercase);
            let of_server = |word: String| word.starts_with("GLOBAL") || word.starts_with("@@");
            words.next().as_deref() == Some("SET") && words.next().is_some_and(of_server)
        };
        ensure!(
            !sql.iter().any(sets),
            "{entry}: a restart loses what `sql` sets by SET; use `set = \"NAME=VALUE\"`"
        );
        let flags = fields.rest();
        check_flags(&entry, &flags)?;
        Ok(Self { name, flags, sql })
    }
}

/// Whether a folder can have this name.
pub fn is_name(name: &str) -> bool {
    let plain = name.chars().all(|sign| sign.is_ascii_alphanumeric() || sign == '-' || sign == '_');
    plain && !name.is_empty() && name.len() <= 40
}

/// A name that is there twice.
fn twice<'a>(mut names: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let mut seen = BTreeSet::new();
    names.find(|name| !seen.insert(*name))
}

fn check_flags(entry: &str, flags: &Table) -> Result<()> {
    for (key, value) in flags {
        ensure!(
            is_flag(key),
            "{entry}: {key:?} is not a flag of the command line, which has only small letters, digits and -"
        );
        ensure!(!NOT_HERE.contains(&key.as_str()), "{entry}: `{key}` is for the command line");
        // Words of their own on the command line, which must not be taken for flags.
        let is_odd = key == URL && texts(value).is_some_and(|all| all.iter().any(|url| url.starts_with('-')));
        let is_url = key != URL || matches!(value, Value::String(_) | Value::Array(_));
        ensure!(
            is_url && !is_odd,
            "{entry}: `{URL}` is a server, as mysql://user@host/database or sandbox:NAME"
        );
    }
    Ok(())
}

/// Whether a key can be nothing but the name of a flag, so that it brings no value and no other flag along.
fn is_flag(key: &str) -> bool {
    let plain = key.chars().all(|sign| sign.is_ascii_lowercase() || sign.is_ascii_digit() || sign == '-');
    plain && key.starts_with(|sign: char| sign.is_ascii_lowercase())
}

/// A text, a number or a truth value, or a list of these, as words of a command line.
fn texts(value: &Value) -> Option<Vec<String>> {
    match value {
        Value::Array(values) => values.iter().map(text).collect(),
        single => Some(vec![text(single)?]),
    }
}

fn text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Integer(number) => Some(number.to_string()),
        Value::Float(number) => Some(number.to_string()),
        _ => None,
    }
}

fn combinations(profile: &Table, factors: &[Factor]) -> Result<Vec<Combination>> {
    let levels = factors.iter().map(|factor| factor.levels.len());
    // Sixty-four factors of two levels are more than can be counted.
    let count = levels.fold(1_usize, usize::saturating_mul);
    ensure!(
        count <= COMBINATIONS_MAX,
        "study: {count} combinations of levels are more than {COMBINATIONS_MAX}: take factors one by one"
    );
    (0..count).map(|number| combination(profile, factors, number)).collect()
}

/// The combination of this number, the last factor's level changing first.
fn combination(profile: &Table, factors: &[Factor], number: usize) -> Result<Combination> {
    let (mut rest, mut chosen) = (number, Vec::new());
    for factor in factors.iter().rev() {
        chosen.push((factor.name.as_str(), &factor.levels[rest % factor.levels.len()]));
        rest /= factor.levels.len();
    }
    chosen.reverse();
    let (mut flags, mut found) = (profile.clone(), Combination::default());
    found.origins.extend(profile.keys().map(|key| (key.clone(), "[profile]".to_owned())));
    for (factor, level) in &chosen {
        for (key, value) in &level.flags {
            merge(&mut flags, key, value);
            found.origins.insert(key.clone(), format!("factor `{factor}`, level `{}`", level.name));
        }
        found.levels.insert((*factor).to_owned(), level.name.clone());
        found.sql.extend(level.sql.iter().cloned());
    }
    let words = chosen.iter().map(|(factor, level)| format!("{factor} {}", level.name));
    found.label = words.collect::<Vec<_>>().join(", ");
    found.arguments = arguments(flags)
        .map_err(|key| anyhow!("{}: `{key}` is a text, a number, true, or a list", found.label))?;
    Ok(found)
}

fn merge(flags: &mut Table, key: &str, value: &Value) {
    let list = |value: &Value| match value {
        Value::Array(all) => all.clone(),
        one => vec![one.clone()],
    };
    match flags.get_mut(key).filter(|_| key == ADDED) {
        Some(known) => *known = Value::Array([list(known), list(value)].concat()),
        None => drop(flags.insert(key.to_owned(), value.clone())),
    }
}

/// `--key=value` for each, and `--key` at the end, where it finds no word to take for its value; the key that cannot be one is the
/// error.
fn arguments(flags: Table) -> Result<Vec<String>, String> {
    let (mut found, mut switches) = (Vec::new(), Vec::new());
    for (key, value) in flags {
        match value {
            Value::Boolean(true) => switches.push(format!("--{key}")),
            Value::Boolean(false) => {}
            value => {
                let values = texts(&value).ok_or_else(|| key.clone())?;
                let of_flag = |text: String| if key == URL { text } else { format!("--{key}={text}") };
                found.extend(values.into_iter().map(of_flag));
            }
        }
    }
    found.append(&mut switches);
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<StudyFile> {
        fields::parse("study", text)
    }

    const TWO: &str = "name = 'flush'\n[profile]\nrate = '50,100'\nset = 'a=1'\n[[factor]]\nname = 'flush'\n\
        [[factor.level]]\nname = 'always'\nset = ['b=1']\n[[factor.level]]\nname = 'lazily'\nset = 'b=2'\nrate = 70\n\
        [[factor]]\nname = 'index'\n[[factor.level]]\nname = 'none'\n[[factor.level]]\nname = 'title'\nsql = 'CREATE INDEX i ON item (i_title)'\nno-reset = true\n";

    #[test]
    fn factors_are_crossed_and_levels_replace_flags_or_add_settings() {
        let study = parse(TWO).unwrap();
        let labels: Vec<&str> = study.combinations.iter().map(|one| one.label.as_str()).collect();
        assert_eq!(
            labels,
            [
                "flush always, index none",
                "flush always, index title",
                "flush lazily, index none",
                "flush lazily, index title"
            ]
        );
        let last = &study.combinations[3];
        assert_eq!(last.arguments, ["--rate=70", "--set=a=1", "--set=b=2", "--no-reset"]);
        assert_eq!(last.sql, ["CREATE INDEX i ON item (i_title)"]);
        assert_eq!(last.levels["flush"], "lazily");
        assert_eq!(last.origins["rate"], "factor `flush`, level `lazily`");
        assert_eq!(last.origins["no-reset"], "factor `index`, level `title`");
        assert_eq!((study.compare, study.margin.share()), (Criterion::Response, 0.05));
    }

    #[test]
    fn a_file_that_is_none_says_where_and_what_to_do() {
        let refused = |text: &str, words: &str| {
            let error = parse(text).unwrap_err().to_string();
            assert!(error.contains(words), "{error}");
        };
        refused("name = 'a'", "`factor` is missing");
        refused("nmae = 'a'\n", "is `nmae` a misspelling of it?");
        refused(
            "name = 'a'\n[[factor]]\nname = 'f'\n[[factor.level]]\nname = 'x'\n",
            "fewer than two levels change nothing",
        );
        let levels = "[[factor.level]]\nname = 'x'\n[[factor.level]]\nname = 'x'\n";
        refused(&format!("name = 'a'\n[[factor]]\nname = 'f'\n{levels}"), "two levels `x`");
        refused(&TWO.replace("rate = 70", "resume = 'last'"), "is for the command line");
        refused(
            &format!("compare = 'speed'\n{TWO}"),
            "must be one of \"throughput\", \"response\", \"p95\", \"cpu\"",
        );
        refused(&format!("margin = '0%'\n{TWO}"), "a percentage above 0 and at most 100");
        let sets = TWO.replacen("[[factor.level]]", "[[factor.level]]\nsql = 'SET GLOBAL a = 1'", 1);
        refused(&sets, "use `set = ");
        for key in ["resume=last", "output=/tmp", "", "-x", "rate 5", "Rate"] {
            refused(&TWO.replace("rate = '50,100'", &format!("'{key}' = true")), "is not a flag");
        }
        refused(&TWO.replace("rate = '50,100'", "url = '--json'"), "`url` is a server");
    }

    #[test]
    fn more_combinations_than_can_be_counted_are_too_many() {
        let level = |name: &str| format!("[[factor.level]]\nname = '{name}'\n");
        let factor = |number: usize| format!("[[factor]]\nname = 'f{number}'\n{}{}", level("a"), level("b"));
        for factors in [6, 64, 65] {
            let text = format!("name = 'x'\n{}", (0..factors).map(factor).collect::<String>());
            let error = parse(&text).unwrap_err().to_string();
            assert!(error.contains("combinations of levels are more than 32"), "{error}");
        }
    }

    #[test]
    fn the_shipped_examples_are_studies() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/studies");
        let files: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
        assert!(files.len() >= 3, "{files:?}");
        for file in files {
            let study = load(&file).unwrap();
            assert!(!study.question.is_empty() && study.combinations.len() > 1, "{}", file.display());
        }
    }
}
