//! Paths of files inside volumes and hosts.
//!
//! Upstream: `pkg/apis/core/validation/validation.go`.

use super::faults::Faults;
use stowplan_apimachinery::field::{ErrorList, Path};

/// No part of the path is `..`.
pub fn no_backsteps(target: &str, path: &Path<'_>, errors: &mut ErrorList) {
    if target.split('/').any(|part| part == "..") {
        errors.invalid(path, target, "must not contain '..'");
    }
}

/// Relative, and no part is `..`.
pub fn local_descending(target: &str, path: &Path<'_>, errors: &mut ErrorList) {
    if target.starts_with('/') {
        errors.invalid(path, target, "must be a relative path");
    }
    no_backsteps(target, path, errors);
}

/// Relative, and neither a part nor the beginning is `..`.
pub fn local_non_reserved(target: &str, path: &Path<'_>, errors: &mut ErrorList) {
    local_descending(target, path, errors);
    // Parts of two dots have been reported already.
    if target.starts_with("..") && !target.starts_with("../") {
        errors.invalid(path, target, "must not start with '..'");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_stay_inside() {
        let faults = |target: &str| {
            let mut errors = ErrorList::new();
            local_non_reserved(target, &Path::new("p"), &mut errors);
            errors.into_iter().map(|e| e.detail).collect::<Vec<_>>()
        };
        assert_eq!(faults("a/b"), [""; 0]);
        assert_eq!(faults("/a"), ["must be a relative path"]);
        assert_eq!(faults("a/../b"), ["must not contain '..'"]);
        assert_eq!(faults("..a"), ["must not start with '..'"]);
        assert_eq!(
            faults(".."),
            ["must not contain '..'", "must not start with '..'"]
        );
        assert_eq!(faults("../a"), ["must not contain '..'"]);
    }
}
