//! Generates the tables of `crates/schema` with the Go program in `tools/xtask/schema`.

use anyhow::{Context, Result, bail};
use std::path::Path;
use std::process::Command;

/// Runs the generator. Needs Go; the modules come from the Go module proxy or the local cache.
pub fn generate() -> Result<()> {
    let root = crate::tidy::workspace();
    let folder = root.join("tools/xtask/schema");
    go(&folder, &["mod", "download"])?;
    let module = go(
        &folder,
        &["list", "-m", "-f", "{{.Dir}}", "k8s.io/kubernetes"],
    )?;
    let target = root.join("crates/schema");
    let target = target.to_str().context("the path is no text")?;
    print!("{}", go(&folder, &["run", ".", module.trim(), target])?);
    Ok(())
}

fn go(folder: &Path, arguments: &[&str]) -> Result<String> {
    let mut command = Command::new("go");
    command.args(arguments).current_dir(folder);
    let output = command.output().context("cannot run go")?;
    if !output.status.success() {
        let problem = String::from_utf8_lossy(&output.stderr);
        bail!("go {}: {problem}", arguments.join(" "));
    }
    Ok(String::from_utf8(output.stdout)?)
}
