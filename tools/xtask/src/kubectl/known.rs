//! Steps whose output differs for a reason that is written down.

use super::script::Step;
use anyhow::{Context, Result, bail};
use std::collections::BTreeMap;
use std::path::Path;

/// First lines of steps, each with its reason.
#[derive(Debug)]
pub(super) struct Known(BTreeMap<String, String>);

impl Known {
    /// Reads a file of first lines; the comment above them is the reason.
    pub(super) fn read(path: &Path) -> Result<Self> {
        let text = std::fs::read_to_string(path)
            .with_context(|| format!("cannot read {}", path.display()))?;
        Self::parse(&text).with_context(|| path.display().to_string())
    }

    fn parse(text: &str) -> Result<Self> {
        let mut known = BTreeMap::new();
        let mut reason = String::new();
        for line in text.lines() {
            if let Some(comment) = line.strip_prefix("# ") {
                comment.clone_into(&mut reason);
            } else if line.is_empty() {
                reason.clear();
            } else if reason.is_empty() {
                bail!("no reason is given for: {line}");
            } else {
                known.insert(line.to_owned(), reason.clone());
            }
        }
        Ok(Self(known))
    }

    pub(super) fn reason(&self, step: &Step) -> Option<&str> {
        let first = step.text.lines().next()?;
        self.0.get(first).map(String::as_str)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_needs_a_reason() {
        let known =
            Known::parse("# Because.\nkubectl a\nkubectl b\n\n# Not.\nkubectl c\n").unwrap();
        let step = |text: &str| Step {
            section: String::new(),
            text: text.to_owned(),
        };
        assert_eq!(known.reason(&step("kubectl b\nmore")), Some("Because."));
        assert_eq!(known.reason(&step("kubectl d")), None);
        assert!(Known::parse("# Because.\n\nkubectl a").is_err());
    }
}
