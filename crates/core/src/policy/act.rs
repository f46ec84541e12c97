//! What SQL text does to the holds of its session.

use super::digest;
use super::digest::{is_idle, is_waiting};
use super::reads::{calls_nothing, commits, is_tableless, only_reads};
use super::token::{Token, Tokens, is_bare, is_plain};

/// One step of a statement's effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Act {
    Begin,
    Commit,
    Rollback,
    /// LOCK TABLES, FLUSH TABLES t WITH READ LOCK, FLUSH TABLES t FOR EXPORT.
    LockTables,
    LockGlobal,
    /// UNLOCK TABLES, which gives back what LOCK TABLES took.
    UnlockTables,
    /// BACKUP STAGE, BACKUP LOCK, LOCK INSTANCE FOR BACKUP, LOCK BINLOG FOR BACKUP.
    LockBackup,
    UnlockBackup,
    /// Whether it is closed again nobody looks.
    OpenHandler,
    /// GET_LOCK with a literal name, once: the hash of the name.
    LockName(u64),
    /// GET_LOCK of which name or number are not in the text.
    LockSome,
    UnlockName(u64),
    /// RELEASE_LOCK of a name that is not in the text.
    UnlockSome,
    /// RELEASE_ALL_LOCKS, which gives back all names at once.
    UnlockNames,
    /// XA START, which begins a branch of a distributed transaction; XA PREPARE, the first of the two phases of its commit.
    XaStart,
    /// XA COMMIT, XA ROLLBACK.
    XaEnd,
    /// CALL, a compound statement: may leave a transaction open also where it fails.
    Call,
    /// Prepares text that is not there to be read: to run it may do any of these.
    Hidden,
    /// May do any of these.
    Doubt,
}

impl Act {
    fn is_opaque(self) -> bool {
        matches!(self, Self::Call | Self::Doubt)
    }

    /// Whether others may have to wait for what it takes.
    pub fn takes(self) -> bool {
        use Act::{
            Begin, Doubt, Hidden, LockBackup, LockGlobal, LockName, LockSome, LockTables, OpenHandler,
            XaStart,
        };
        matches!(
            self,
            Begin
                | LockTables
                | LockGlobal
                | LockBackup
                | OpenHandler
                | LockName(_)
                | LockSome
                | XaStart
                | Hidden
                | Doubt
        )
    }
}

/// Of more steps than this in one text, those that take are [`Act::Doubt`] and those that give are forgotten.
const ACTS_MAX: usize = 16;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Statement {
    /// Its steps, in their order; most statements have none.
    pub acts: Vec<Act>,
    pub bypass: bool,
    /// Whether it sleeps or waits for a named lock, and does nothing else: while it runs, it does not use the
    /// server.
    pub idles: bool,
    /// Whether it is one statement, whose work is done when its result is written.
    pub single: bool,
    /// Whether it may call functions: servers work out constants while they prepare a statement.
    pub calls: bool,
    /// Whether the text went on beyond what was read, and may do more than `acts` say.
    pub cut: bool,
    /// The server's thread whose statement it ends: KILL QUERY and a number.
    pub kills: Option<u32>,
    pub statements: u32,
    /// Whether it touches no table and calls nothing of a user's: SET, USE, SHOW, SELECT 1.
    pub tableless: bool,
    /// Whether it only reads, locks nothing and calls nothing of a user's.
    pub reads: bool,
    /// Whether it commits what is open before it begins: DDL.
    pub commits: bool,
    /// The same for all texts that differ in literals alone.
    pub digest: u64,
}

impl Statement {
    /// One whose text was never seen.
    pub fn unknown() -> Self {
        Self { acts: vec![Act::Doubt], single: false, ..Self::of_rows() }
    }

    /// One that reads or writes rows, and perhaps calls functions.
    pub fn of_rows() -> Self {
        Self {
            acts: Vec::new(),
            bypass: false,
            idles: false,
            single: true,
            calls: true,
            cut: false,
            kills: None,
            statements: 1,
            tableless: false,
            reads: false,
            commits: false,
            digest: 0,
        }
    }

    /// Reads `text`, which is `whole` or the head of a longer one.
    pub fn read(text: &[u8], whole: bool, backslash_escapes: bool) -> Self {
        let mut reader = Reader::default();
        // Enough for most texts: a list that grows is copied each time.
        let mut tokens = Vec::with_capacity((text.len() / 4).clamp(4, 64));
        tokens.extend(Tokens::new(text, backslash_escapes));
        let mut statements = tokens.split(|token| *token == Token::Sign(b';'));
        for statement in statements.by_ref() {
            reader.statement(statement);
            if reader.defines {
                break;
            }
        }
        // Its body, or what is done after it: the number of results will show.
        let hidden = statements.next().is_some();
        if !whole && reader.statements == 0 {
            reader.acts.push(Act::Doubt);
        }
        let many = reader.acts.len() > ACTS_MAX;
        if many {
            reader.acts =
                if reader.acts.iter().any(|act| act.takes()) { vec![Act::Doubt] } else { Vec::new() };
        }
        let bare = reader.statements > 0 && reader.bare == reader.statements;
        let is_plain = is_plain(text);
        let bypass = whole && bare && !many && is_plain;
        let idles = reader.waits && whole && is_plain && is_idle(&tokens);
        let digest = digest::digest(tokens.iter().copied());
        let calls = !whole || tokens.iter().any(|token| may_compute(*token));
        let single = whole && reader.statements <= 1 && !reader.acts.iter().any(|act| act.is_opaque());
        let cut = !reader.defines && !whole || hidden;
        let kills = killed(text, backslash_escapes).filter(|_| bypass && single);
        let plain = single && reader.acts.is_empty() && calls_nothing(&tokens);
        let tableless = plain && is_tableless(&tokens);
        let reads = plain && only_reads(&tokens);
        let commits = single && commits(&tokens);
        // A compound statement has its own semicolons, and other modes and character sets read other texts as several.
        let compound = !is_plain
            || tokens.first().is_some_and(|verb| verb.is("declare"))
            || reader.acts.contains(&Act::Call)
            || reader.defines
            || tokens.iter().any(|token| token.is("event"));
        let statements = if compound { 1 } else { u32::try_from(reader.statements).unwrap_or(u32::MAX) };
        Self {
            acts: reader.acts,
            bypass,
            idles,
            single,
            calls,
            cut,
            kills,
            statements,
            tableless,
            reads,
            commits,
            digest,
        }
    }
}

/// The number in `KILL [HARD | SOFT] QUERY number`.
fn killed(text: &[u8], backslash_escapes: bool) -> Option<u32> {
    let mut tokens = Tokens::new(text, backslash_escapes);
    tokens.next().filter(|verb| verb.is("kill"))?;
    let mut word = tokens.next()?;
    if word.is("hard") || word.is("soft") {
        word = tokens.next()?;
    }
    if word.is("query") { tokens.number() } else { None }
}

#[derive(Default)]
struct Reader {
    acts: Vec<Act>,
    statements: usize,
    /// Of these, such as need no permit.
    bare: usize,
    /// A function is called that sleeps or waits for a named lock.
    waits: bool,
    /// A body of a procedure follows, which does nothing now.
    defines: bool,
}

impl Reader {
    fn statement(&mut self, tokens: &[Token<'_>]) {
        let opening = tokens.iter().take_while(|token| **token == Token::Sign(b'(')).count();
        let inside = &tokens[opening..];
        let Some(verb) = inside.first() else { return };
        self.statements += 1;
        self.bare += usize::from(is_bare(tokens));
        self.defines = verb.is("create") && defines_a_body(inside);
        self.acts.extend(verb_act(*verb, &inside[1..]));
        if !self.defines {
            self.functions(inside);
        }
    }

    fn functions(&mut self, tokens: &[Token<'_>]) {
        let once = runs_once(tokens);
        for (index, token) in tokens.iter().enumerate() {
            // Servers take a quoted name of a function for that function, in double quotes too (ANSI_QUOTES).
            let (Token::Word(word) | Token::Name(word) | Token::Text(word)) = token else { continue };
            if tokens.get(index + 1) != Some(&Token::Sign(b'(')) {
                continue;
            }
            let name = match tokens.get(index + 2..index + 4) {
                Some([Token::Text(text), Token::Sign(b',' | b')')]) => Some(digest::name(text)),
                _ => None,
            };
            self.acts.extend(function_act(word, name, once));
            self.waits |= is_waiting(word);
        }
    }
}

/// Whether functions are evaluated once, and not for rows: for many, or for none.
fn runs_once(tokens: &[Token<'_>]) -> bool {
    let dual = |at: usize| tokens.get(at + 1).is_some_and(|token| token.is("dual"));
    let rows = |(at, token): (usize, &Token<'_>)| token.is("where") || token.is("from") && !dual(at);
    !tokens.iter().enumerate().any(rows)
}

fn function_act(word: &[u8], name: Option<u64>, once: bool) -> Option<Act> {
    let is = |known: &str| word.eq_ignore_ascii_case(known.as_bytes());
    Some(match name {
        Some(name) if once && is("get_lock") => Act::LockName(name),
        _ if is("get_lock") || is("service_get_read_locks") || is("service_get_write_locks") => Act::LockSome,
        Some(name) if once && is("release_lock") => Act::UnlockName(name),
        _ if once && is("release_all_locks") => Act::UnlockNames,
        _ if is("release_lock") || is("release_all_locks") || is("service_release_locks") => Act::UnlockSome,
        _ => return None,
    })
}

/// `CREATE [OR REPLACE] [DEFINER = user] [AGGREGATE] FUNCTION ...`: what is made stands before any list or name. What
/// stands behind `=` is a name.
fn defines_a_body(tokens: &[Token<'_>]) -> bool {
    const BODIES: [&str; 5] = ["procedure", "function", "trigger", "event", "package"];
    const OTHERS: [&str; 6] = ["table", "view", "index", "user", "database", "schema"];
    let is_one_of = |token: &Token<'_>, known: &[&str]| known.iter().any(|known| token.is(known));
    let behind_sign = |at: usize| at > 0 && tokens[at - 1] == Token::Sign(b'=');
    let kinds = tokens.iter().enumerate().filter(|(at, _)| !behind_sign(*at)).map(|(_, token)| token);
    let kind = kinds
        .take_while(|token| **token != Token::Sign(b'('))
        .find(|token| is_one_of(token, &BODIES) || is_one_of(token, &OTHERS));
    kind.is_some_and(|kind| is_one_of(kind, &BODIES))
}

/// Whether a server that prepares the statement may work out something: a function's value, or a constant of a view.
fn may_compute(token: Token<'_>) -> bool {
    token == Token::Sign(b'(')
        || ["from", "update", "into", "table", "join"].iter().any(|word| token.is(word))
}

/// What the verb does.
fn verb_act(verb: Token<'_>, rest: &[Token<'_>]) -> Option<Act> {
    let at = |index: usize, keyword: &str| rest.get(index).is_some_and(|token| token.is(keyword));
    let has = |keyword: &str| rest.iter().any(|token| token.is(keyword));
    let Token::Word(word) = verb else { return None };
    // No verb that does anything here is longer, and statements are too many for a piece of memory each.
    let mut lower = [0; "rollback".len()];
    let lower = lower.get_mut(..word.len())?;
    lower.copy_from_slice(word);
    lower.make_ascii_lowercase();
    match &*lower {
        b"begin" if at(0, "not") => Some(Act::Call),
        b"begin" => Some(Act::Begin),
        b"start" if at(0, "transaction") => Some(Act::Begin),
        b"commit" => Some(Act::Commit),
        b"rollback" if has("to") => None,
        b"rollback" => Some(Act::Rollback),
        b"lock" if at(0, "instance") || at(0, "binlog") => Some(Act::LockBackup),
        b"lock" => Some(Act::LockTables),
        b"unlock" if at(0, "instance") || at(0, "binlog") => Some(Act::UnlockBackup),
        b"unlock" => Some(Act::UnlockTables),
        b"flush" => flush_act(rest),
        b"backup" if at(0, "unlock") || at(0, "stage") && at(1, "end") => Some(Act::UnlockBackup),
        b"backup" => Some(Act::LockBackup),
        b"handler" if has("open") => Some(Act::OpenHandler),
        b"xa" => xa_act(rest),
        b"call" => Some(Act::Call),
        b"prepare" if hides_locks(rest) => Some(Act::Hidden),
        b"execute" if hides_locks(rest) => Some(Act::Doubt),
        // Compound statements outside of procedures (MariaDB).
        b"if" | b"case" | b"loop" | b"while" | b"repeat" | b"for" => Some(Act::Call),
        _ => None,
    }
}

/// `FLUSH [LOCAL | NO_WRITE_TO_BINLOG] TABLE[S] [t, ...] {WITH READ LOCK | FOR EXPORT}`.
fn flush_act(rest: &[Token<'_>]) -> Option<Act> {
    let from = rest.iter().position(|token| token.is("tables") || token.is("table"))?;
    let after = &rest[from + 1..];
    let locks = after
        .windows(2)
        .any(|two| (two[0].is("read") && two[1].is("lock")) || (two[0].is("for") && two[1].is("export")));
    let all = after.first().is_some_and(|token| token.is("with"));
    locks.then_some(if all { Act::LockGlobal } else { Act::LockTables })
}

fn xa_act(rest: &[Token<'_>]) -> Option<Act> {
    let verb = rest.first()?;
    let is_one_of = |keywords: &[&str]| keywords.iter().any(|keyword| verb.is(keyword));
    if is_one_of(&["start", "begin", "prepare"]) {
        return Some(Act::XaStart);
    }
    is_one_of(&["commit", "rollback"]).then_some(Act::XaEnd)
}

/// Text that is run later under a name, or is not there to be read: `PREPARE s FROM '...'`, `FROM @text`,
/// `EXECUTE IMMEDIATE ...`. `EXECUTE s` itself was judged at its PREPARE.
fn hides_locks(rest: &[Token<'_>]) -> bool {
    let Some(from) = rest.iter().position(|token| token.is("from") || token.is("immediate")) else {
        return false;
    };
    match rest.get(from + 1) {
        Some(Token::Text(text)) => {
            let inner = Statement::read(text, true, true);
            inner.acts.iter().any(|act| act.takes() && *act != Act::Begin)
        }
        _ => true,
    }
}
