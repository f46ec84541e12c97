"""Checks of what takes Rust sources apart (`rust`, `circles`): each is a small source whose answer is known.

A counter that is wrong must not give a figure, so that `bench/house` makes them before it counts; `bench/house --check` makes
nothing but them.
"""
from . import circles, rust

# (what it is, source, lines of code, lines of its functions)
COUNTS = [
    ("comments of all kinds", "//! Head.\n\n/// Doc.\n// Plain.\n/* one\n /* within */ two\n*/\nfn a() {} // behind\n/* before */ fn b() {\n}\n", 3,
     [1, 2]),
    ("a string with comments in it", 'fn a() {\n    let text = "/* no // comment";\n    let more = "a \\" // b";\n}\n', 4, [4]),
    ("a string over lines, one of them empty", 'const A: &str = "\n// one\n\n/* two */\n";\nfn a() {}\n', 5, [1]),
    ("a raw string with a comment and quotes", 'const A: &str = r#"\n// "one"\n/*\n"#;\nconst B: &[u8] = br"//";\nfn a() {}\n', 6, [1]),
    ("characters and lifetimes", "fn a<'a, 'b>(x: &'a str) -> char {\n    match '\"' {\n        '\\'' => '/',\n        _ => '{',\n    }\n}\n", 6, [6]),
    ("a module of tests", "fn a() {}\n#[cfg(test)]\n#[allow(dead_code)]\nmod tests {\n    fn b() {}\n}\nfn c() {}\n", 2, [1, 1]),
    ("single things of tests", "#[cfg(test)]\nuse a::{b, c};\n#[cfg(test)]\nmod fixture;\n#[cfg(test)]\npub(crate) fn d(_: [u8; 2]) {\n}\n"
     "#[cfg(test)]\nconst E: E = E { a: 1 };\n#[cfg(test)]\npub const fn f() {}\n#[test]\nfn g() {}\nfn h() {}\n", 1, [1]),
    ("a field and a statement of tests", "struct A {\n    #[cfg(test)]\n    a: Vec<u8>,\n    b: u8,\n}\nfn a() {\n    #[cfg(test)]\n    {\n        b();\n"
     "    }\n    #[cfg(test)]\n    let x = if a { 1 } else { 2 };\n    c();\n}\n", 6, [3]),
    ("what is no test", "#[cfg(not(test))]\nfn a() {}\n#[cfg_attr(test, allow(x))]\nfn b() {}\n#[cfg(any(test, unix))]\nfn c() {}\n", 6, [1, 1, 1]),
    ("a file of tests", "#![cfg(test)]\nfn a() {}\n", 0, []),
    ("functions without a body, and one in another", "trait A {\n    fn a(&self) -> [u8; 4];\n    fn b() {\n        // Why.\n        fn c() {}\n    }\n}\n",
     6, [3, 1]),
    ("raw names and numbers", "fn r#match() -> f64 {\n    1e-5 + 1.0_f64.max(2.) + (0..5).len() as f64\n}\n", 3, [3]),
]

# (what it is, files, circles)
CIRCLES = [
    ("a parent that declares and gives on", {"lib.rs": "mod a;\npub use a::A;\nstruct B;", "a.rs": "use crate::B;\npub struct A(B);"}, []),
    ("a parent that uses what it gives on", {"lib.rs": "mod a;\npub use a::A;\nstruct B(A);", "a.rs": "use super::B;\npub struct A;"},
     [["a.rs", "lib.rs"]]),
    ("a parent that calls a child that uses it", {"lib.rs": "mod a;\nstruct B;\nfn b() { a::c() }", "a.rs": "use super::B;\npub fn c() {}"},
     [["a.rs", "lib.rs"]]),
    ("siblings", {"lib.rs": "mod a;\nmod b;", "a.rs": "use super::b::B;\npub struct A;", "b.rs": "fn f() { crate::a::A; }\npub struct B;"},
     [["a.rs", "b.rs"]]),
    ("siblings by a name of their parent",
     {"lib.rs": "mod a;\nmod b;\npub use a::A;\nuse b::B;", "a.rs": "use crate::B;\npub struct A;", "b.rs": "use super::{A as C};\npub struct B;"},
     [["a.rs", "b.rs"]]),
    ("a module by its name, and a folder", {"lib.rs": "mod a;\nmod b;", "a/mod.rs": "pub mod c;", "a/c.rs": "use crate::b;\npub fn c() { b::d() }",
                                             "b.rs": "use crate::a::c::{self, c as e};\npub fn d() { c::c() }"}, [["a/c.rs", "b.rs"]]),
    ("only tests, comments, strings and visibility",
     {"lib.rs": "mod a;\nmod b;", "a.rs": "use super::b::B;\npub struct A;",
      "b.rs": "// crate::a::A\nconst T: &str = \"crate::a::A\";\npub(in crate::a) struct B;\n#[cfg(test)]\nmod tests {\n    use crate::a::A;\n}"}, []),
    ("by a glob", {"lib.rs": "mod a;\nmod b;", "a.rs": "use super::b::*;\npub struct A(B);", "b.rs": "use super::a::A;\npub struct B(A);"},
     [["a.rs", "b.rs"]]),
    ("a module in braces", {"lib.rs": "mod a;\nmod b;", "a.rs": "mod inner {\n    use super::super::b::B;\n}\npub struct A;",
                            "b.rs": "use crate::a::A;\npub struct B;"}, [["a.rs", "b.rs"]]),
]


def check():
    """Raises AssertionError where one is not answered as it is known to be."""
    for what, text, lines, functions in COUNTS:
        found = rust.Source(text)
        assert (found.lines, found.functions) == (lines, functions), f"{what}: {found.lines} lines, functions {found.functions}"
    for what, files, known in CIRCLES:
        found = circles.circles(circles.graph("lib.rs", files.get))
        assert found == known, f"{what}: {found}"
    return len(COUNTS) + len(CIRCLES)
