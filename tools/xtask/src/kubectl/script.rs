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

/// The steps of a file.
#[derive(Debug)]
pub(super) struct Section {
    pub(super) name: String,
    /// It changes what all see: nothing else runs meanwhile.
    pub(super) is_alone: bool,
    pub(super) steps: Vec<Step>,
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

/// The steps of a folder, in the order of the files' names. The first file is always read.
pub(super) fn read(folder: &Path, wanted: &[String]) -> Result<Vec<Step>> {
    let sections = sections(folder)?.into_iter().enumerate();
    let chosen = sections.filter(|(index, section)| *index == 0 || section.is_wanted(wanted));
    let steps: Vec<_> = chosen.flat_map(|(_, section)| section.steps).collect();
    if steps.is_empty() {
        bail!("there are no steps in {}", folder.display());
    }
    Ok(steps)
}

/// The files of a folder, in the order of their names.
pub(super) fn sections(folder: &Path) -> Result<Vec<Section>> {
    let mut files: Vec<PathBuf> = fs::read_dir(folder)
        .with_context(|| format!("cannot read {}", folder.display()))?
        .map(|entry| Ok(entry?.path()))
        .collect::<Result<_>>()?;
    files.sort();
    let section = |file: &PathBuf| {
        let name = file.file_stem().unwrap_or_default().to_string_lossy();
        let text = fs::read_to_string(file)?;
        Ok(Section {
            steps: parse(&name, &text),
            is_alone: text.starts_with("# Alone: "),
            name: name.into_owned(),
        })
    };
    files.iter().map(section).collect()
}

impl Section {
    /// Whether the command line asks for it, by a part of its name or not at all.
    pub(super) fn is_wanted(&self, wanted: &[String]) -> bool {
        wanted.is_empty() || wanted.iter().any(|part| self.name.contains(part.as_str()))
    }
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
# Runs a command again until what it prints is the same as TEXT, for half a minute at most.
until_is() {
  local text=$1 said; shift
  SECONDS=0
  while [ "$SECONDS" -lt 30 ]; do
    said=$("$@" 2>&1)
    if [ "$said" = "$text" ]; then echo "$said"; return; fi
    sleep 0.2
  done
  echo "$said"
}
"#;

/// One of the two servers, with a folder, a home and a kubectl for the steps.
pub(super) struct Side {
    folder: PathBuf,
    home: PathBuf,
    kubeconfig: PathBuf,
    path: String,
    is_living: bool,
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
            is_living: false,
        })
    }

    /// The cluster lives.
    pub(super) fn living(self) -> Self {
        Self {
            is_living: true,
            ..self
        }
    }

    pub(super) fn run(&self, steps: &[&Step]) -> Result<Vec<Outcome>> {
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
        let normaliser = Normaliser::new(&self.home, &self.folder);
        Ok(Outcome {
            text: String::from_utf8_lossy(&output.stdout).into_owned(),
            status: output.status.code(),
            normaliser: match self.is_living {
                true => normaliser.living(),
                false => normaliser,
            },
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
