//! The extension points.

/// Where a plugin can take part in scheduling.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub enum Point {
    /// Before a pod enters the active queue.
    PreEnqueue,
    /// The order of the active queue.
    QueueSort,
    /// Once per attempt, before Filter.
    PreFilter,
    /// Once per node: does the pod fit?
    Filter,
    /// When it fits nowhere.
    PostFilter,
    /// Once per attempt, before Score.
    PreScore,
    /// Once per feasible node: how good is it?
    Score,
    /// When a node is chosen, before binding.
    Reserve,
    /// May hold back or refuse the binding.
    Permit,
    /// What must be done before binding.
    PreBind,
    /// The binding itself.
    Bind,
    /// After binding.
    PostBind,
}

impl Point {
    /// Every point, in the order of a pod's life.
    pub const ALL: [Self; 12] = [
        Self::PreEnqueue,
        Self::QueueSort,
        Self::PreFilter,
        Self::Filter,
        Self::PostFilter,
        Self::PreScore,
        Self::Score,
        Self::Reserve,
        Self::Permit,
        Self::PreBind,
        Self::Bind,
        Self::PostBind,
    ];
}
