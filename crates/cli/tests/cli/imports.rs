//! Import circles: in no folder of a crate do the modules import one another in a circle.
//!
//! An import between files below two modules of a folder counts as an import between these two modules. A child may use its parent
//! and a parent its children, so these imports do not count. Imports are read from `use` declarations and from paths that begin with
//! `crate`, `self` or `super`, without the test modules. A name that a module re-exports counts as an import of the module that
//! defines it.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fs;

use crate::workspace::{add_rust_files, crate_names, source_dir, without_comments};

/// Re-exports that are followed from a path to the module that defines its name.
const MAX_REEXPORTS: usize = 4;

/// Imports between modules, by the module that imports.
type Graph = BTreeMap<String, BTreeSet<String>>;

/// A path as the names between its `::`.
type Names = Vec<String>;

#[test]
fn modules_of_a_folder_form_no_import_circle() {
    let mut circles = Vec::new();
    for name in crate_names() {
        let source = CrateSource::read(&name);
        let imports = source.imports();
        assert!(
            source.modules.len() < 4 || !imports.is_empty(),
            "{name}: no import was found"
        );
        for folder in source.folders() {
            let path = [name.as_str(), &folder].join("::");
            let path = path.trim_end_matches(':');
            if let Some(circle) = shortest_circle(&imports_within(&imports, &folder)) {
                circles.push(format!("{path}: {}", circle.join(" -> ")));
            }
        }
    }
    assert!(circles.is_empty(), "import circles:\n{}", circles.join("\n"));
}

#[test]
fn circles_and_imports_are_found() {
    let graph = |edges: &[(&str, &str)]| {
        let mut graph = Graph::new();
        for (from, to) in edges {
            graph.entry((*from).into()).or_default().insert((*to).into());
        }
        graph
    };
    assert_eq!(
        shortest_circle(&graph(&[("a", "b"), ("b", "c"), ("a", "c")])),
        None
    );
    let circle = shortest_circle(&graph(&[("a", "b"), ("b", "c"), ("c", "b")]));
    assert_eq!(circle.unwrap(), ["b", "c", "b"]);
    let between = graph(&[("a::x", "b"), ("b::y", "a"), ("a", "a::x"), ("a::x", "a")]);
    assert_eq!(imports_within(&between, ""), graph(&[("a", "b"), ("b", "a")]));
    assert_eq!(imports_within(&between, "a"), Graph::new());

    let text = "use std::io;\npub use crate::a::{self, b::{C, D as E}};\nfn f() { super::g::h(); }";
    let paths: Vec<String> = paths(text).iter().map(|path| path.names.join("::")).collect();
    let wanted = [
        "std::io",
        "crate::a::self",
        "crate::a::b::C",
        "crate::a::b::D",
        "super::g::h",
    ];
    assert_eq!(paths, wanted);
}

/// The modules of a crate, by their paths without `crate`; the root is the empty path.
struct CrateSource {
    modules: BTreeMap<String, Module>,
}

/// The paths that a module names.
#[derive(Default)]
struct Module {
    paths: Vec<ParsedPath>,
    /// Each re-exported name with its path.
    reexports: BTreeMap<String, Names>,
}

/// A path in a source file.
struct ParsedPath {
    names: Names,
    is_reexport: bool,
}

impl CrateSource {
    fn read(crate_name: &str) -> Self {
        let root = source_dir(crate_name);
        let mut files = Vec::new();
        add_rust_files(&root, &mut files);
        let mut modules = BTreeMap::new();
        for file in files {
            let relative = file.strip_prefix(&root).unwrap().with_extension("");
            let mut names: Vec<&str> = relative.iter().map(|name| name.to_str().unwrap()).collect();
            if ["mod", "lib", "main"].contains(names.last().unwrap()) {
                names.pop();
            }
            if names.contains(&"tests") {
                continue;
            }
            let text = without_comments(&fs::read_to_string(&file).unwrap());
            let mut module = Module::default();
            for path in paths(without_test_module(&text)) {
                let Some(last) = path.names.last().filter(|_| path.is_reexport) else {
                    module.paths.push(path);
                    continue;
                };
                module.reexports.insert(last.clone(), path.names.clone());
                module.paths.push(path);
            }
            modules.insert(names.join("::"), module);
        }
        Self { modules }
    }

    /// The folders: the crate's root and every module with children.
    fn folders(&self) -> BTreeSet<String> {
        let parents = self.modules.keys().filter_map(|name| name.rsplit_once("::"));
        let parents = parents.map(|(parent, _)| parent.to_owned());
        parents.chain([String::new()]).collect()
    }

    fn imports(&self) -> Graph {
        let mut graph = Graph::new();
        for (name, module) in &self.modules {
            for path in &module.paths {
                let Some(used) = self.absolute(name, &path.names) else {
                    continue;
                };
                let used = self.defining_module(&used, MAX_REEXPORTS);
                if used != *name {
                    graph.entry(name.clone()).or_default().insert(used);
                }
            }
        }
        graph
    }

    /// A path of this crate that a module names, from the root. `None` if the path is one of another crate.
    fn absolute(&self, module: &str, path: &[String]) -> Option<Names> {
        let mut base: Names = module
            .split("::")
            .filter(|name| !name.is_empty())
            .map(str::to_owned)
            .collect();
        let mut rest = path;
        match path.first()?.as_str() {
            "crate" => {
                base.clear();
                rest = &rest[1..];
            }
            "self" => rest = &rest[1..],
            "super" => {
                while rest.first().is_some_and(|name| name == "super") {
                    base.pop();
                    rest = &rest[1..];
                }
            }
            child => {
                base.push(child.to_owned());
                if !self.modules.contains_key(&base.join("::")) {
                    return None;
                }
                base.pop();
            }
        }
        base.extend_from_slice(rest);
        Some(base)
    }

    /// The module that defines the name at a path.
    fn defining_module(&self, path: &[String], max_reexports: usize) -> String {
        let mut length = path.len();
        while length > 0 && !self.modules.contains_key(&path[..length].join("::")) {
            length -= 1;
        }
        let module = path[..length].join("::");
        let name = path.get(length).filter(|_| max_reexports > 0);
        let reexport = name.and_then(|name| self.modules.get(&module)?.reexports.get(name));
        match reexport.and_then(|reexport| self.absolute(&module, reexport)) {
            Some(target) => self.defining_module(&target, max_reexports - 1),
            None => module,
        }
    }
}

/// The imports between the modules of a folder, each of which stands for everything below it.
fn imports_within(imports: &Graph, folder: &str) -> Graph {
    let child = |module: &str| {
        let below = match folder {
            "" => module,
            _ => module.strip_prefix(folder)?.strip_prefix("::")?,
        };
        let child = below.split("::").next()?;
        (!child.is_empty()).then(|| child.to_owned())
    };
    let mut within = Graph::new();
    for (from, used) in imports {
        for to in used {
            if let (Some(from), Some(to)) = (child(from), child(to))
                && from != to
            {
                within.entry(from).or_default().insert(to);
            }
        }
    }
    within
}

/// The shortest circle of a graph; its first and its last module are the same.
fn shortest_circle(graph: &Graph) -> Option<Vec<String>> {
    let from_start = |start: &String| {
        let mut reached: BTreeSet<&String> = BTreeSet::new();
        let mut queue = VecDeque::from([vec![start]]);
        while let Some(path) = queue.pop_front() {
            for next in graph.get(*path.last()?).into_iter().flatten() {
                let longer = [path.as_slice(), &[next]].concat();
                if next == start {
                    return Some(longer.into_iter().cloned().collect::<Vec<_>>());
                }
                if reached.insert(next) {
                    queue.push_back(longer);
                }
            }
        }
        None
    };
    graph.keys().filter_map(from_start).min_by_key(Vec::len)
}

/// The text before an inline module of tests, which is the last item of its file.
fn without_test_module(text: &str) -> &str {
    let inline = text.match_indices("#[cfg(test)]\nmod ");
    let mut inline = inline.filter(|(at, _)| {
        let declaration = text[*at..].lines().nth(1).unwrap_or_default();
        declaration.ends_with('{')
    });
    inline.next().map_or(text, |(at, _)| &text[..at])
}

/// The paths of `use` declarations, and those elsewhere that begin with `crate`, `self` or `super`.
fn paths(text: &str) -> Vec<ParsedPath> {
    let mut paths = Vec::new();
    let mut rest = text;
    let mut is_public = false;
    while let Some(start) = rest.find(|c: char| c.is_alphanumeric() || c == '_') {
        if rest[..start].contains([';', '{', '}']) {
            is_public = false;
        }
        rest = &rest[start..];
        let end = rest.find(|c: char| !(c.is_alphanumeric() || c == '_' || c == ':'));
        let (word, after) = rest.split_at(end.unwrap_or(rest.len()));
        rest = after;
        let (first, more) = word.split_once("::").unwrap_or((word, ""));
        match first {
            "pub" => is_public = true,
            "use" if rest.starts_with(char::is_whitespace) => {
                let (tree, after) = rest.split_once(';').unwrap_or((rest, ""));
                add_use_tree(&[], tree, is_public, &mut paths);
                rest = after;
                is_public = false;
            }
            "crate" | "self" | "super" if !more.is_empty() => paths.push(ParsedPath {
                names: word
                    .split("::")
                    .filter(|name| !name.is_empty())
                    .map(str::to_owned)
                    .collect(),
                is_reexport: false,
            }),
            _ => {}
        }
    }
    paths
}

/// Adds the paths of a `use` tree below a prefix. `paths` gets the names before an `as`.
fn add_use_tree(prefix: &[String], tree: &str, is_reexport: bool, paths: &mut Vec<ParsedPath>) {
    let (head, branches) = match tree.split_once('{') {
        Some((head, branches)) => (
            head,
            Some(branches.rsplit_once('}').map_or(branches, |(all, _)| all)),
        ),
        None => (tree.split(" as ").next().unwrap_or_default(), None),
    };
    let names = head.split("::").map(str::trim).filter(|name| !name.is_empty());
    let names: Names = prefix.iter().cloned().chain(names.map(str::to_owned)).collect();
    let Some(branches) = branches else {
        if !names.is_empty() {
            paths.push(ParsedPath { names, is_reexport });
        }
        return;
    };
    let (mut depth, mut start) = (0, 0);
    for (at, c) in branches.char_indices() {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 0 => {
                add_nonempty(&names, &branches[start..at], is_reexport, paths);
                start = at + 1;
            }
            _ => {}
        }
    }
    add_nonempty(&names, &branches[start..], is_reexport, paths);
}

/// [`add_use_tree`], unless the tree is the empty one after a trailing comma.
fn add_nonempty(prefix: &[String], tree: &str, is_reexport: bool, paths: &mut Vec<ParsedPath>) {
    if !tree.trim().is_empty() {
        add_use_tree(prefix, tree, is_reexport, paths);
    }
}
