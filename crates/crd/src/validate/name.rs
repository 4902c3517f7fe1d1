//! Where a value stands that is being checked.

use std::cell::Cell;
use std::fmt::Write;
use stowplan_apimachinery::limits::ERRORS_MADE_BYTES_MAX;

/// The place of a value, as upstream's faults name it. Only a fault writes it out.
#[derive(Clone, Copy)]
pub(super) struct Name<'a> {
    parent: Option<&'a Name<'a>>,
    step: Step<'a>,
    /// The bytes of all faults so far, also of those that were forgotten again.
    spent: &'a Cell<usize>,
}

#[derive(Clone, Copy)]
enum Step<'a> {
    Root,
    /// Behind a dot, unless there is nothing before it.
    Field(&'a str),
    /// Always behind a dot.
    Entry(&'a str),
    Index(usize),
}

impl<'a> Name<'a> {
    pub(super) fn root(spent: &'a Cell<usize>) -> Self {
        Self {
            parent: None,
            step: Step::Root,
            spent,
        }
    }

    fn below(&'a self, step: Step<'a>) -> Self {
        Self {
            parent: Some(self),
            step,
            spent: self.spent,
        }
    }

    /// A field that the schema names.
    pub(super) fn field(&'a self, name: &'a str) -> Self {
        self.below(Step::Field(name))
    }

    /// An entry of a map of any keys.
    pub(super) fn entry(&'a self, key: &'a str) -> Self {
        self.below(Step::Entry(key))
    }

    /// An element of a list.
    pub(super) fn index(&'a self, index: usize) -> Self {
        self.below(Step::Index(index))
    }

    pub(super) fn is_empty(&self) -> bool {
        match self.step {
            Step::Root => true,
            Step::Field(name) => name.is_empty() && self.parent.is_none_or(Self::is_empty),
            Step::Entry(_) | Step::Index(_) => false,
        }
    }

    /// The name for a fault, unless there have been so many that nobody needs another one.
    pub(super) fn spend(&self) -> Option<String> {
        if self.spent.get() > ERRORS_MADE_BYTES_MAX {
            return None;
        }
        let mut out = String::new();
        self.write(&mut out);
        self.charge(out.len());
        Some(out)
    }

    /// So many bytes were written of a fault.
    pub(super) fn charge(&self, bytes: usize) {
        self.spent.set(self.spent.get() + bytes);
    }

    fn write(&self, out: &mut String) {
        if let Some(parent) = self.parent {
            parent.write(out);
        }
        match self.step {
            Step::Root => {}
            Step::Field(name) if out.is_empty() => out.push_str(name),
            Step::Field(name) | Step::Entry(name) => {
                out.push('.');
                out.push_str(name);
            }
            Step::Index(index) => {
                let _ = write!(out, "[{index}]");
            }
        }
    }
}
