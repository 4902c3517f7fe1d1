//! How the objects of one kind come into being, change and go.
//!
//! The server calls these in upstream's order (`k8s.io/apiserver/pkg/registry/rest`):
//!
//! - create: decode, `set_defaults`, managedFields, mutating admission, fill in metadata,
//!   `prepare_for_create`, `validate`, then (only if that found nothing) the checks that all metadata
//!   gets, `warnings`, `canonicalize`, validating admission, store;
//! - update: decode, `set_defaults`, managedFields, mutating admission, `prepare_for_update`, the
//!   checks that all metadata gets (as for a new object, then as for a change) followed by
//!   `validate_update`, `warnings`, `canonicalize`, validating admission, store.
//!
//! `validate` and `validate_update` check metadata once more, each kind as often as upstream's does:
//! the causes of a refusal repeat what several checks found.

use serde_json::Value;
use stowplan_apimachinery::field::ErrorList;
use stowplan_apimachinery::lookup::Lookup;

/// What a strategy may know beyond the object.
pub struct Context<'a> {
    /// Now, as `metav1.Time` prints it: `2026-01-02T03:04:05Z`.
    pub now: &'a str,
    /// The other objects.
    pub cluster: &'a dyn Lookup,
}

/// The behaviour of one kind. All objects are in the canonical form of the schema crate.
pub trait Strategy: CreateStrategy + UpdateStrategy {
    /// The API group's defaults (`SetDefaults_*`), and what conversion to the internal version and
    /// back would do. Applied to every object that comes in, patched ones included.
    fn set_defaults(&self, _object: &mut Value) {}

    /// What to tell the client of an object that is accepted; `old` is there for an update.
    fn warnings(&self, _new: &Value, _old: Option<&Value>) -> Vec<String> {
        Vec::new()
    }

    /// A last touch to an object that is accepted, before it is stored.
    fn canonicalize(&self, _object: &mut Value) {}

    /// What an accepted object gets when it is read back from the store, where upstream applies the
    /// defaults once more. Says whether it got anything.
    fn read_back(&self, _object: &mut Value) -> bool {
        false
    }

    /// Field paths that a write through this strategy never owns in managedFields: `status` for
    /// the object itself, `spec` for its status (upstream: `rest.ResetFieldsStrategy`).
    fn reset_fields(&self) -> &'static [&'static [&'static str]] {
        &[]
    }

    /// The strategy of `/status`, for kinds that have it.
    fn status(&self) -> Option<&'static dyn Strategy> {
        None
    }

    /// The strategy of a subresource through which the object itself is written: `status`,
    /// `resize`, `ephemeralcontainers`, `finalize`.
    fn subresource(&self, name: &str) -> Option<&'static dyn Strategy> {
        match name {
            "status" => self.status(),
            _ => None,
        }
    }

    /// How objects are deleted, for kinds with rules of their own.
    fn deletion(&self) -> &dyn DeleteStrategy {
        &DefaultDeletion
    }
}

/// How objects are created (upstream: `rest.RESTCreateStrategy`).
pub trait CreateStrategy: Sync {
    /// Clears and fills what the creator may not decide: status, generation.
    fn prepare_for_create(&self, _object: &mut Value, _cx: &Context<'_>) {}

    /// Faults of a new object, those of its metadata included (for most kinds they come first, with
    /// the name judged by `validate_name`).
    fn validate(&self, object: &Value, cx: &Context<'_>) -> ErrorList;

    /// What is wrong with a name, or with a prefix of one (`generateName`): upstream's messages.
    fn validate_name(&self, name: &str, prefix: bool) -> Vec<String>;

    /// Whether `validate` makes the checks that all metadata gets, with a rule of its own for names: then
    /// only names are looked at once more. To say no is always right.
    fn checks_metadata(&self) -> bool {
        false
    }

    /// Whether `metadata.generation` starts at 1; kinds that do not count keep what was given.
    fn counts_generations(&self) -> bool {
        false
    }
}

/// How objects are changed (upstream: `rest.RESTUpdateStrategy`).
pub trait UpdateStrategy: Sync {
    /// Puts back what an update may not change (status), and counts generations.
    fn prepare_for_update(&self, _new: &mut Value, _old: &Value, _cx: &Context<'_>) {}

    /// Faults of a change, with what the kind finds in metadata beyond the checks for all.
    fn validate_update(&self, new: &Value, old: &Value, cx: &Context<'_>) -> ErrorList;

    /// Whether a PUT makes an object that is not there.
    fn allow_create_on_update(&self) -> bool {
        false
    }

    /// Whether a PUT may come without a resourceVersion.
    fn allow_unconditional_update(&self) -> bool {
        true
    }
}

/// How objects are deleted (upstream: `rest.RESTDeleteStrategy`, with
/// `RESTGracefulDeleteStrategy` and `GarbageCollectionDeleteStrategy`).
pub trait DeleteStrategy: Sync {
    /// Whether removing an object answers with the object instead of a `Status`.
    fn returns_deleted_object(&self) -> bool {
        false
    }

    /// The grace of a delete in seconds, given what was asked; `None` for kinds that go at once.
    /// Only pods have one.
    fn grace_period(&self, _object: &Value, _asked: Option<i64>) -> Option<i64> {
        None
    }

    /// Why an object of that name may not be deleted: a 403 with this text.
    fn delete_refusal(&self, _name: &str) -> Option<&'static str> {
        None
    }

    /// Whether a delete may leave the object to the garbage collector; events never wait for it.
    fn collects_garbage(&self) -> bool {
        true
    }

    /// Whether dependants are orphaned if the request does not say (only where an old API did).
    fn orphans_by_default(&self) -> bool {
        false
    }
}

/// The deletion of most kinds.
struct DefaultDeletion;

impl DeleteStrategy for DefaultDeletion {}

/// The deletion of kinds that differ only in what it answers: the object.
pub(crate) struct ReturnsDeletedObject;

impl DeleteStrategy for ReturnsDeletedObject {
    fn returns_deleted_object(&self) -> bool {
        true
    }
}
