//! Builds the real Kubernetes that Stowplan is compared with, once per machine and version.
//!
//! The programs come from the Go module proxy (`e2e/kubernetes/go.mod`) and are kept in the user's
//! cache folder, because a cold build takes about ten minutes on two cores.

use anyhow::{Context, Result, bail};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The version that the whole project is measured by.
pub const VERSION: &str = "v1.36.4";

/// KWOK, which plays kubelets.
const KWOK: &str = "v0.8.0";

const PACKAGES: &[&str] = &[
    "k8s.io/kubernetes/cmd/kube-apiserver",
    "k8s.io/kubernetes/cmd/kube-controller-manager",
    "k8s.io/kubernetes/cmd/kube-scheduler",
    "k8s.io/kubernetes/cmd/kubectl",
];

/// The folder with the programs, built if they are not there yet.
pub fn build() -> Result<PathBuf> {
    let folder = cache()?.join("kubernetes").join(VERSION);
    if folder.join("etcd").exists() {
        return Ok(folder);
    }
    // Built beside its place and moved there when all of it is done: a broken build is not found.
    let part = folder.with_extension("part");
    std::fs::create_dir_all(&part).with_context(|| format!("cannot make {}", part.display()))?;
    eprintln!("building Kubernetes {VERSION} and etcd: about ten minutes, once");
    let number = VERSION.trim_start_matches('v');
    let mut parts = number.split('.');
    let (major, minor) = (parts.next(), parts.next());
    let variable =
        |name: &str, value: &str| format!("-X k8s.io/component-base/version.{name}={value}");
    let flags = [
        variable("gitVersion", VERSION),
        variable("gitMajor", major.unwrap_or_default()),
        variable("gitMinor", minor.unwrap_or_default()),
    ]
    .join(" ");
    // One after the other: together they want more memory than a small machine has.
    for package in PACKAGES {
        go_build(&["-ldflags", &flags], &part, "", package)?;
    }
    go_build(&[], &part, "etcd", "go.etcd.io/etcd/server/v3")?;
    std::fs::rename(&part, &folder)
        .with_context(|| format!("cannot move {} into place", part.display()))?;
    Ok(folder)
}

/// Kubernetes' own specs as a program, built if it is not there yet.
pub fn build_specs() -> Result<PathBuf> {
    let source = crate::tidy::workspace().join("e2e/kubernetes/specs/specs_test.go");
    let text = std::fs::read(&source).with_context(|| format!("no {}", source.display()))?;
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    // Ginkgo knows a built suite by the end of its name.
    let name = format!("{VERSION}-{:x}.test", hasher.finish());
    let folder = cache()?.join("specs");
    let program = folder.join(&name);
    if program.exists() {
        return Ok(program);
    }
    eprintln!("building the specs of Kubernetes {VERSION}: about ten minutes, once");
    let part = folder.join(format!("{name}.part"));
    let mut command = go("test");
    command.arg("-c").arg("-o").arg(&part).arg("./specs");
    check(&mut command, "the specs")?;
    std::fs::rename(&part, &program)
        .with_context(|| format!("cannot move {} into place", part.display()))?;
    Ok(program)
}

/// Ginkgo, which runs specs side by side; built if it is not there yet.
pub fn build_ginkgo() -> Result<PathBuf> {
    let folder = cache()?.join("ginkgo").join(VERSION);
    let program = folder.join("ginkgo");
    if !program.exists() {
        // Its version is that of the specs.
        go_build(&[], &folder, "ginkgo", "github.com/onsi/ginkgo/v2/ginkgo")?;
    }
    Ok(program)
}

/// KWOK, which plays kubelets; built if it is not there yet.
pub fn build_kwok() -> Result<PathBuf> {
    let folder = cache()?.join("kwok").join(KWOK);
    let program = folder.join("kwok");
    if !program.exists() {
        eprintln!("building KWOK {KWOK}: about three minutes, once");
        let mut command = go("install");
        command.arg(format!("sigs.k8s.io/kwok/cmd/kwok@{KWOK}"));
        check(command.env("GOBIN", &folder), "KWOK")?;
    }
    Ok(program)
}

/// The user's cache folder for this project.
pub(crate) fn cache() -> Result<PathBuf> {
    let base = match (std::env::var_os("XDG_CACHE_HOME"), std::env::var_os("HOME")) {
        (Some(cache), _) if !cache.is_empty() => PathBuf::from(cache),
        (_, Some(home)) => Path::new(&home).join(".cache"),
        _ => bail!("neither XDG_CACHE_HOME nor HOME is set: where is the user's cache?"),
    };
    Ok(base.join("stowplan"))
}

fn go_build(flags: &[&str], folder: &Path, file: &str, package: &str) -> Result<()> {
    // The separator at the end tells go that it is a folder.
    let output = folder.join(file);
    let mut command = go("build");
    command.args(flags).arg("-o").arg(output).arg(package);
    check(&mut command, package)
}

fn go(what: &str) -> Command {
    let mut command = Command::new("go");
    command.arg(what).env("CGO_ENABLED", "0");
    command.current_dir(crate::tidy::workspace().join("e2e/kubernetes"));
    command
}

fn check(command: &mut Command, what: &str) -> Result<()> {
    let status = command
        .status()
        .context("cannot run go: install Go 1.26 or newer")?;
    if !status.success() {
        bail!("go could not build {what}");
    }
    Ok(())
}
