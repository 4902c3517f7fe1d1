//! Checks that several kinds share.

pub mod cidr;
pub mod claim_spec;
pub mod conditions;
pub mod equality;
pub mod faults;
pub mod generation;
pub mod internal;
pub mod ip;
pub mod kube_metadata;
pub mod labels;
pub mod metadata;
pub mod name_rules;
pub mod node_labels;
pub mod node_selector;
pub mod paths;
pub mod quantities;
pub mod resource_name_rules;
pub mod resource_names;
pub(crate) mod status;
pub mod taints;
pub mod volume_sources;

/// What is wrong with a name, or with a prefix of one: upstream's `ValidateNameFunc`.
pub type NameRule<'a> = &'a dyn Fn(&str, bool) -> Vec<String>;

/// For a value that is different after an update and may not be.
pub const IMMUTABLE: &str = "field is immutable";

/// For a number below zero.
pub const NEGATIVE: &str = "must be greater than or equal to 0";
