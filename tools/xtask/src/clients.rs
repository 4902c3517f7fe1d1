//! `cargo xtask clients`: the Python client and client-go against `stowplan up`.

use crate::kubernetes::{Stowplan, cache};
use anyhow::{Context, Result, bail};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Runs the suites of both clients, each against a server of its own.
pub fn run() -> Result<()> {
    let e2e = crate::tidy::workspace().join("e2e");
    let binary = Stowplan::build()?;
    let folder = std::env::temp_dir().join(format!("stowplan-clients-{}", std::process::id()));

    let server = Stowplan::start(&binary, &folder.join("go"), &[])?;
    let mut go = Command::new("go");
    // As in the build of Kubernetes, so that what was compiled there is used again.
    go.args(["test", "-count=1", "."]).env("CGO_ENABLED", "0");
    go.current_dir(e2e.join("client-go"));
    go.env("KUBECONFIG", server.kubeconfig());
    check(&mut go, "client-go", "install Go 1.26 or newer")?;
    drop(server);

    let python = python(&e2e.join("python"))?;
    let server = Stowplan::start(&binary, &folder.join("python"), &[])?;
    let mut suite = Command::new(python);
    suite.arg(e2e.join("python/check.py"));
    suite.env("KUBECONFIG", server.kubeconfig());
    check(&mut suite, "the Python client", "")?;
    drop(server);
    std::fs::remove_dir_all(&folder).context("cannot clean up")
}

fn check(command: &mut Command, what: &str, advice: &str) -> Result<()> {
    let program = command.get_program().to_string_lossy().into_owned();
    let status = command
        .status()
        .with_context(|| format!("cannot run {program}: {advice}"))?;
    if !status.success() {
        bail!("{what} failed");
    }
    println!("{what} passed");
    Ok(())
}

/// The Python of an environment in the cache with what `requirements.txt` names.
fn python(folder: &Path) -> Result<PathBuf> {
    let requirements = folder.join("requirements.txt");
    let text = std::fs::read_to_string(&requirements)?;
    let name: Vec<_> = text.split_whitespace().collect();
    let home = cache()?.join("python").join(name.join(","));
    let done = home.join("complete");
    let python = home.join("bin/python");
    if done.exists() {
        return Ok(python);
    }
    let mut make = Command::new("python3");
    make.args(["-m", "venv", "--clear"]).arg(&home);
    check(
        &mut make,
        "python3 -m venv",
        "install Python 3 with its venv module",
    )?;
    let mut install = Command::new(&python);
    install.args(["-m", "pip", "install", "--quiet", "--requirement"]);
    check(install.arg(&requirements), "pip install", "")?;
    std::fs::write(&done, "")?;
    Ok(python)
}
