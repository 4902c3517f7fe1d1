//! Broken input: a clear message with file and document, never a panic.

use crate::{stowplan, stowplan_on, temporary};
use expect_test::{Expect, expect};

/// Input on which `simulate` gives up.
fn check(input: impl AsRef<[u8]>, expected: Expect) {
    let run = stowplan_on("simulate -f -", input);
    expected.assert_eq(&run.stderr);
    assert_eq!((run.stdout.as_str(), run.status), ("", 1));
}

#[test]
fn broken_yaml() {
    check(
        "apiVersion: v1\nkind: Node\n---\nkind: [Pod\nmetadata: {}\n",
        expect![[r#"
            error: stdin: document 1: Node "" is invalid: metadata.name: Required value: name or generateName is required
            error: stdin: document 2: yaml: line 4: did not find expected ',' or ']'
        "#]],
    );
}

#[test]
fn broken_json() {
    check(
        "{\"apiVersion\": \"v1\", \"kind\": \"Pod\", }",
        expect![[r#"
            error: stdin: document 1: Pod "" is invalid: [metadata.name: Required value: name or generateName is required, spec.containers: Required value]
        "#]],
    );
    check(
        b"\xff\xfe{",
        expect![[r#"
        error: stdin: line 1: not UTF-8 text
    "#]],
    );
}

#[test]
fn unknown_kinds() {
    check(
        "{apiVersion: v1, kind: Pods}\n---\n{kind: Pod}\n---\n{apiVersion: apps/v1, kind: Pod}",
        expect![[r#"
            error: stdin: document 1: kind: unknown kind "Pods" in apiVersion "v1", did you mean Pod (v1)?
            error: stdin: document 2: apiVersion: missing, expected for example "v1"
            error: stdin: document 3: kind: unknown kind "Pod" in apiVersion "apps/v1", expected apiVersion "v1" for it
        "#]],
    );
}

#[test]
fn malformed_quantities() {
    check(
        "
{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {containers: [{name: a, image: i, resources: {requests: {cpu: -1, memory: 1GB}}}]}}
---
{apiVersion: v1, kind: Node, metadata: {name: n1}, status: {allocatable: {cpu: many}}}
",
        expect![[r#"
            error: stdin: document 1: Pod in version "v1" cannot be handled as a Pod: quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'
            error: stdin: document 2: Node in version "v1" cannot be handled as a Node: quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'
        "#]],
    );
}

#[test]
fn duplicate_names() {
    let pod = "{apiVersion: v1, kind: Pod, metadata: {name: p, namespace: shop}, spec: {containers: [{name: a, image: i}]}}";
    check(
        format!("{pod}\n---\n{pod}\n"),
        expect![[r#"
        error: stdin: document 2: Pod shop/p: already defined in stdin: document 1
    "#]],
    );
}

#[test]
fn empty_input() {
    check(
        "",
        expect![[r#"
        error: no Kubernetes objects in stdin
    "#]],
    );
    check(
        "---\n# nothing\n---\n",
        expect![[r#"
        error: no Kubernetes objects in stdin
    "#]],
    );
}

#[test]
fn missing_files() {
    let run = stowplan("simulate -f does-not-exist.yaml");
    expect![[r#"
        error: does-not-exist.yaml: No such file or directory (os error 2)
        exit status 1
    "#]]
    .assert_eq(&run.all());
    let run = stowplan("simulate -f examples/cluster --config does-not-exist.yaml");
    expect![[r#"
        error: does-not-exist.yaml: No such file or directory (os error 2)
        exit status 1
    "#]]
    .assert_eq(&run.all());
}

#[test]
fn many_errors_are_cut_short() {
    let pods: Vec<String> = (0..50)
        .map(|i| format!("{{apiVersion: v1, kind: Pod, metadata: {{name: p{i}}}}}"))
        .collect();
    let run = stowplan_on("simulate -f -", pods.join("\n---\n"));
    assert_eq!(run.stderr.lines().count(), 21);
    assert!(
        run.stderr.ends_with("error: and 30 more\n"),
        "{}",
        run.stderr
    );
}

#[test]
fn a_scheduler_configuration_is_no_cluster() {
    check(
        "{apiVersion: kubescheduler.config.k8s.io/v1, kind: KubeSchedulerConfiguration}",
        expect![[r#"
            error: stdin: document 1: kind: KubeSchedulerConfiguration is no cluster object, give it with --config
        "#]],
    );
}

#[test]
fn pods_on_missing_nodes_and_no_nodes_at_all() {
    let input = "
{apiVersion: v1, kind: Pod, metadata: {name: bound}, spec: {nodeName: gone, containers: [{name: a, image: i}]}}
---
{apiVersion: v1, kind: Pod, metadata: {name: pending}, spec: {containers: [{name: a, image: i}]}}
";
    expect![[r#"
        warning: 1 pod is bound to a node that is not there, and left out: Pod default/bound on gone (stdin: document 1)
        warning: there are no nodes in the input, so nothing can be placed
        PENDING
        default/pending
          no nodes available to schedule pods

        0 pods placed, 1 pending on 0 nodes
        exit status 3
    "#]].assert_eq(&stowplan_on("simulate -f -", input).all());
    expect![[r#"
        warning: 1 pod is bound to a node that is not there, and left out: Pod default/bound on gone (stdin: document 1)
        warning: there are no nodes in the input, so nothing can be placed
        default/pending  pending
        priority 0, asks for nothing

        fits nowhere
          no nodes available to schedule pods

        WHAT WOULD MAKE IT FIT
        no single change that is known
        exit status 3
    "#]].assert_eq(&stowplan_on("explain pending -f -", input).all());
}

#[test]
fn control_characters_do_not_reach_the_terminal() {
    let node =
        |name: &str| format!("{{apiVersion: v1, kind: Node, metadata: {{name: \"{name}\"}}}}");
    let input = [node("a\\e[31mb\\nc\\x9b"), node("\\u202egnp")].join("\n---\n");
    let run = stowplan_on("simulate -f - --color always", input);
    assert_eq!(run.status, 1);
    let errors = run.stderr.replace("\u{1b}[31merror:\u{1b}[0m", "error:");
    let shown = |c: char| c == '\n' || !(c.is_control() || c == '\u{202e}');
    assert!(errors.chars().all(shown), "{errors:?}");
    let starts: Vec<&str> = errors
        .lines()
        .filter_map(|line| line.split(": ").nth(3))
        .collect();
    assert_eq!(
        starts,
        [
            r#"Node "a\x1b[31mb\nc\u009b" is invalid"#,
            r#"Node "\u202egnp" is invalid"#
        ]
    );
}

#[test]
fn many_unknown_fields_are_cut_short() {
    let fields = |count: usize| {
        let fields: Vec<String> = (0..count).map(|i| format!("f{i:02}: 1")).collect();
        let spec = fields.join(", ");
        format!(
            "{{apiVersion: v1, kind: Node, metadata: {{name: n1}}, spec: {{{spec}}}, status: {{allocatable: {{pods: 1}}}}}}"
        )
    };
    let warnings = |count: usize| stowplan_on("simulate -f -", fields(count)).stderr;
    assert_eq!(warnings(10).lines().count(), 10);
    // Decoding tells a hundred of one object.
    let many = warnings(500);
    assert_eq!(many.lines().count(), 11);
    assert!(
        many.ends_with("warning: and 90 more fields that do not exist\n"),
        "{many}"
    );
}

#[cfg(unix)]
#[test]
fn a_pipe_in_a_folder_is_not_waited_for() {
    let folder = temporary("");
    std::fs::create_dir(&folder).expect("a folder");
    let pipe = folder.join("pipe.yaml");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status();
    assert!(made.expect("mkfifo").success());
    let folder = folder.to_str().expect("UTF-8");
    let run = stowplan(&format!("simulate -f {folder}"));
    std::fs::remove_dir_all(folder).expect("it was there");
    assert_eq!(run.status, 1);
    expect![[r#"
        error: FOLDER/pipe.yaml: not a regular file; if it is to be read, name it itself
    "#]]
    .assert_eq(&run.stderr.replace(folder, "FOLDER"));
}
