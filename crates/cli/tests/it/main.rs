//! The command line from outside: arguments in, text and exit status out.

mod bench;
mod broken;
mod drain;
mod explain;
mod packing;
mod scheduler;
mod simulate;
mod up;

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};

/// What a run of the binary came to.
struct Run {
    stdout: String,
    stderr: String,
    status: i32,
}

impl Run {
    /// Everything in one text, for golden files.
    fn all(&self) -> String {
        format!(
            "{}{}exit status {}\n",
            self.stderr, self.stdout, self.status
        )
    }
}

/// Runs `stowplan` from the root of the repository, on a terminal of 80 columns.
fn stowplan(args: &str) -> Run {
    stowplan_on(args, "")
}

/// Runs `stowplan` with something on standard input.
fn stowplan_on(args: &str, stdin: impl AsRef<[u8]>) -> Run {
    stowplan_at("80", args, stdin)
}

/// Runs `stowplan` on a terminal of so many columns.
fn stowplan_at(columns: &str, args: &str, stdin: impl AsRef<[u8]>) -> Run {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut child = Command::new(env!("CARGO_BIN_EXE_stowplan"))
        .args(args.split_whitespace())
        .current_dir(root)
        .env("COLUMNS", columns)
        .env_remove("NO_COLOR")
        .env_remove("CLICOLOR_FORCE")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary starts");
    let mut pipe = child.stdin.take().expect("a pipe");
    // A run that does not read its input may be over before all of it is written.
    let _ = pipe.write_all(stdin.as_ref());
    drop(pipe);
    let output = child.wait_with_output().expect("the binary ends");
    Run {
        stdout: String::from_utf8(output.stdout).expect("UTF-8"),
        stderr: String::from_utf8(output.stderr).expect("UTF-8"),
        status: output.status.code().expect("it is not killed"),
    }
}

const NODES: &str = "
{apiVersion: v1, kind: Node, metadata: {name: n1}, status: {allocatable: {cpu: 2, memory: 4Gi, pods: 10}}}
---
{apiVersion: v1, kind: Node, metadata: {name: n2}, status: {allocatable: {cpu: 2, memory: 4Gi, pods: 10}}}
---
";

fn pod(name: &str, spec: &str) -> String {
    format!(
        "{{apiVersion: v1, kind: Pod, metadata: {{name: {name}}}, spec: {{containers: [{{name: a, image: i, resources: {{requests: {{cpu: 1500m}}}}}}]{spec}}}}}\n---\n"
    )
}

/// A path of its own for the test that runs.
fn temporary(name: &str) -> std::path::PathBuf {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let process = std::process::id();
    std::env::temp_dir().join(format!("stowplan-test-{process}-{number}{name}"))
}

/// Lets `work` use a file with this text.
fn with_file(text: &str, work: impl FnOnce(&str)) {
    let file = temporary(".yaml");
    std::fs::write(&file, text).expect("a file");
    work(file.to_str().expect("UTF-8"));
    std::fs::remove_file(&file).expect("it was there");
}

#[test]
fn help_has_examples_and_exit_statuses() {
    for command in ["", "simulate", "explain", "drain", "bench"] {
        let run = stowplan(&format!("{command} --help"));
        assert_eq!(run.status, 0);
        assert!(run.stdout.contains("Examples:"), "{}", run.stdout);
        assert!(run.stdout.contains("Exit status:"), "{}", run.stdout);
        assert!(
            run.stdout.lines().all(|line| line.chars().count() <= 80),
            "{}",
            run.stdout
        );
    }
}

#[test]
fn completions_for_every_shell() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let run = stowplan(&format!("completions {shell}"));
        assert_eq!(run.status, 0);
        assert!(run.stdout.contains("simulate"), "{shell}");
    }
}

#[test]
fn a_wrong_command_line_is_status_2() {
    for args in [
        "",
        "place",
        "simulate",
        "explain",
        "explain -f examples/cluster",
        "simulate -f x -o csv",
        "drain",
        "drain n1 -l a=b",
        "drain n1 -f examples/cluster",
        "drain n1 --startup 10s",
        "drain n1 --pod-selector ==",
    ] {
        assert_eq!(stowplan(args).status, 2, "{args}");
    }
}
