//! Checks on the sources themselves.

use super::map::{Map, Purity};
use anyhow::{Context, Result};
use std::fs;
use std::path::{Path, PathBuf};

/// Words that must not occur in the code of pure crates, and why.
const IMPURE: &[(&str, &str)] = &[
    ("async fn", "no async"),
    (".await", "no async"),
    ("Instant::", "time comes in as an argument"),
    ("SystemTime", "time comes in as an argument"),
    ("println!", "no output"),
    ("eprintln!", "no output"),
    ("dbg!", "no output"),
    ("log::", "no logging"),
    ("tracing::", "no logging"),
    ("std::env", "no environment"),
    ("std::fs", "no I/O"),
    ("TcpStream", "no I/O"),
    ("UdpSocket", "no I/O"),
    ("thread::spawn", "no threads"),
    ("rand::", "randomness comes in as an argument"),
];

/// What besides must not occur where there are values and containers only.
const IMPURE_CORE: &[(&str, &str)] = &[
    ("serde", "core types are not serialisable"),
    ("HashMap", "no hash-order iteration: use BTreeMap or Lookup"),
    ("HashSet", "no hash-order iteration: use BTreeSet or Lookup"),
    ("std::io", "no I/O"),
    ("std::net", "no I/O"),
    ("std::thread", "one thread owns the engine"),
];

const NOTHING: &[(&str, &str)] = &[];

/// The one place that may build on a hash map: it offers no way to walk it.
const LOOKUP: &str = "crates/base/src/lookup.rs";

/// Words that must not occur in any source.
const LEFTOVERS: &[&str] = &["todo!(", "unimplemented!(", "FIXME", "XXX", "#[ignore"];

const LINES_MAX: usize = 800;

/// What the root of a pure crate has to say; `clippy.toml` lists the methods.
const LINT: &str = "deny(clippy::disallowed_methods";

/// Everything that is not tidy in the sources.
pub(super) fn problems(root: &Path, map: &Map) -> Result<Vec<String>> {
    let mut files = Vec::new();
    for folder in ["crates", "tools"] {
        collect(&root.join(folder), &mut files)?;
    }
    files.sort();
    let mut problems = Vec::new();
    for file in files {
        let name = file
            .strip_prefix(root)?
            .to_string_lossy()
            .replace('\\', "/");
        let text = fs::read_to_string(&file).with_context(|| name.clone())?;
        check(&name, &text, map.purity(&name), &mut problems);
    }
    Ok(problems)
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> Result<()> {
    for entry in fs::read_dir(folder).with_context(|| folder.display().to_string())? {
        let path = entry?.path();
        if path.is_dir() && path.file_name().is_some_and(|name| name != "target") {
            collect(&path, files)?;
        } else if path.extension().is_some_and(|ext| ext == "rs") {
            files.push(path);
        }
    }
    Ok(())
}

fn check(name: &str, text: &str, purity: Purity, problems: &mut Vec<String>) {
    let lines = text.lines().count();
    if lines > LINES_MAX {
        problems.push(format!(
            "{name}: {lines} lines, more than {LINES_MAX}: split it"
        ));
    }
    if purity != Purity::None && name.ends_with("/src/lib.rs") && !text.contains(LINT) {
        problems.push(format!("{name}: a pure crate has #![{LINT})]"));
    }
    let (impure, impure_core) = match purity {
        Purity::Core if name != LOOKUP => (IMPURE, IMPURE_CORE),
        Purity::Json => (IMPURE, NOTHING),
        _ => (NOTHING, NOTHING),
    };
    let impure = || impure.iter().chain(impure_core);
    // This file has to name what it forbids.
    let lists_them = name == "tools/xtask/src/tidy/sources.rs";
    for (i, line) in text.lines().enumerate() {
        let at = i + 1;
        let code = line.split("//").next().unwrap_or_default();
        for (word, why) in impure().filter(|(word, _)| mentions(code, word)) {
            problems.push(format!("{name}:{at}: {word:?} in a pure crate: {why}"));
        }
        for word in LEFTOVERS
            .iter()
            .filter(|word| !lists_them && line.contains(**word))
        {
            problems.push(format!("{name}:{at}: {word} is left over"));
        }
    }
}

/// Whether a word occurs, and not only as the end of a longer name.
fn mentions(code: &str, word: &str) -> bool {
    let goes_on = |c: char| c.is_alphanumeric() || c == '_';
    let part_of_name = word.starts_with(goes_on);
    code.match_indices(word)
        .any(|(at, _)| !(part_of_name && code[..at].ends_with(goes_on)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(name: &str, purity: Purity, text: &str) -> Vec<String> {
        let mut problems = Vec::new();
        check(name, text, purity, &mut problems);
        problems
    }

    #[test]
    fn a_pure_crate_denies_the_methods_that_clippy_knows() {
        let root = |purity, text| found("crates/kinds/src/lib.rs", purity, text).len();
        assert_eq!(root(Purity::Json, "//! Kinds."), 1);
        let denied = "#![deny(clippy::disallowed_methods)]";
        assert_eq!(root(Purity::Json, denied), 0);
        assert_eq!(root(Purity::None, "//! Kinds."), 0);
    }

    #[test]
    fn impure_words_are_found_in_code_only() {
        let core = |text| found("crates/engine/src/a.rs", Purity::Core, text).len();
        assert_eq!(core("let m = HashMap::new();"), 1);
        assert_eq!(core("// no HashMap here"), 0);
        assert_eq!(core("use log::info;"), 1);
        assert_eq!(core("use change_log::Delta;"), 0);
        let json = |text| found("crates/kinds/src/a.rs", Purity::Json, text).len();
        assert_eq!(json("let m = HashMap::new();"), 0);
        assert_eq!(json("let now = Instant::now();"), 1);
        assert!(found("crates/cli/src/a.rs", Purity::None, "Instant::now()").is_empty());
        assert!(found(LOOKUP, Purity::Core, "use std::collections::HashMap;").is_empty());
    }

    #[test]
    fn leftovers_and_long_files_are_found() {
        let cli = |text: &str| found("crates/cli/src/a.rs", Purity::None, text).len();
        assert_eq!(cli("todo!()"), 1);
        assert_eq!(cli(&"\n".repeat(LINES_MAX + 1)), 1);
    }
}
