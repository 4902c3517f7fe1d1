//! The 5xx answers that upstream gives too.

/// Status code, a part of the answer, and where upstream says so.
const KNOWN: &[(u16, &str, &str)] = &[
    (
        500,
        "resourceVersion should not be set on objects to be created",
        "storage/etcd3/store.go",
    ),
    (
        500,
        "content is not a list",
        "one custom resource as a list: handlers/response.go",
    ),
    (
        500,
        "strconv.ParseUint: parsing",
        "a resourceVersion that is no number: storage/api_object_versioner.go",
    ),
    (
        504,
        "Too large resource version",
        "a revision of the future: storage/cacher/watch_cache.go",
    ),
    (
        500,
        "failed to create typed patch object",
        "a patch that its schema does not allow: managedfields/internal/structuredmerge.go",
    ),
    (
        500,
        "does not contain declared merge key",
        "strategic merge of a list element without its key: strategicpatch/errors.go",
    ),
    (
        500,
        ", but received a",
        "strategic merge of a value of another type: mergepatch/errors.go",
    ),
    (
        500,
        "doesn't match $setElementOrder list",
        "strategic merge whose order leaves out an element: strategicpatch/patch.go",
    ),
    (
        500,
        "unknown patch type: ",
        "strategic merge with a `$patch` that is none: strategicpatch/patch.go",
    ),
    (
        500,
        "list element types are not identical",
        "strategic merge of lists of different things: mergepatch/errors.go",
    ),
    (
        500,
        "unable to find api field in struct",
        "strategic merge of a field that is none: third_party/forked/golang/json/fields.go",
    ),
    (
        500,
        "failed to convert new object",
        "an apply of a value of another type: managedfields/internal/structuredmerge.go",
    ),
    (
        500,
        "target.name: Required value",
        "a binding to nothing: pkg/registry/core/pod/storage/storage.go",
    ),
    (
        500,
        "target.kind: Unsupported value",
        "a binding to something else: pkg/registry/core/pod/storage/storage.go",
    ),
    (
        500,
        "unsupported role reference kind",
        "a binding to no role: pkg/registry/rbac/validation/rule.go",
    ),
    (
        500,
        " is not a map",
        "strategic merge of an element that is no map: strategicpatch/patch.go",
    ),
];

/// Why upstream would fail as well.
pub(super) fn reason(code: u16, answer: &str) -> Option<&'static str> {
    // YAML breaks long lines.
    let answer = answer.split_whitespace().collect::<Vec<_>>().join(" ");
    let same = |(known, part, _): &&(u16, &str, &str)| *known == code && answer.contains(part);
    KNOWN.iter().find(same).map(|(_, _, reason)| *reason)
}

#[cfg(test)]
mod tests {
    #[test]
    fn failures_are_known_in_json_and_in_yaml() {
        let json = r#"{"message":"x: strconv.ParseUint: parsing \"a\": invalid syntax"}"#;
        let yaml = "message: 'x: strconv.ParseUint:\n  parsing \"a\": invalid syntax'\n";
        for answer in [json, yaml] {
            assert!(super::reason(500, answer).is_some(), "{answer}");
            assert!(super::reason(503, answer).is_none(), "{answer}");
        }
    }
}
