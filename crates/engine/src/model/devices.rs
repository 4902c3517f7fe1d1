//! Dynamic resource allocation: claims, slices and classes.

use super::OwnerRef;
use std::sync::Arc;
use stowplan_base::{Sym, Time};

/// One entry of a pod's `spec.resourceClaims`.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct PodClaim {
    /// The entry's name.
    pub name: Sym,
    /// Where the claim comes from.
    pub source: PodClaimSource,
}

/// Where a pod's claim comes from.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum PodClaimSource {
    /// `resourceClaimName`.
    Named(Sym),
    /// `resourceClaimTemplateName`; once generated, `status.resourceClaimStatuses` names the claim.
    Template {
        /// Whether the status mentions this entry at all.
        generated: bool,
        /// The generated claim; `None` in a generated entry means that none is needed.
        claim: Option<Sym>,
    },
    /// A source that this version does not know: the pod has to wait for one that does.
    Unsupported,
}

/// A pod (or other consumer) for which a claim is reserved.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct ClaimReservation {
    /// The consumer's uid.
    pub uid: Arc<str>,
}

/// A ResourceClaim.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct ResourceClaim {
    /// `metadata.namespace`.
    pub namespace: Sym,
    /// `metadata.name`.
    pub name: Sym,
    /// `metadata.uid`.
    pub uid: Arc<str>,
    /// Whether `metadata.deletionTimestamp` is set.
    pub terminating: bool,
    /// The controlling owner.
    pub controller: Option<OwnerRef>,
    /// Whether `status.allocation` is set.
    pub allocated: bool,
    /// `status.reservedFor`.
    pub reserved_for: Box<[ClaimReservation]>,
    /// `status` as an opaque text, read only to tell whether it changed: equal texts are equal
    /// statuses.
    pub status: Box<str>,
}

/// A ResourceSlice.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct ResourceSlice {
    /// `metadata.name`.
    pub name: Sym,
}

/// A DeviceClass.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct DeviceClass {
    /// `metadata.name`.
    pub name: Sym,
    /// `metadata.creationTimestamp`: of two classes for one extended resource the newer counts.
    pub created: Option<Time>,
    /// `spec.extendedResourceName`.
    pub extended_resource_name: Option<Sym>,
    /// `deviceclass.resource.kubernetes.io/NAME`, the extended resource of every class.
    pub implicit_resource_name: Sym,
}
