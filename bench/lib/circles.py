"""Which file of a crate uses which, by the paths that stand in it, and which files use each other in a circle."""
import os

from .rust import closing, is_sign, source

ITEM_WORDS = {"fn", "struct", "enum", "union", "trait", "type", "const", "static"}
STARTS = {"crate", "self", "super"}


class Module:
    """A module: a file, or a part of one in braces."""

    def __init__(self, file, parent, folder):
        self.file, self.parent, self.folder = file, parent, folder
        self.root = parent.root if parent else self
        self.children, self.items, self.bindings, self.globs = {}, set(), {}, []
        # (path, line, is public, is level with items, name) of imports, and (path, line) of paths in the code.
        self.imports, self.paths, self.words = [], [], set()


def graph(root, read):
    """Edges {file: {file: (line, path)}} of a crate, from its root file on; `read` gives the text of a file or None."""
    modules = []
    load(root, None, os.path.dirname(root), read, modules)
    edges = {module.file: {} for module in modules}
    for module in modules:
        for path, line in uses(module):
            reached = resolve_path(module, path)
            if reached and reached[0] == "item" and reached[1].file != module.file:
                edges[module.file].setdefault(reached[1].file, (line, "::".join(path)))
    return edges


def load(file, parent, folder, read, modules):
    """The module of a file, with those below it."""
    text = read(file)
    if text is None:
        return None
    module = Module(file, parent, folder)
    modules.append(module)
    scan(module, source(text).tokens, read, modules)
    return module


def child_file(module, name, tokens, at, read):
    """(file, folder) of a module that is declared in a file of its own."""
    back = at - 1
    while back >= 0 and tokens[back][1] in ("pub", ")", "(", "crate", "super", "self", "in"):
        back -= 1
    if is_sign(tokens, back, "]") and back >= 4 and tokens[back - 3][1] == "path":
        file = os.path.normpath(os.path.join(os.path.dirname(module.file), tokens[back - 1][1].strip('"')))
        return file, os.path.dirname(file)
    folder = os.path.join(module.folder, name)
    flat = folder + ".rs"
    return (flat, folder) if read(flat) is not None else (os.path.join(folder, "mod.rs"), folder)


def scan(module, tokens, read, modules):
    """Declarations, imports and paths of a file."""
    depth, here, at = 0, [(module, 0)], 0
    while at < len(tokens):
        kind, text, line = tokens[at]
        current, level = here[-1]
        after = tokens[at + 1][1] if at + 1 < len(tokens) else ""
        if kind == "sign":
            depth += (text == "{") - (text == "}")
            while len(here) > 1 and depth < here[-1][1]:
                here.pop()
        elif kind == "word":
            before = tokens[at - 1][1] if at else ""
            if text == "pub" and after == "(" and tokens[at + 2][1] in STARTS | {"in"} and (tokens[at + 2][1] == "in" or tokens[at + 3][1] == ")"):
                # Who may see it is no use of it.
                at = closing(tokens, at + 1)
            elif text == "mod" and at + 2 < len(tokens) and tokens[at + 2][1] in ";{" and tokens[at + 1][0] == "word":
                if tokens[at + 2][1] == "{":
                    child = Module(current.file, current, os.path.join(current.folder, after))
                    modules.append(child)
                    current.children[after] = child
                    depth += 1
                    here.append((child, depth))
                else:
                    file, folder = child_file(current, after, tokens, at, read)
                    child = load(file, current, folder, read, modules)
                    if child:
                        current.children[after] = child
                at += 2
            elif text == "use" and after != "<":
                at = take_imports(current, tokens, at, depth == level)
            elif text == "macro_rules" and after == "!":
                current.items.add(tokens[at + 2][1])
                at += 2
            elif text in ITEM_WORDS and depth == level and tokens[at + 1][0] == "word" and after not in ITEM_WORDS | {"unsafe", "async", "extern"}:
                current.items.add(tokens[at + 2][1] if after == "mut" else after)
                at += 1
            elif before not in (".", "::", "fn"):
                at = take_path(current, tokens, at, line)
        at += 1


def take_path(module, tokens, at, line):
    """Takes the path that begins at an index; the index of its last token."""
    path = [tokens[at][1]]
    while is_sign(tokens, at + 1, "::") and at + 2 < len(tokens) and tokens[at + 2][0] == "word":
        path.append(tokens[at + 2][1])
        at += 2
    if len(path) > 1:
        module.paths.append((path, line))
    elif not path[0][0].isupper() and not (at + 1 < len(tokens) and tokens[at + 1][1] in ("(", "!")):
        # A variable or a field may have the name of a function.
        return at
    module.words.add(path[0])
    return at


def take_imports(module, tokens, at, is_level):
    """Takes a `use`; the index of its semicolon."""
    is_public = at > 0 and (tokens[at - 1][1] == "pub" or (tokens[at - 1][1] == ")"))
    end = at
    while end < len(tokens) and not is_sign(tokens, end, ";"):
        end += 1
    for path, name, line in leaves(tokens[at + 1:end], []):
        if name == "*":
            module.globs.append((path, line))
        else:
            module.bindings.setdefault(name, []).append(path)
            module.imports.append((path, line, is_public, is_level, name))
    return end


def leaves(tokens, before):
    """(path, name, line) of all that a `use` names."""
    at, path = 0, list(before)
    while at < len(tokens):
        kind, text, line = tokens[at]
        if kind == "word" and text == "as":
            return
        if kind == "word":
            name = tokens[at + 2][1] if at + 2 < len(tokens) and tokens[at + 1][1] == "as" else text
            if text == "self" and path:
                if at + 1 == len(tokens) or tokens[at + 1][1] == "as":
                    yield path, name if name != "self" else path[-1], line
                    return
            path.append(text)
            if at + 1 == len(tokens) or tokens[at + 1][1] == "as":
                yield path, name, line
                return
        elif text == "*":
            yield path, "*", line
        elif text == "{":
            begin, depth = at + 1, 0
            for index in range(at + 1, len(tokens)):
                sign = tokens[index][1]
                if depth == 0 and sign in (",", "}"):
                    yield from leaves(tokens[begin:index], path)
                    begin = index + 1
                depth += (sign == "{") - (sign == "}")
                if depth < 0:
                    return
        at += 1


def is_below(module, other):
    while other is not None:
        if other is module:
            return True
        other = other.parent
    return False


def uses(module):
    """(path, line) of all that a module uses for itself: imports and paths, but not what it only gives on from below."""
    for path, line, is_public, _, name in module.imports:
        reached = resolve_path(module, path)
        if is_public and reached and is_below(module, reached[1]) and name not in module.words:
            continue
        yield path, line
    for path, line in module.globs:
        # A glob uses the names of it that the file has.
        reached = resolve_path(module, path)
        if reached and reached[0] == "module":
            for word in sorted(module.words - set(module.bindings) - module.items - set(module.children)):
                if resolve(reached[1], [word], set()):
                    yield path + [word], line
    yield from module.paths


def resolve_path(module, path, seen=None):
    """What a path of a module leads to: ("item", the module that defines it), ("module", it), or None where it leaves the crate."""
    seen = set() if seen is None else seen
    at, rest, is_ours = module, list(path), False
    while rest and rest[0] in STARTS:
        head = rest.pop(0)
        at = at.root if head == "crate" else at.parent if head == "super" else at
        is_ours = True
        if at is None:
            return None
    found = resolve(at, rest, seen)
    if found is None and is_ours and rest:
        return ("item", deepest(at, rest))
    if found is None and rest and rest[0] in at.children:
        return ("item", deepest(at, rest))
    return found


def deepest(module, path):
    """The last module on a path whose end is not known (a macro made it)."""
    for name in path:
        if name not in module.children:
            break
        module = module.children[name]
    return module


def resolve(module, path, seen):
    """The same for a path from a module on, through imports of it."""
    if not path:
        return ("module", module)
    head, rest = path[0], path[1:]
    step = (id(module), tuple(path))
    if step in seen:
        return None
    seen.add(step)
    if head in module.items:
        if rest and head in module.children:
            return resolve(module.children[head], rest, seen)
        return ("item", module)
    if head in module.children and rest:
        return resolve(module.children[head], rest, seen) or through(module, head, rest, seen) or ("item", deepest(module, path))
    found = through(module, head, rest, seen)
    if found is None and head in module.children:
        return ("module", module.children[head])
    return found


def through(module, head, rest, seen):
    """The same through the imports of a module."""
    for bound in module.bindings.get(head, []):
        # A name that is imported from a package or module of the same name is not looked up by itself.
        step = (id(module), head, tuple(bound))
        if step in seen:
            continue
        seen.add(step)
        found = resolve_path(module, bound + rest, seen)
        if found:
            return found
    for path, _ in module.globs:
        step = (id(module), head, *path, "*")
        if step in seen:
            continue
        seen.add(step)
        reached = resolve_path(module, path, seen)
        if reached and reached[0] == "module" and reached[1] is not module:
            found = resolve(reached[1], [head, *rest], seen)
            if found:
                return found
    return None


def circles(edges):
    """Sets of more than one file in which each reaches each (Tarjan, SIAM J. Comput. 1 (1972) 146), without recursion."""
    number, low, on, stack, found = {}, {}, set(), [], []
    for start in sorted(edges):
        if start in number:
            continue
        work = [(start, iter(sorted(edges[start])))]
        number[start] = low[start] = len(number)
        stack.append(start)
        on.add(start)
        while work:
            file, others = work[-1]
            for other in others:
                if other not in number:
                    number[other] = low[other] = len(number)
                    stack.append(other)
                    on.add(other)
                    work.append((other, iter(sorted(edges[other]))))
                    break
                if other in on:
                    low[file] = min(low[file], number[other])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[file])
                if low[file] == number[file]:
                    part = []
                    while not part or part[-1] != file:
                        part.append(stack.pop())
                        on.discard(part[-1])
                    if len(part) > 1:
                        found.append(sorted(part))
    return sorted(found, key=lambda part: (-len(part), part))


def shortest(edges, part):
    """The shortest circle among the files of a part: [file, ..., the first again]."""
    best, inside = None, set(part)
    for start in part:
        came, ring = {start: None}, [start]
        while ring and start is not None:
            following = []
            for file in ring:
                for other in sorted(edges[file]):
                    if other == start:
                        path, at = [start], file
                        while at is not None:
                            path.append(at)
                            at = came[at]
                        path.reverse()
                        if best is None or len(path) < len(best):
                            best = path
                        start = None
                        break
                    if other in inside and other not in came:
                        came[other] = file
                        following.append(other)
                if start is None:
                    break
            ring = following
    return best
