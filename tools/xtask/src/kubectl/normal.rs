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

/// The same for clusters that live: names made up on the way, and what depends on chance.
static LIVING: LazyLock<Vec<(Regex, &str)>> = LazyLock::new(|| {
    const LETTERS: &str = "[bcdfghjklmnpqrstvwxz2456789]";
    [
        // How often something happened depends on how fast it went.
        (r"AGE \(x\d+ over AGE\)".to_owned(), "AGE"),
        // Pods of Deployments, of others, and ReplicaSets.
        (
            format!(r"-{LETTERS}{{7,10}}-{LETTERS}{{5}}\b"),
            "-HASH-SUFFIX",
        ),
        (format!(r"-{LETTERS}{{5}}\b"), "-SUFFIX"),
        (format!(r"-{LETTERS}{{7,10}}\b"), "-HASH"),
        (
            format!(r#"(template-hash|revision-hash)(: |=|":"| in \()"?{LETTERS}{{7,10}}\b"?"#),
            "$1${2}HASH",
        ),
        // In a column of its own.
        (format!(r"(?m)  {LETTERS}{{7,10}}$"), "  HASH"),
        // The minute that a CronJob launches for.
        (r"-\d{8}\b".to_owned(), "-MINUTE"),
        (r"\b10\.64\.\d+\.\d+\b".to_owned(), "POD-IP"),
        (r"\bnode-[a-z]-\d\b(/[\d.]+)?".to_owned(), "NODE"),
        (r"\b172\.18\.0\.\d+\b".to_owned(), "NODE-IP"),
        (
            r#"(topology\.kubernetes\.io/zone(=|: |":"| in \[)|Zone:  )[abc]\b"#.to_owned(),
            "${1}ZONE",
        ),
        (r"://[0-9a-f]{64}".to_owned(), "://DIGEST"),
        // Whether a node has an image already depends on who was there before.
        (
            r"(?m)^  Normal  (Pulling|Pulled)  AGE  kubelet  .*\n".to_owned(),
            "",
        ),
        (r"(NodePort:  \S+  )3[0-2]\d{3}\b".to_owned(), "${1}PORT"),
        // Of a time that is still to come.
        (r"\(lasts <invalid>\)".to_owned(), "(lasts AGE)"),
        // A watch that ended with its command.
        (
            r"(?m)^LOG reflector\.go.*context canceled.*\n".to_owned(),
            "",
        ),
    ]
    .map(|(pattern, with)| (Regex::new(&pattern).expect("a pattern"), with))
    .into()
});

/// Knows the folders of one side.
#[derive(Debug)]
pub(super) struct Normaliser {
    folders: [String; 2],
    is_living: bool,
}

impl Normaliser {
    pub(super) fn new(home: &Path, work: &Path) -> Self {
        let text = |path: &Path| path.to_string_lossy().into_owned();
        Self {
            folders: [text(home), text(work)],
            is_living: false,
        }
    }

    /// For a cluster with controllers, a scheduler and nodes.
    pub(super) fn living(self) -> Self {
        Self {
            is_living: true,
            ..self
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
        let out = sort_managed_fields(&out);
        if !self.is_living {
            return out;
        }
        let rules = LIVING.iter();
        let out = rules.fold(out, |out, (pattern, with)| {
            pattern.replace_all(&out, *with).into_owned()
        });
        sort_events(&out)
    }
}

/// Puts the events at the end of a description in the order of their text, each once: who of
/// several was first, and whether an event was counted or written again, depends on the moment.
fn sort_events(text: &str) -> String {
    let mut out = String::new();
    let mut lines = text.split_inclusive('\n').peekable();
    while let Some(line) = lines.next() {
        out.push_str(line);
        if line != "Events:\n" {
            continue;
        }
        let mut events = Vec::new();
        while let Some(line) = lines.next_if(|line| line.starts_with("  ")) {
            events.push(line);
        }
        // The head and the rule below it.
        let from = events.len().min(2);
        events[from..].sort_unstable();
        events.dedup();
        out.extend(events);
    }
    out
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
    fn what_is_made_up_in_a_living_cluster_is_taken_out() {
        let normaliser = Normaliser::new(Path::new("/a/home"), Path::new("/a/work")).living();
        let check = |text: &str, expected: &str| assert_eq!(normaliser.apply(text), expected);
        check("pod/web-7957885594-bqxjx", "pod/web-HASH-SUFFIX");
        check("replicaset.apps/web-795788559", "replicaset.apps/web-HASH");
        check("pod/agent-x7k2p deleted", "pod/agent-SUFFIX deleted");
        check(
            "pod-template-hash=795788559,a=b",
            "pod-template-hash=HASH,a=b",
        );
        check("hello-29384756-x7k2p", "hello-MINUTE-SUFFIX");
        check("10.64.0.2   node-a-1", "POD-IP  NODE");
        check("web-0 and web-pod-pending", "web-0 and web-pod-pending");
        let events = "Events:\n  Type  Reason\n  ----  ----\n  B  b\n  A  a\n  B  b\nend\n";
        let sorted = "Events:\n  Type  Reason\n  ----  ----\n  A  a\n  B  b\nend\n";
        check(events, sorted);
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
