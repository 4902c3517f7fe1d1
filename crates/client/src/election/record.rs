//! What a Lease says.

use stowplan_base::Time;

/// The `spec` of a Lease, as far as elections go. Upstream's `LeaderElectionRecord`.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Record {
    /// `holderIdentity`; empty if nobody leads.
    pub holder: String,
    /// `leaseDurationSeconds`.
    pub lease_duration_seconds: i32,
    /// `acquireTime`.
    pub acquired: Option<Time>,
    /// `renewTime`.
    pub renewed: Option<Time>,
    /// `leaseTransitions`: how often the leader changed.
    pub transitions: i32,
}
