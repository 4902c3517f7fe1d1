//! Changes of the cluster, as far as the queue cares. Follows upstream's `kube-scheduler/framework`
//! (`types.go`) and `pkg/scheduler/framework/{types,events}.go`.

use std::fmt;

/// Kinds of change, as a set of bits.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub struct Action(u32);

#[allow(missing_docs)]
impl Action {
    pub const ADD: Self = Self(1);
    pub const DELETE: Self = Self(1 << 1);
    pub const UPDATE_NODE_ALLOCATABLE: Self = Self(1 << 2);
    pub const UPDATE_NODE_LABEL: Self = Self(1 << 3);
    /// Taints, or `spec.unschedulable` taken back.
    pub const UPDATE_NODE_TAINT: Self = Self(1 << 4);
    pub const UPDATE_NODE_CONDITION: Self = Self(1 << 5);
    pub const UPDATE_NODE_ANNOTATION: Self = Self(1 << 6);
    pub const UPDATE_NODE_DECLARED_FEATURE: Self = Self(1 << 7);
    pub const UPDATE_POD_LABEL: Self = Self(1 << 8);
    pub const UPDATE_POD_SCALE_DOWN: Self = Self(1 << 9);
    pub const UPDATE_POD_TOLERATION: Self = Self(1 << 10);
    pub const UPDATE_POD_SCHEDULING_GATES_ELIMINATED: Self = Self(1 << 11);
    pub const UPDATE_POD_GENERATED_RESOURCE_CLAIM: Self = Self(1 << 12);
    /// Any update.
    pub const UPDATE: Self = Self(((1 << 13) - 1) & !0b11);
    /// Any change.
    pub const ALL: Self = Self((1 << 13) - 1);

    /// Both sets together.
    pub const fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// The empty set.
    pub const NONE: Self = Self(0);

    /// What events are made of: each change by itself, and an update that is nothing special.
    pub fn of_events() -> impl Iterator<Item = Self> {
        let single = (0..Self::ALL.0.count_ones()).map(|bit| Self(1 << bit));
        single.chain([Self::UPDATE])
    }

    /// Whether the sets share a bit.
    pub const fn intersects(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }
}

impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match *self {
            Self::ADD => "Add",
            Self::DELETE => "Delete",
            Self::UPDATE_NODE_ALLOCATABLE => "UpdateNodeAllocatable",
            Self::UPDATE_NODE_LABEL => "UpdateNodeLabel",
            Self::UPDATE_NODE_TAINT => "UpdateNodeTaint",
            Self::UPDATE_NODE_CONDITION => "UpdateNodeCondition",
            Self::UPDATE_NODE_ANNOTATION => "UpdateNodeAnnotation",
            Self::UPDATE_NODE_DECLARED_FEATURE => "UpdateNodeDeclaredFeature",
            Self::UPDATE_POD_LABEL => "UpdatePodLabel",
            Self::UPDATE_POD_SCALE_DOWN => "UpdatePodScaleDown",
            Self::UPDATE_POD_TOLERATION => "UpdatePodToleration",
            Self::UPDATE_POD_SCHEDULING_GATES_ELIMINATED => "UpdatePodSchedulingGatesEliminated",
            Self::UPDATE_POD_GENERATED_RESOURCE_CLAIM => "UpdatePodGeneratedResourceClaim",
            Self::UPDATE => "Update",
            Self::ALL => "All",
            _ => "",
        })
    }
}

/// What changed.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
#[allow(missing_docs)]
pub enum EventResource {
    /// Any pod; only in registrations.
    Pod,
    /// A pod on a node; only in events.
    AssignedPod,
    /// A pending pod; only in events.
    UnschedulablePod,
    Node,
    PersistentVolume,
    PersistentVolumeClaim,
    CSINode,
    CSIDriver,
    CSIStorageCapacity,
    StorageClass,
    VolumeAttachment,
    ResourceClaim,
    ResourceSlice,
    DeviceClass,
    /// Anything.
    WildCard,
}

impl EventResource {
    /// Every kind of thing that events are about.
    pub const ALL: [Self; 14] = [
        Self::Pod,
        Self::AssignedPod,
        Self::UnschedulablePod,
        Self::Node,
        Self::PersistentVolume,
        Self::PersistentVolumeClaim,
        Self::CSINode,
        Self::CSIDriver,
        Self::CSIStorageCapacity,
        Self::StorageClass,
        Self::VolumeAttachment,
        Self::ResourceClaim,
        Self::ResourceSlice,
        Self::DeviceClass,
    ];
}

impl fmt::Display for EventResource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::WildCard => f.write_str("*"),
            Self::CSINode
            | Self::CSIDriver
            | Self::CSIStorageCapacity
            | Self::StorageClass
            | Self::VolumeAttachment => write!(f, "storage.k8s.io/{self:?}"),
            Self::ResourceClaim | Self::ResourceSlice | Self::DeviceClass => {
                write!(f, "resource.k8s.io/{self:?}")
            }
            Self::Pod
            | Self::AssignedPod
            | Self::UnschedulablePod
            | Self::Node
            | Self::PersistentVolume
            | Self::PersistentVolumeClaim => write!(f, "{self:?}"),
        }
    }
}

/// A change of the cluster that could make a rejected pod schedulable.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub struct ClusterEvent {
    /// What changed.
    pub resource: EventResource,
    /// How.
    pub action: Action,
    /// A name of its own, for events that are no change of an object.
    pub custom_label: Option<&'static str>,
}

impl ClusterEvent {
    /// A pod stayed unschedulable for too long.
    pub const UNSCHEDULABLE_TIMEOUT: Self = Self::custom("UnschedulableTimeout");
    /// Somebody asked for the pod to be tried now.
    pub const FORCE_ACTIVATE: Self = Self::custom("ForceActivate");

    /// A pod appeared on a node.
    pub const ASSIGNED_POD_ADD: Self = Self::new(EventResource::AssignedPod, Action::ADD);
    /// A pod left its node, or what was kept for it there.
    pub const ASSIGNED_POD_DELETE: Self = Self::new(EventResource::AssignedPod, Action::DELETE);
    /// A pending pod appeared.
    pub const UNSCHEDULED_POD_ADD: Self = Self::new(EventResource::UnschedulablePod, Action::ADD);
    /// A pending pod changed in a way that has no event of its own.
    pub const UNSCHEDULED_POD_UPDATE: Self =
        Self::new(EventResource::UnschedulablePod, Action::UPDATE);

    /// A change of an object.
    pub const fn new(resource: EventResource, action: Action) -> Self {
        Self {
            resource,
            action,
            custom_label: None,
        }
    }

    const fn custom(label: &'static str) -> Self {
        Self {
            resource: EventResource::WildCard,
            action: Action::ALL,
            custom_label: Some(label),
        }
    }

    /// Whether it stands for anything that may have happened.
    pub fn is_wildcard(&self) -> bool {
        self.resource == EventResource::WildCard && self.action == Action::ALL
    }

    /// Upstream's `MatchClusterEvents`: does this registration cover `incoming`?
    pub fn covers(&self, incoming: &Self) -> bool {
        let same_resource = self.resource == EventResource::WildCard
            || self.resource == incoming.resource
            || self.resource == EventResource::Pod
                && matches!(
                    incoming.resource,
                    EventResource::AssignedPod | EventResource::UnschedulablePod
                );
        self.is_wildcard()
            || same_resource
                && self.action.intersects(incoming.action)
                && incoming.action <= self.action
    }

    /// The name in metrics and logs.
    pub fn label(&self) -> String {
        match self.custom_label {
            Some(label) => label.to_owned(),
            None => format!("{}{}", self.resource, self.action),
        }
    }
}

/// An event that a plugin listens to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Registration {
    /// The event.
    pub event: ClusterEvent,
    /// Whether [`EnqueueExtensions::hint`](super::EnqueueExtensions::hint) is asked; otherwise the answer is always
    /// Queue.
    pub hinted: bool,
}

impl Registration {
    /// Ask the plugin's hint.
    pub const fn hinted(resource: EventResource, action: Action) -> Self {
        Self {
            event: ClusterEvent::new(resource, action),
            hinted: true,
        }
    }

    /// Always try again, whatever happens to whatever.
    pub fn everything() -> Vec<Self> {
        [
            EventResource::Pod,
            EventResource::Node,
            EventResource::PersistentVolume,
            EventResource::PersistentVolumeClaim,
            EventResource::CSINode,
            EventResource::CSIDriver,
            EventResource::CSIStorageCapacity,
            EventResource::StorageClass,
            EventResource::ResourceClaim,
            EventResource::DeviceClass,
        ]
        .map(|resource| Self::always(resource, Action::ALL))
        .into()
    }

    /// Always try again.
    pub const fn always(resource: EventResource, action: Action) -> Self {
        Self {
            event: ClusterEvent::new(resource, action),
            hinted: false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_upstreams() {
        let label = |resource, action| ClusterEvent::new(resource, action).label();
        assert_eq!(label(EventResource::Node, Action::ADD), "NodeAdd");
        assert_eq!(
            label(EventResource::CSINode, Action::UPDATE),
            "storage.k8s.io/CSINodeUpdate"
        );
        assert_eq!(
            label(EventResource::ResourceClaim, Action::ADD),
            "resource.k8s.io/ResourceClaimAdd"
        );
        assert_eq!(
            label(EventResource::AssignedPod, Action::UPDATE_POD_SCALE_DOWN),
            "AssignedPodUpdatePodScaleDown"
        );
        assert_eq!(ClusterEvent::FORCE_ACTIVATE.label(), "ForceActivate");
    }

    #[test]
    fn a_registration_covers_what_is_as_specific_or_more() {
        let covers = |(r, a), (er, ea)| ClusterEvent::new(r, a).covers(&ClusterEvent::new(er, ea));
        use EventResource::{AssignedPod, Node, Pod, UnschedulablePod};
        assert!(covers(
            (Node, Action::UPDATE),
            (Node, Action::UPDATE_NODE_LABEL)
        ));
        assert!(!covers(
            (Node, Action::UPDATE_NODE_LABEL),
            (Node, Action::UPDATE)
        ));
        assert!(covers((Pod, Action::DELETE), (AssignedPod, Action::DELETE)));
        assert!(covers(
            (Pod, Action::UPDATE),
            (UnschedulablePod, Action::UPDATE)
        ));
        assert!(!covers((Pod, Action::ADD), (Node, Action::ADD)));
        // A wildcard event is nobody's registered event.
        assert!(!ClusterEvent::new(Node, Action::ALL).covers(&ClusterEvent::FORCE_ACTIVATE));
    }
}
