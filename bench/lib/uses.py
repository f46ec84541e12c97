"""Which files of Rust use which, as `house` says it. Paths are read, not types: a method that is called on a value names no file."""
import os
import re

# Comments, text in quotes, visibility, and imports for tests alone.
SILENT = re.compile(r"//[^\n]*|/\*.*?\*/|\br(#*)\".*?\"\1|'(?:\\.|[^'\\])'|\"(?:\\.|[^\"\\])*\"|pub\(in [^)]*\)|"
                    r"#\[cfg\(test\)\]\s+(?:pub(?:\(\w+\))? )?use [^;]+;", re.DOTALL)
MODULE = re.compile(r"^ *(?:pub(?:\(.*\))? )?mod (\w+);$", re.MULTILINE)
INNER_MODULE = re.compile(r"^( *)(?:pub(?:\(.*\))? )?mod \w+ \{\n(?:.*\n)*?\1\}$", re.MULTILINE)
USE = re.compile(r"^ *(pub(?:\(\w+\))? )?use ([^;]+);", re.MULTILINE)
PATH = re.compile(r"(?<![\w:])[a-z]\w*(?:::\w+)+")


class Uses:
    """`of` has for each file the files that it uses."""

    def __init__(self, texts):
        texts = {path: plain(text) for path, text in texts.items() if path.endswith(".rs")}
        self.crates = {f"evenkeel_{path.split('/')[1]}": path for path in texts if path.endswith("/src/lib.rs")}
        self.modules = {path: {name: file for name in MODULE.findall(text)
                               for file in (f"{folder(path)}/{name}.rs", f"{folder(path)}/{name}/mod.rs") if file in texts}
                        for path, text in texts.items()}
        self.parents = {file: path for path, modules in self.modules.items() for file in modules.values()}
        imports = {path: [(public, *name) for public, tree in USE.findall(text) for name in names(tree)]
                   for path, text in texts.items()}
        self.imported = {path: {name: words for _, name, words in found} for path, found in imports.items()}
        self.of = {path: self.used(path, imports[path], MODULE.sub("", USE.sub("", text))) for path, text in texts.items()}

    def used(self, path, imports, text):
        named = [words for public, name, words in imports if not public or re.search(rf"\b{re.escape(name)}\b", text)]
        named += [one.split("::") for one in PATH.findall(text)]
        return {self.place(path, words) for words in named} - {path, None}

    def place(self, path, words, before=()):
        """The file that defines what these words name in a file; None where that is not known, as for other people's crates."""
        for at, word in enumerate(words):
            if word == "crate":
                while path in self.parents:
                    path = self.parents[path]
            elif word == "super":
                path = self.parents.get(path, path)
            elif word in self.modules[path]:
                path = self.modules[path][word]
            elif word in self.imported[path] and (path, word) not in before:
                return self.place(path, self.imported[path][word] + words[at + 1:], (*before, (path, word)))
            elif at == 0 and word in self.crates:
                path = self.crates[word]
            elif word != "self":
                return path if at else None
        return path

    def circles(self):
        """Files of one crate of which each uses each other one, itself or through others."""
        near = {path: {other for other in used if other.split("/")[1] == path.split("/")[1]} for path, used in self.of.items()}
        reach = {path: reached(near, path) for path in near}
        return sorted({tuple(sorted(other for other in ways if path in reach[other])) for path, ways in reach.items() if path in ways})

    def only(self, own, foreign):
        """These files, and those that they alone use, directly or through such files. Foreign ones and roots of crates never are."""
        found = set().union(*(reached(self.of, path) for path in own)) & self.parents.keys() - foreign | own
        while others := {path for user in self.of.keys() - found for path in self.of[user]} & found - own:
            found -= others
        return found


def folder(path):
    """Where the modules of a file have their files."""
    return os.path.dirname(path) if os.path.basename(path) in ("lib.rs", "main.rs", "mod.rs") else path.removesuffix(".rs")


def plain(text):
    """The text without what names nothing; paths in quotes stay, for serde. `super` of a module within the file is the file itself."""
    text = SILENT.sub(lambda found: found[0] if found[0].startswith(('"crate::', '"super::')) else " ", text)
    return INNER_MODULE.sub(lambda found: found[0].replace("super::", "self::"), text)


def names(tree):
    """(name, path) of all that a `use` brings; the path in words."""
    while found := re.search(r"([\w:]*)\{([^{}]*)\}", tree):
        within = ",".join(found[1] + one.strip() for one in found[2].split(",") if one.strip())
        tree = tree[:found.start()] + within + tree[found.end():]
    for one in tree.split(","):
        path, _, name = one.strip().partition(" as ")
        *words, last = path.split("::")
        yield name or (words[-1] if last == "self" else last), words if last in ("self", "*") else [*words, last]


def reached(graph, path):
    found, left = set(), [path]
    while left:
        new = graph.get(left.pop(), set()) - found
        found |= new
        left.extend(new)
    return found
