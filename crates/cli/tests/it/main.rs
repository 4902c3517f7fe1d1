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
    for shell in ["bash", "zsh", "fish", "elvish", "powershell", "nushell"] {
        let run = stowplan(&format!("completions {shell}"));
        assert_eq!(run.status, 0);
        for command in ["simulate", "demo", "version"] {
            assert!(run.stdout.contains(command), "{shell}");
        }
    }
}

#[test]
fn every_command_has_its_man_page() {
    let folder = temporary("-man");
    let run = stowplan(&format!("man {}", folder.display()));
    assert_eq!((run.status, &*run.stderr), (0, ""));
    let page = |name: &str| {
        let page = std::fs::read_to_string(folder.join(name));
        page.unwrap_or_else(|error| panic!("{name}: {error}"))
    };
    let help = stowplan("help").stdout;
    let commands = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    let commands = commands.take_while(|line| !line.is_empty());
    let commands: Vec<&str> = commands
        .filter(|line| line.starts_with("  ") && !line.starts_with("   "))
        .filter_map(|line| line.split_whitespace().next())
        .filter(|command| *command != "help")
        .collect();
    assert!(commands.len() > 10, "{commands:?}");
    for command in commands {
        let page = page(&format!("stowplan-{command}.1"));
        let title = format!(".TH stowplan-{command} 1");
        assert!(page.contains(&title), "{command}: {page}");
    }
    assert!(page("stowplan.1").contains("stowplan\\-up(1)"));
    assert!(page("stowplan-up.1").contains("\\-\\-demo"));
    assert!(page("stowplan-bench-server.1").contains("API server"));
    std::fs::remove_dir_all(folder).expect("it was there");
}

#[test]
fn the_version_is_told_to_people_and_machines() {
    let run = stowplan("version");
    assert!(
        run.stdout.ends_with("equals Kubernetes v1.36.4\n"),
        "{}",
        run.stdout
    );
    let json: serde_json::Value =
        serde_json::from_str(&stowplan("version -o json").stdout).expect("JSON");
    let yaml = serde_yaml_ng::from_str::<serde_json::Value>(&stowplan("version -o yaml").stdout);
    assert_eq!(json, yaml.expect("YAML"));
    assert_eq!(json["version"], env!("CARGO_PKG_VERSION"));
    assert_eq!(json["kubernetesVersion"], "v1.36.4");
}

#[test]
fn nothing_is_coloured_where_nobody_wants_it() {
    let coloured = |args: &str| stowplan(args).stdout.contains('\u{1b}');
    let simulate = "simulate -f examples/cluster";
    // A pipe gets no colours, unless somebody says so.
    assert!(!coloured(simulate));
    assert!(coloured(&format!("--color always {simulate}")));
    assert!(!coloured(&format!("--color never {simulate}")));
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
