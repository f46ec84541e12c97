"""Rust sources without a compiler: which lines are code, which code is test, and how long functions are.

A token is (kind, text, first line). Comments, documentation among them, are no tokens. What stands in a string is code, whatever
it looks like.
"""
import functools
import re

TOKEN = re.compile(r"""
  (?P<space>\s+)
 |(?P<comment>//[^\n]*)
 |(?P<block>/\*)
 |(?P<raw>[bc]?r(?P<hashes>\#*)".*?"(?P=hashes))
 |(?P<string>[bc]?"(?:[^"\\]|\\.)*")
 |(?P<char>b?'(?:\\(?:x[0-9a-fA-F]{2}|u\{[^}]*\}|.)|[^\\'\n])')
 |(?P<lifetime>'[^\W\d]\w*)
 |(?P<word>(?:r\#)?[^\W\d]\w*)
 |(?P<number>\d\w*(?:\.\d\w*)?)
 |(?P<sign>::|.)
""", re.VERBOSE | re.DOTALL)
BLOCK_EDGE = re.compile(r"/\*|\*/")
OPEN, CLOSE = "([{", ")]}"
# An item that begins so ends at a semicolon, and what it has in braces is not its end.
ENDS_AT_SEMICOLON = {"use", "const", "static", "type", "let", "extern"}
# A comma is within an item that begins so, and ends a field, a variant or an arm.
ITEMS = ENDS_AT_SEMICOLON | {"fn", "mod", "struct", "enum", "union", "trait", "impl", "unsafe", "async", "macro_rules", "for", "if", "while",
                             "match", "loop"}
TEST = re.compile(r"(?:\w+::)*test|cfg\(test\)|cfg\(all\((?:.*,)?test(?:,.*)?\)\)")


def lex(text):
    """All tokens of a source."""
    found, at, line = [], 0, 1
    while at < len(text):
        match = TOKEN.match(text, at)
        kind, end = match.lastgroup, match.end()
        if kind == "hashes":
            kind = "raw"
        if kind == "block":
            end = end_of_block(text, end)
        elif kind not in ("space", "comment"):
            found.append((kind, match.group(), line))
        line += text.count("\n", at, end)
        at = end
    return found


def end_of_block(text, at):
    """Where a block comment ends, those within it among it; it is open before `at`."""
    depth = 1
    while depth:
        edge = BLOCK_EDGE.search(text, at)
        if edge is None:
            return len(text)
        depth += 1 if edge.group() == "/*" else -1
        at = edge.end()
    return at


def closing(tokens, at):
    """Index of what closes the bracket at an index."""
    depth = 0
    for index in range(at, len(tokens)):
        kind, text, _ = tokens[index]
        if kind == "sign":
            if text in OPEN:
                depth += 1
            elif text in CLOSE:
                depth -= 1
                if depth == 0:
                    return index
    return len(tokens) - 1


def attributes(tokens, at):
    """The outer attributes that begin at an index, as texts, and the index behind them."""
    found = []
    while is_sign(tokens, at, "#") and is_sign(tokens, at + 1, "["):
        end = closing(tokens, at + 1)
        found.append("".join(text for _, text, _ in tokens[at + 2:end]))
        at = end + 1
    return found, at


def is_sign(tokens, at, text):
    return at < len(tokens) and tokens[at][0] == "sign" and tokens[at][1] == text


def item_end(tokens, at):
    """Index behind the item, statement, field or arm that begins at an index."""
    while at < len(tokens) and tokens[at][1] == "pub":
        at = closing(tokens, at + 1) + 1 if is_sign(tokens, at + 1, "(") else at + 1
    head = tokens[at][1] if at < len(tokens) else ""
    if head in ("const", "extern", "unsafe", "async"):
        # `const fn`, `extern "C" fn` and their like are functions, and an extern block has braces.
        after = [text for _, text, _ in tokens[at + 1:at + 5]]
        if "fn" in after[:after.index("{")] if "{" in after else "fn" in after:
            head = "fn"
        elif head == "extern" and "{" in after:
            head = "mod"
    while at < len(tokens):
        kind, text, _ = tokens[at]
        if kind == "sign":
            if text == ";":
                return at + 1
            if text == "," and head not in ITEMS:
                return at + 1
            if text in CLOSE:
                return at
            if text in OPEN:
                at = closing(tokens, at)
                if text == "{" and head not in ENDS_AT_SEMICOLON:
                    return at + 2 if is_sign(tokens, at + 1, ",") and head not in ITEMS else at + 1
        at += 1
    return at


def without_tests(tokens):
    """The tokens that are no test, and the names of modules in files of their own that only tests have."""
    kept, modules, at = [], set(), 0
    while at < len(tokens):
        if not is_sign(tokens, at, "#"):
            kept.append(tokens[at])
            at += 1
            continue
        if is_sign(tokens, at + 1, "!") and is_sign(tokens, at + 2, "["):
            end = closing(tokens, at + 2)
            if TEST.fullmatch("".join(text for _, text, _ in tokens[at + 3:end])):
                return [], modules
            kept.extend(tokens[at:end + 1])
            at = end + 1
            continue
        found, behind = attributes(tokens, at)
        if any(TEST.fullmatch(text) for text in found):
            end = item_end(tokens, behind)
            words = [text for _, text, _ in tokens[behind:end]]
            if words[-1:] == [";"] and words[-3:-2] == ["mod"]:
                modules.add(words[-2])
            at = end
        else:
            # Alone, `#` begins nothing here (in a macro, say).
            behind = max(behind, at + 1)
            kept.extend(tokens[at:behind])
            at = behind
    return kept, modules


def lines_of(tokens):
    """Numbers of the lines on which there is something of the tokens; empty lines of a string are empty."""
    found = set()
    for _, text, line in tokens:
        if "\n" in text:
            found.update(line + number for number, part in enumerate(text.split("\n")) if part.strip())
        else:
            found.add(line)
    return found


def functions(tokens):
    """(name, tokens) of each function with a body, from `fn` to its closing brace; one within another is in both."""
    found = []
    for at, (kind, text, _) in enumerate(tokens):
        if kind == "word" and text == "fn" and at + 1 < len(tokens) and tokens[at + 1][0] == "word":
            behind = at + 2
            while behind < len(tokens) and not (tokens[behind][0] == "sign" and tokens[behind][1] in ";{"):
                behind = closing(tokens, behind) + 1 if tokens[behind][0] == "sign" and tokens[behind][1] in "([" else behind + 1
            if is_sign(tokens, behind, "{"):
                found.append((tokens[at + 1][1], tokens[at:closing(tokens, behind) + 1]))
    return found


class Source:
    """What a text has that is no test."""

    def __init__(self, text):
        self.tokens, self.test_modules = without_tests(lex(text))
        self.lines = len(lines_of(self.tokens))
        parts = [(name, part) for name, part in functions(self.tokens)]
        self.functions = [len(lines_of(part)) for _, part in parts]
        # What a function is, wherever it stands: to see it again in another file.
        self.bodies = [(" ".join(text for _, text, _ in part), lines) for (_, part), lines in zip(parts, self.functions)]


@functools.cache
def source(text):
    """The same text is taken apart once: most files are in both trees."""
    return Source(text)
