//! `stowplan version`.

use crate::Verdict;
use crate::output::{self, Format};
use anyhow::Result;
use clap::{Args, ValueEnum};
use serde::Serialize;

/// Print the version of this program, and of the Kubernetes that it equals.
#[derive(Args, Debug)]
pub(crate) struct Version {
    /// How to print it.
    #[arg(short, long, value_enum, default_value_t, value_name = "FORMAT")]
    output: VersionFormat,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, ValueEnum)]
enum VersionFormat {
    /// For people.
    #[default]
    Text,
    /// One JSON document.
    Json,
    /// One YAML document.
    Yaml,
}

/// The Kubernetes whose behaviour this program has.
const KUBERNETES: &str = "v1.36.4";

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Told {
    version: &'static str,
    /// Of the sources, if whoever built this said so. Nobody looks for it at build time: the same sources
    /// give the same program, in a clone as well as from an archive.
    #[serde(skip_serializing_if = "Option::is_none")]
    git_commit: Option<&'static str>,
    kubernetes_version: &'static str,
    platform: String,
}

const TOLD_BY_BUILD: Option<&str> = option_env!("STOWPLAN_GIT_COMMIT");

/// Runs the command.
pub(crate) fn run(args: &Version) -> Result<Verdict> {
    let told = Told {
        version: env!("CARGO_PKG_VERSION"),
        git_commit: TOLD_BY_BUILD.filter(|commit| !commit.is_empty()),
        kubernetes_version: KUBERNETES,
        platform: format!("{}/{}", std::env::consts::OS, std::env::consts::ARCH),
    };
    match args.output {
        VersionFormat::Text => output::print(&text(&told))?,
        VersionFormat::Json => output::print_document(&told, Format::Json)?,
        VersionFormat::Yaml => output::print_document(&told, Format::Yaml)?,
    }
    Ok(Verdict::AllPlaced)
}

fn text(told: &Told) -> String {
    let commit = match told.git_commit {
        Some(commit) => format!(", commit {commit}"),
        None => String::new(),
    };
    format!(
        "stowplan {}{commit} ({})\nequals Kubernetes {}\n",
        told.version, told.platform, told.kubernetes_version
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_commit_is_told_if_it_is_known() {
        let mut told = Told {
            version: "1.2.3",
            git_commit: None,
            kubernetes_version: "v1.2.3",
            platform: "linux/x".to_owned(),
        };
        let end = "(linux/x)\nequals Kubernetes v1.2.3\n";
        assert_eq!(text(&told), format!("stowplan 1.2.3 {end}"));
        told.git_commit = Some("abc");
        assert_eq!(text(&told), format!("stowplan 1.2.3, commit abc {end}"));
    }
}
