//! Who may act.

/// Says whether this scheduler may act now: it is asked before each decision and once more before
/// each request that changes something. A leader that lost its lease must say no before another one
/// says yes.
///
/// Whoever opens a fence tells the scheduler by [`Running::wake`](crate::Running::wake).
pub trait Fence: Send + Sync + 'static {
    /// Whether decisions may be made and carried out.
    fn may_act(&self) -> bool;
}

/// The fence of a scheduler that is alone: always open.
#[derive(Clone, Copy, Debug, Default)]
pub struct Open;

impl Fence for Open {
    fn may_act(&self) -> bool {
        true
    }
}
