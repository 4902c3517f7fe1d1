//! The steps, and a side to run them on.

use super::normal::Normaliser;
use anyhow::{Context, Result, bail};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Some lines of shell. Steps are separated by empty lines.
#[derive(Debug)]
pub(super) struct Step {
    /// The file it stands in.
    pub(super) section: String,
    pub(super) text: String,
}

/// What a step printed, and how it ended.
#[derive(Debug)]
pub(super) struct Outcome {
    text: String,
    status: Option<i32>,
    normaliser: Normaliser,
}

impl Outcome {
    /// The output without what differs between any two servers.
    pub(super) fn normal(&self) -> String {
        let mut text = self.normaliser.apply(&self.text);
        match self.status {
            Some(0) => {}
            Some(status) => text.push_str(&format!("exit status {status}\n")),
            None => text.push_str("killed\n"),
        }
        text
    }
}

/// The steps of a folder, in the order of the files' names.
pub(super) fn read(folder: &Path, sections: &[String]) -> Result<Vec<Step>> {
    let mut files: Vec<PathBuf> = fs::read_dir(folder)
        .with_context(|| format!("cannot read {}", folder.display()))?
        .map(|entry| Ok(entry?.path()))
        .collect::<Result<_>>()?;
    files.sort();
    let mut steps = Vec::new();
    for (index, file) in files.iter().enumerate() {
        let section = file.file_stem().unwrap_or_default().to_string_lossy();
        let wanted = |name: &String| section.contains(name.as_str());
        if index > 0 && !sections.is_empty() && !sections.iter().any(wanted) {
            continue;
        }
        steps.extend(parse(&section, &fs::read_to_string(file)?));
    }
    if steps.is_empty() {
        bail!("there are no steps in {}", folder.display());
    }
    Ok(steps)
}

fn parse(section: &str, text: &str) -> Vec<Step> {
    let is_code = |line: &&str| !line.starts_with('#');
    text.split("\n\n")
        .map(|block| block.lines().filter(is_code).collect::<Vec<_>>().join("\n"))
        .filter(|block| !block.trim().is_empty())
        .map(|block| Step {
            section: section.to_owned(),
            text: block.trim().to_owned(),
        })
        .collect()
}

/// What every step can use.
const PRELUDE: &str = r#"
set -o pipefail
# The first N lines of a command that does not end by itself. TRIGGER runs when the first is there.
first_lines() {
  local count=$1 trigger=$2 line; shift 2
  coproc WATCHED { exec "$@" 2>&1; }
  local watched=$WATCHED_PID
  for ((i = 0; i < count; i++)); do
    IFS= read -r line <&"${WATCHED[0]}" || break
    printf '%s\n' "$line"
    if [ "$i" = 0 ]; then eval "$trigger" >/dev/null; fi
  done
  kill "$watched" 2>/dev/null
  wait "$watched" 2>/dev/null || true
}
"#;

/// One of the two servers, with a folder, a home and a kubectl for the steps.
pub(super) struct Side {
    folder: PathBuf,
    home: PathBuf,
    kubeconfig: PathBuf,
    path: String,
}

impl Side {
    pub(super) fn new(
        folder: &Path,
        files: &Path,
        kubectl: &Path,
        kubeconfig: &Path,
    ) -> Result<Self> {
        let (work, home, bin) = (folder.join("work"), folder.join("home"), folder.join("bin"));
        for folder in [&work, &home, &bin] {
            fs::create_dir_all(folder)?;
        }
        for entry in fs::read_dir(files)? {
            let entry = entry?;
            fs::copy(entry.path(), work.join(entry.file_name()))?;
        }
        std::os::unix::fs::symlink(kubectl, bin.join("kubectl"))?;
        // Steps may change it.
        let copy = home.join("kubeconfig");
        fs::copy(kubeconfig, &copy)?;
        let path = std::env::var("PATH").unwrap_or_default();
        Ok(Self {
            path: format!("{}:{path}", bin.display()),
            kubeconfig: copy,
            folder: work,
            home,
        })
    }

    pub(super) fn run(&self, steps: &[Step]) -> Result<Vec<Outcome>> {
        steps.iter().map(|step| self.step(step)).collect()
    }

    fn step(&self, step: &Step) -> Result<Outcome> {
        let output = Command::new("timeout")
            .args(["--kill-after=5", "90", "bash", "-c"])
            .arg(format!("exec 2>&1\n{PRELUDE}\n{}", step.text))
            .current_dir(&self.folder)
            .env("HOME", &self.home)
            .env("PATH", &self.path)
            .env("KUBECONFIG", &self.kubeconfig)
            .env("LC_ALL", "C")
            .env("COLUMNS", "200")
            .stdin(Stdio::null())
            .output()
            .context("cannot run timeout and bash")?;
        Ok(Outcome {
            text: String::from_utf8_lossy(&output.stdout).into_owned(),
            status: output.status.code(),
            normaliser: Normaliser::new(&self.home, &self.folder),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_separated_by_empty_lines() {
        let text = "# Title.\n\nkubectl a |\n  sort\n\n# Why.\nkubectl b\n";
        let steps = parse("x", text);
        let texts: Vec<_> = steps.iter().map(|s| s.text.as_str()).collect();
        assert_eq!(texts, ["kubectl a |\n  sort", "kubectl b"]);
    }
}
