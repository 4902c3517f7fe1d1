//! What one request may ask for, in one place. Each bound says what it is about, and what upstream's is
//! where it has one. What is more is refused, not cut.

/// The largest body that is read, in bytes. Upstream: `MaxRequestBodyBytes`.
pub const BODY_BYTES_MAX: usize = 3 * 1024 * 1024;

/// How deep values may nest, by whatever road they come: bodies, patches, what patches make of objects,
/// objects in the store. Whoever walks, prints or drops a value uses the stack, and workers have 2 MiB of
/// it. Go's decoder of JSON stops at 10,000; objects that are of use stay below 100.
pub const DEPTH_MAX: usize = 300;

/// More operations in a JSON patch are refused. Upstream's figure, `maxJSONPatchOperations`.
pub const PATCH_OPERATIONS_MAX: usize = 10_000;

/// All copies that a JSON patch makes may have so many bytes together. Upstream's figure,
/// `jsonpatch.AccumulatedCopySizeLimit`.
pub const PATCH_COPIED_BYTES_MAX: usize = 3 * 1024 * 1024;

/// How much all operations of a JSON patch may do together beyond reading the patch: a step is about as
/// much as looking at one value. Upstream has no such bound.
pub const PATCH_STEPS_MAX: usize = 20_000_000;

/// As many unknown and duplicate fields are told at most. Upstream's figure, in `sigs.k8s.io/json`.
pub const PROBLEMS_MAX: usize = 100;

/// Unknown and duplicate fields are told until what was to be told, repeats included, has so many bytes.
pub const PROBLEM_BYTES_MAX: usize = 4 * 1024 * 1024;

/// How much memory the value may take that is read from one body, by a guess that is not too low: an
/// empty struct of three bytes can become 600. An object that the store takes, 1.5 MiB of it, stays below
/// this even if it is all maps of one entry; what does not is a list of more than half a million elements.
pub const VALUE_BYTES_MAX: usize = 160 * 1024 * 1024;

/// The same for YAML, for each byte of its text: a map of one key in a list may be four bytes.
pub const VALUE_BYTES_PER_BYTE: usize = 250;

/// And for all of a short text: aliases may repeat so much of it.
pub const SMALL_TEXT_BYTES: usize = 4 * 1024 * 1024;

/// How many brackets of YAML may be open within the length of a key. Go's parser stops at 10,000 levels of
/// any kind; the one in use here at 128, but takes ever longer to get there.
pub const YAML_NESTED_MAX: usize = 200;

/// How many bytes of YAML may be of the kind that stands between values: commas, colons, line ends. Each
/// may cost the parser 200 bytes or more. An object that the store takes has no more: a ConfigMap may hold
/// 1 MiB, in which every other byte is a comma.
pub const YAML_MARKS_MAX: usize = 600_000;

/// As many faults of an object are told at most. Upstream tells all.
pub const ERRORS_TOLD_MAX: usize = 1_000;

/// Faults of an object are told until they have so many bytes: some print the value that is wrong.
pub const ERRORS_TOLD_BYTES_MAX: usize = 4 * 1024 * 1024;

/// More entries of `managedFields` in a body are passed over as if they could not be read. Upstream
/// merges updates beyond 10, but takes any number.
pub const OWNERS_MAX: usize = 1_000;

/// Steps that it may take to find out whether a role grants more than its author holds. Rules are
/// compared list by list, so that all but contrived ones take a few thousand. Who needs more is refused.
/// Upstream multiplies every rule out and has no bound.
pub const ESCALATION_STEPS: u64 = 8_000_000;

/// Permissions that a refusal to grant lists; of others it says how many there are. Upstream lists all.
pub const MISSING_PERMISSIONS: usize = 5_000;

/// Bytes of names of permissions that a refusal to grant lists. Upstream lists all.
pub const MISSING_PERMISSION_BYTES: usize = 256 << 10;

/// Roles that a decision says it could not find; of others it says how many there are. Upstream lists all.
pub const MISSING_ROLES: usize = 100;

/// Bytes of rules that a SelfSubjectRulesReview lists; an answer that lacks some says that it is
/// incomplete. Upstream lists all, as often as they are granted.
pub const REVIEWED_RULE_BYTES: usize = 512 << 10;

/// Faults of a custom resource are written out until so many bytes of them were, told or not.
pub const ERRORS_MADE_BYTES_MAX: usize = 4 * ERRORS_TOLD_BYTES_MAX;

/// So many values are filled into a custom resource from the defaults of its schema.
pub const DEFAULTS_VALUES_MAX: usize = 500_000;

/// Warnings about things of a pod that get in each other's way are looked for until so many pairs were.
pub const WARNINGS_COMPARED_MAX: usize = 1_000_000;

/// If a pod and its runtime class have more tolerations together, those that another covers stay.
pub const TOLERATIONS_COMPARED_MAX: usize = 2_000;
