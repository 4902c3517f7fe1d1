//! The specs that there are, and what is expected of each: `e2e/kubernetes/specs/lists`.

use super::{Home, Sig};
use anyhow::{Context, Result, bail};
use std::fmt::Write as _;
use std::path::PathBuf;

/// What is expected of a spec.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Expected {
    /// It passes.
    Pass,
    /// It passes, and takes minutes.
    Slow,
    /// It cannot pass here, for this reason.
    Skip(String),
}

/// The list, in its order.
#[derive(Debug)]
pub(super) struct List(Vec<(String, Expected)>);

impl List {
    fn path(home: Home, sig: Sig) -> PathBuf {
        let lists = xtask::tidy::workspace().join("e2e/kubernetes/specs/lists");
        lists.join(home.to_string()).join(sig.to_string())
    }

    /// Reads a list of the repository; an empty one if nobody has recorded it yet.
    pub(super) fn read(home: Home, sig: Sig) -> Result<Self> {
        let path = Self::path(home, sig);
        if !path.exists() {
            return Ok(Self(Vec::new()));
        }
        let text = std::fs::read_to_string(&path);
        let text = text.with_context(|| format!("no {}", path.display()))?;
        Self::parse(&text).with_context(|| path.display().to_string())
    }

    /// Writes the list of the repository anew. What stood there stays, but for specs that pass now.
    pub(super) fn record(mut self, home: Home, sig: Sig, passed: &[&str]) -> Result<()> {
        for name in passed {
            match self.0.iter_mut().find(|(known, _)| known == name) {
                Some((_, expected @ Expected::Skip(_))) => *expected = Expected::Pass,
                Some(_) => {}
                None => self.0.push(((*name).to_owned(), Expected::Pass)),
            }
        }
        self.0.sort_by(|a, b| a.0.cmp(&b.0));
        let mut text = format!(
            "# The end-to-end specs of [sig-{sig}] in Kubernetes {}, and what `cargo xtask specs` expects:\n\
             # pass, slow (it passes, but takes minutes: only with --all), or skip, with the reason below.\n\n",
            xtask::kubernetes::VERSION
        );
        for (name, expected) in &self.0 {
            match expected {
                Expected::Pass => writeln!(text, "pass {name}")?,
                Expected::Slow => writeln!(text, "slow {name}")?,
                Expected::Skip(why) => writeln!(text, "skip {name}\n  {why}")?,
            }
        }
        let path = Self::path(home, sig);
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder)?;
        }
        std::fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))
    }

    /// One spec per line; why it is skipped stands on the next one, indented.
    fn parse(text: &str) -> Result<Self> {
        let mut specs: Vec<(String, Expected)> = Vec::new();
        for (number, line) in (1..).zip(text.lines()) {
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            if line.starts_with(' ') {
                match specs.last_mut() {
                    Some((_, Expected::Skip(why))) if why.is_empty() => {
                        line.trim().clone_into(why);
                    }
                    _ => bail!("line {number} gives a reason for nothing"),
                }
                continue;
            }
            let (word, name) = line.split_once(' ').unwrap_or((line, ""));
            let expected = match word {
                "pass" => Expected::Pass,
                "slow" => Expected::Slow,
                "skip" => Expected::Skip(String::new()),
                _ => bail!("line {number} begins neither with pass nor with slow nor with skip"),
            };
            specs.push((name.to_owned(), expected));
        }
        Ok(Self(specs))
    }

    /// What is expected of a spec; nothing if it is not on the list.
    pub(super) fn expected(&self, name: &str) -> Option<&Expected> {
        let found = self.0.iter().find(|(known, _)| known == name);
        found.map(|(_, expected)| expected)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&str, &Expected)> {
        self.0.iter().map(|(name, expected)| (&**name, expected))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::ValueEnum;

    #[test]
    fn the_lists_of_the_repository_can_be_read() {
        let mut specs = 0;
        for home in Home::value_variants() {
            for sig in Sig::value_variants() {
                let list = List::read(*home, *sig).unwrap();
                for (name, expected) in list.iter() {
                    specs += 1;
                    assert!(!name.is_empty());
                    assert_ne!(*expected, Expected::Skip(String::new()), "{name}: why?");
                }
            }
        }
        assert!(specs >= 30, "only {specs} specs are listed");
    }

    #[test]
    fn a_skipped_spec_has_its_reason_below() {
        let list =
            List::parse("# about\n\npass one\nskip two three\n  because\nslow four\n").unwrap();
        assert_eq!(list.expected("one"), Some(&Expected::Pass));
        let skip = Expected::Skip("because".to_owned());
        assert_eq!(list.expected("two three"), Some(&skip));
        assert_eq!(list.expected("four"), Some(&Expected::Slow));
        assert_eq!(list.expected("five"), None);
        List::parse("pass one\n  because\n").unwrap_err();
        List::parse("maybe one\n").unwrap_err();
    }
}
