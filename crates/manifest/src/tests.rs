use super::*;
use expect_test::{Expect, expect};
use proptest::prelude::*;
use stowplan_api::load::Object;
use stowplan_apimachinery::meta;

fn read(name: &str, text: &str) -> Input {
    let mut input = Input::default();
    input.read_text(name, text.as_bytes().to_vec());
    input
}

/// One line per object, per kind passed over and per error.
fn summary(input: &Input) -> String {
    let mut lines = Vec::new();
    for manifest in &input.manifests {
        let object = stowplan_schema::parse_any(&manifest.json).expect("JSON");
        let (namespace, name) = (meta::namespace(&object), meta::name(&object));
        let kind = manifest.resource.kind();
        lines.push(format!("{}: {kind} {namespace}/{name}", manifest.source));
    }
    for (kind, count) in &input.passed_over {
        lines.push(format!("passed over: {kind} {count}"));
    }
    for error in &input.errors {
        lines.push(format!("error: {error}"));
    }
    lines.join("\n") + "\n"
}

/// What is wrong with a text, or what is warned of.
fn check_prepared(name: &str, text: &str, expected: Expect) {
    let said = match prepare(read(name, text)) {
        Ok(prepared) => prepared.warnings,
        Err(errors) => errors.iter().map(|e| format!("error: {e}")).collect(),
    };
    expected.assert_eq(&(said.join("\n") + "\n"));
}

fn check(name: &str, text: &str, expected: Expect) {
    expected.assert_eq(&summary(&read(name, text)));
}

#[test]
fn documents_and_lists() {
    check(
        "a.yaml",
        "
# only a comment
---
apiVersion: v1
kind: Node
metadata: {name: n1}
---
apiVersion: v1
kind: List
items:
- apiVersion: v1
  kind: Pod
  metadata: {name: p, namespace: shop}
- apiVersion: v1
  kind: ConfigMap
  metadata: {name: c}
---
apiVersion: v1
kind: PodList
items:
- metadata: {name: q, namespace: shop}
",
        expect![[r#"
            a.yaml: document 1: Node /n1
            a.yaml: document 2: items[0]: Pod shop/p
            a.yaml: document 3: items[0]: Pod shop/q
            passed over: ConfigMap 1
        "#]],
    );
}

#[test]
fn json_documents() {
    check(
        "a.json",
        r#"{"apiVersion":"v1","kind":"Node","metadata":{"name":"n1"}}
        {"apiVersion":"v1","kind":"List","items":[
          {"apiVersion":"v1","kind":"Pod","metadata":{"name":"p","namespace":"shop"}},
          {"apiVersion":"v1","kind":"NodeList","items":[{"metadata":{"name":"n2"}}]}]}"#,
        expect![[r#"
            a.json: document 1: Node /n1
            a.json: document 2: items[0]: Pod shop/p
            a.json: document 2: items[0]: Node /n2
        "#]],
    );
}

#[test]
fn flow_mappings_are_yaml() {
    check(
        "stdin",
        "{apiVersion: v1, kind: Node, metadata: {name: n1}}\n---\n{\"apiVersion\":\"v1\",\"kind\":\"Node\",\"metadata\":{\"name\":\"n2\"}}\n",
        expect![[r#"
            stdin: document 1: Node /n1
            stdin: document 2: Node /n2
        "#]],
    );
}

#[test]
fn merge_keys_and_bare_quantities() {
    let input = read(
        "a.yaml",
        "
apiVersion: v1
kind: Pod
metadata: {name: p}
spec:
  containers:
  - &c
    name: a
    image: i
    resources: {requests: {cpu: 2, memory: 1.5}}
  - {<<: *c, name: b}
",
    );
    let prepared = prepare(input).unwrap_or_else(|errors| panic!("{errors:?}"));
    let Object::Pod(pod) = &prepared.objects[0].object else {
        panic!("a pod")
    };
    let containers = &pod.spec.as_ref().expect("a spec").containers;
    for (container, name) in containers.iter().zip(["a", "b"]) {
        assert_eq!(container.name, name);
        let requests = container
            .resources
            .as_ref()
            .and_then(|r| r.requests.as_ref());
        let texts: Vec<_> = requests
            .expect("requests")
            .values()
            .map(|q| q.0.as_str())
            .collect();
        assert_eq!(texts, ["2", "1500m"]);
    }
}

#[test]
fn broken_text_is_located() {
    check(
        "a.yaml",
        "apiVersion: v1\nkind: Node\nmetadata: {name: n1}\n---\nkind: Pod\n  metadata: x\n",
        expect![[r#"
            a.yaml: document 1: Node /n1
            error: a.yaml: document 2: yaml: line 6: mapping values are not allowed in this context
        "#]],
    );
    check(
        "a.yaml",
        "kind: Pod\nkind: Node\n",
        expect![[r#"
            error: a.yaml: document 1: yaml: unmarshal errors:
              line 2: key "kind" already set in map
        "#]],
    );
    check(
        "a.json",
        "{\"kind\": \"Node\",\n \"metadata\": }",
        expect![[r#"
            error: a.json: document 1: expected value at line 2 column 14
        "#]],
    );
    let mut input = Input::default();
    input.read_text("a.yaml", &b"a: b\nc: \xff\n"[..]);
    expect![[r#"
        error: a.yaml: line 2: not UTF-8 text
    "#]]
    .assert_eq(&summary(&input));
}

#[test]
fn wrong_fields_are_named() {
    check_prepared(
        "a.yaml",
        "
apiVersion: v1
kind: Pod
metadata: {name: p, namespace: shop}
spec:
  containers:
  - name: a
    ports: [{containerPort: 80}, {containerPort: http}]
---
apiVersion: v1
kind: Pod
metadata: {name: q, labels: {version: 1}}
---
apiVersion: v1
kind: Pod
metadata: {name: r}
spec: {nodeSelektor: {a: b}, containers: [{name: a, image: i, resource: {}}]}
",
        expect![[r#"
            error: a.yaml: document 1: Pod in version "v1" cannot be handled as a Pod: json: cannot unmarshal string into Go struct field ContainerPort.spec.containers.ports.containerPort of type int32
            error: a.yaml: document 2: Pod in version "v1" cannot be handled as a Pod: json: cannot unmarshal number into Go struct field ObjectMeta.metadata.labels of type string
        "#]],
    );
    check_prepared(
        "a.json",
        r#"{"apiVersion":"v1","kind":"List","items":[{"apiVersion":"v1","kind":"Pod",
           "metadata":{"name":"p"},"spec":{"priority":"high"}}]}"#,
        expect![[r#"
            error: a.json: document 1: items[0]: Pod in version "v1" cannot be handled as a Pod: json: cannot unmarshal string into Go struct field PodSpec.spec.priority of type int32
        "#]],
    );
}

#[test]
fn what_is_no_object_is_refused() {
    check(
        "a.yaml",
        "
kind: Pod
---
apiVersion: v1
---
apiVersion: 1
kind: Pod
---
- apiVersion: v1
---
just a text
---
apiVersion: v1
kind: List
items: {}
---
apiVersion: apps/v1
kind: Deploymen
",
        expect![[r#"
            error: a.yaml: document 1: apiVersion: missing, expected for example "v1"
            error: a.yaml: document 2: kind: missing, expected for example "Pod"
            error: a.yaml: document 3: apiVersion: a number, expected a text
            error: a.yaml: document 4: a list, expected an object
            error: a.yaml: document 5: a text, expected an object
            error: a.yaml: document 6: items: an object, expected a list
            error: a.yaml: document 7: kind: unknown kind "Deploymen" in apiVersion "apps/v1", did you mean Deployment (apps/v1)?
        "#]],
    );
}

#[test]
fn nothing_at_all_is_an_error() {
    let read = |text: &[u8]| Input::read(&["-"], &mut &text[..]);
    for text in ["", "---\n---\n", "# nothing\n"] {
        assert_eq!(
            summary(&read(text.as_bytes())),
            "error: no Kubernetes objects in stdin\n"
        );
    }
    let missing = Input::read(&["/does/not/exist.yaml"], &mut &b""[..]);
    assert_eq!(
        summary(&missing),
        "error: /does/not/exist.yaml: No such file or directory (os error 2)\n"
    );
}

const SEED: &str = r#"apiVersion: v1
kind: Pod
metadata: {name: p, namespace: shop, labels: {a: "1"}}
spec:
  containers:
  - name: a
    resources: {requests: {cpu: 100m, memory: 1Gi}}
  tolerations: [{key: gpu, operator: Exists}]
---
{"apiVersion": "v1", "kind": "List", "items": [{"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}, "status": {"allocatable": {"cpu": "4"}}}]}
"#;

proptest! {
    #[test]
    fn mutated_text_never_panics(
        edits in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>(), 0..3_u8), 1..8),
        json in any::<bool>(),
    ) {
        let mut bytes = SEED.as_bytes().to_vec();
        if json {
            let start = SEED.find("{\"api").expect("the JSON document");
            bytes.drain(..start);
        }
        for (at, byte, edit) in edits {
            let at = at.index(bytes.len());
            match edit {
                0 => bytes[at] = byte,
                1 => bytes.insert(at, byte),
                _ => { bytes.remove(at); }
            }
        }
        let mut input = Input::default();
        input.read_text(if json { "a.json" } else { "a.yaml" }, bytes);
        let _ = prepare(input);
    }
}
