//! What is said when others own what is applied.
//!
//! Upstream: `apimachinery/pkg/util/managedfields/internal/conflict.go`.

use stowplan_apimachinery::{Cause, Status};

/// A field that somebody else owns and that was to be changed.
#[derive(Clone, Debug)]
pub(super) struct Conflict {
    /// The owner, printed.
    pub(super) owner: String,
    /// The owner's identifier, by which conflicts are ordered.
    pub(super) order: String,
    /// The field, printed.
    pub(super) path: String,
}

/// 409 with one cause per field.
pub(super) fn status(conflicts: &[Conflict]) -> Status {
    let mut status = Status::failure(409, "Conflict", message(conflicts));
    for conflict in conflicts {
        status = status.because(Cause {
            reason: "FieldManagerConflict".to_owned(),
            message: format!("conflict with {}", conflict.owner),
            field: conflict.path.clone(),
        });
    }
    status
}

fn message(conflicts: &[Conflict]) -> String {
    if let [one] = conflicts {
        return format!(
            "Apply failed with 1 conflict: conflict with {}: {}",
            one.owner, one.path
        );
    }
    let mut out = format!("Apply failed with {} conflicts: ", conflicts.len());
    for (i, by_owner) in conflicts.chunk_by(|a, b| a.order == b.order).enumerate() {
        if i > 0 {
            out.push('\n');
        }
        for owner in by_owner.iter().take(1) {
            out.push_str(&format!("conflicts with {}:", owner.owner));
        }
        for conflict in by_owner {
            out.push_str("\n- ");
            out.push_str(&conflict.path);
        }
    }
    out
}
