//! Takes out of the output what differs between any two servers.

use regex::Regex;
use std::path::Path;
use std::sync::LazyLock;

/// Patterns and what stands for them, applied in this order.
static RULES: LazyLock<Vec<(Regex, &str)>> = LazyLock::new(|| {
    [
        (r"https://127\.0\.0\.1:\d+", "https://SERVER"),
        (r"127\.0\.0\.1:\d+", "SERVER"),
        (r"eyJ[\w-]+\.[\w-]+\.[\w-]+", "TOKEN"),
        (r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", "UID"),
        (
            r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)",
            "TIME",
        ),
        (
            r"[A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d [+-]\d{4}",
            "TIME",
        ),
        (r#"(resourceVersion"?: ?"?)\d+"#, "${1}REVISION"),
        (r"(Resource Version: +)\d+", "${1}REVISION"),
        (r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d [+-]\d{4} UTC", "TIME"),
        (r"[IWE]\d{4} \d\d:\d\d:\d\d\.\d+ +\d+ ", "LOG "),
        // A client that had no more patience with a busy machine.
        (r"(?m)^LOG request\.go.*\n", ""),
        // A watch that ended with its command, within its first second.
        (r"(?m)^LOG reflector\.go.*very short watch.*\n", ""),
        (r#"(resource version |rv=)"?\d+"#, "${1}REVISION"),
        // Ages, but no quantities: nothing here is ten minutes old.
        (r"\b\d+(m\d+)?s\b( ago)?", "AGE"),
        (r"(?m)(  )[1-9]m(  |$)", "${1}AGE${2}"),
        (r"\b10\.0\.0\.\d+\b", "ADDRESS"),
        (
            r#"(nodePort"?: |NodePort: +\w* +|:)3[0-2]\d{3}\b"#,
            "${1}PORT",
        ),
        (r"\.[0-9a-f]{16}\b", ".HASH"),
        (r"kube-api-access-[a-z0-9]{5}", "kube-api-access-SUFFIX"),
        // Columns are as wide as what stands in them.
        (r"(?m)(\S) {2,}", "$1  "),
        (r"(?m) +$", ""),
    ]
    .map(|(pattern, with)| (Regex::new(pattern).expect("a pattern"), with))
    .into()
});

/// Knows the folders of one side.
#[derive(Debug)]
pub(super) struct Normaliser {
    folders: [String; 2],
}

impl Normaliser {
    pub(super) fn new(home: &Path, work: &Path) -> Self {
        let text = |path: &Path| path.to_string_lossy().into_owned();
        Self {
            folders: [text(home), text(work)],
        }
    }

    pub(super) fn apply(&self, text: &str) -> String {
        let mut out = text.to_owned();
        for (folder, with) in self.folders.iter().zip(["HOME", "WORK"]) {
            out = out.replace(folder, with);
        }
        for (pattern, with) in RULES.iter() {
            out = pattern.replace_all(&out, *with).into_owned();
        }
        sort_managed_fields(&out)
    }
}

/// Puts the entries of `managedFields` in YAML in the order of their text. Servers order them by the
/// second in which they were made, so that it depends on the moment.
fn sort_managed_fields(text: &str) -> String {
    let mut out = String::new();
    let mut lines = text.split_inclusive('\n').peekable();
    while let Some(line) = lines.next() {
        out.push_str(line);
        let Some(indent) = line.strip_suffix("managedFields:\n") else {
            continue;
        };
        let (first, further) = (format!("{indent}- "), format!("{indent}  "));
        let mut entries: Vec<String> = Vec::new();
        while let Some(line) =
            lines.next_if(|line| line.starts_with(&first) || line.starts_with(&further))
        {
            match entries.last_mut() {
                Some(entry) if line.starts_with(&further) => entry.push_str(line),
                _ => entries.push(line.to_owned()),
            }
        }
        entries.sort();
        out.extend(entries);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_must_differ_is_taken_out_and_nothing_else() {
        let normaliser = Normaliser::new(Path::new("/a/home"), Path::new("/a/work"));
        let check = |text: &str, expected: &str| assert_eq!(normaliser.apply(text), expected);
        check("/a/work/x.yaml", "WORK/x.yaml");
        check("server: https://127.0.0.1:4711", "server: https://SERVER");
        check(
            "  resourceVersion: \"12\"",
            "  resourceVersion: \"REVISION\"",
        );
        check(
            "\"resourceVersion\":\"12\"",
            "\"resourceVersion\":\"REVISION\"",
        );
        check("at 2026-01-02T03:04:05Z", "at TIME");
        check("n1    Ready   12s", "n1  Ready  AGE");
        check("n1  Ready  2m5s", "n1  Ready  AGE");
        check("n1  Ready  5m  <none>", "n1  Ready  AGE  <none>");
        check("cpu: 100m, memory: 4Gi", "cpu: 100m, memory: 4Gi");
        check("nodePort: 30123", "nodePort: PORT");
        check("80:31999/TCP", "80:PORT/TCP");
        check("10.0.0.17", "ADDRESS");
        let short = "W0102 03:04:05.6 12 reflector.go:664] \"x\" err=\"very short watch: y\"\n";
        check(&format!("{short}gone"), "gone");
    }

    #[test]
    fn managed_fields_have_one_order() {
        let entry = |manager: &str| {
            format!("  - apiVersion: v1\n    fieldsV1:\n      f:a: {{}}\n    manager: {manager}\n")
        };
        let text = |first: &str, second: &str| {
            let entries = entry(first) + &entry(second);
            format!("metadata:\n  managedFields:\n{entries}  name: x\nspec: {{}}\n")
        };
        assert_eq!(sort_managed_fields(&text("b", "a")), text("a", "b"));
        assert_eq!(
            sort_managed_fields("managedFields: []"),
            "managedFields: []"
        );
    }
}
