//! Who may act.

/// Says whether this component may act now: it is asked before each request that changes something. A
/// leader that lost its lease must say no before another one says yes.
pub trait Guard: Send + Sync + 'static {
    /// Whether anything may be changed.
    fn may_act(&self) -> bool;
}

/// The guard of a component that runs without leader election: always yes.
#[derive(Clone, Copy, Debug, Default)]
pub struct Unguarded;

impl Guard for Unguarded {
    fn may_act(&self) -> bool {
        true
    }
}
