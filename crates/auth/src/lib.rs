//! Who asks, and whether they may: authentication, RBAC, impersonation.
//!
//! What it needs of the cluster it reads through [`Lookup`](stowplan_apimachinery::lookup::Lookup), and
//! what roles and bindings say from a [`Policy`].

mod attributes;
mod connection_guards;
mod cover;
mod defaults;
mod escalation;
pub mod impersonation;
mod policy;
mod rbac;
mod reviews;
mod rule;
pub mod token;
mod user;

pub use attributes::{Attributes, Target};
pub use connection_guards::ConnectionGuards;
pub use defaults::default_objects;
pub use escalation::{check_binding, check_role};
pub use policy::{Grants, Policy, Rights, Role};
pub use rbac::{Decision, authorize};
pub use reviews::{access_review, rules_review, self_subject_review};
pub use rule::Rule;
pub use user::{Owner, User, service_account_name};
