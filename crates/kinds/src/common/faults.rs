//! Adding to a list of errors, in few words.

use stowplan_apimachinery::field::{Error, ErrorList, Path, Shown};

/// What can be said of a field.
pub trait Faults {
    /// A value that is malformed or out of bounds.
    fn invalid(&mut self, path: &Path<'_>, value: impl Shown, detail: impl Into<String>);

    /// A value with several faults: one error for each.
    fn invalid_each(&mut self, path: &Path<'_>, value: impl Shown, details: Vec<String>);

    /// A value that has to be there and is not.
    fn required(&mut self, path: &Path<'_>, detail: impl Into<String>);

    /// A well-formed value that is not allowed here.
    fn forbidden(&mut self, path: &Path<'_>, detail: impl Into<String>);

    /// A second one of what must be unique.
    fn duplicate(&mut self, path: &Path<'_>, value: impl Shown);

    /// A word that is none of the known ones, which are listed in the order given.
    fn not_supported(&mut self, path: &Path<'_>, value: impl Shown, known: &[&str]);

    /// Something that is referred to and does not exist.
    fn not_found(&mut self, path: &Path<'_>, value: impl Shown);
}

impl Faults for ErrorList {
    fn invalid(&mut self, path: &Path<'_>, value: impl Shown, detail: impl Into<String>) {
        self.push(Error::invalid(path, value, detail));
    }

    fn invalid_each(&mut self, path: &Path<'_>, value: impl Shown, details: Vec<String>) {
        let errors = details.into_iter();
        self.extend(errors.map(|detail| Error::invalid(path, &value, detail)));
    }

    fn required(&mut self, path: &Path<'_>, detail: impl Into<String>) {
        self.push(Error::required(path, detail));
    }

    fn forbidden(&mut self, path: &Path<'_>, detail: impl Into<String>) {
        self.push(Error::forbidden(path, detail));
    }

    fn duplicate(&mut self, path: &Path<'_>, value: impl Shown) {
        self.push(Error::duplicate(path, value));
    }

    fn not_supported(&mut self, path: &Path<'_>, value: impl Shown, known: &[&str]) {
        self.push(Error::not_supported(path, value, known));
    }

    fn not_found(&mut self, path: &Path<'_>, value: impl Shown) {
        self.push(Error::not_found(path, value));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_fault_is_one_error() {
        let mut errors = ErrorList::new();
        let details = vec!["one".to_owned(), "two".to_owned()];
        errors.invalid_each(&Path::new("a"), "x", details);
        let texts: Vec<String> = errors.iter().map(ToString::to_string).collect();
        assert_eq!(
            texts,
            [
                "a: Invalid value: \"x\": one",
                "a: Invalid value: \"x\": two"
            ]
        );
    }
}
