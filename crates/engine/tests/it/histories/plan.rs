//! What a history is made of.
//!
//! Every seed turns some kinds of constraints on and leaves the others out: with all of them at
//! once, most pods would be rejected for the first reason at hand, and rare meetings of two rules
//! would stay rare.

use super::maker::Dice;

/// How large a history is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Size {
    /// Few nodes, many steps.
    Small,
    /// Hundreds of nodes, few steps.
    Large,
    /// Few nodes, more kinds of pods than anybody remembers.
    ManyTemplates,
}

/// The frame of one history.
#[derive(Clone, Debug)]
pub(super) struct Plan {
    pub(super) size: Size,
    /// Names of nodes are drawn from so many.
    pub(super) nodes_max: usize,
    /// So many exist at first.
    pub(super) nodes: usize,
    pub(super) zones: usize,
    pub(super) racks: usize,
    pub(super) namespaces: usize,
    /// Nodes of so many sizes: nodes alike are what ties are made of.
    pub(super) machines: usize,
    pub(super) templates: usize,
    /// Pods that stand on nodes, about.
    pub(super) pods: usize,
    /// How many events and decisions.
    pub(super) steps: usize,
    /// How many steps of a hundred are decisions.
    pub(super) decisions_percent: usize,
    pub(super) features: Features,
}

macro_rules! features {
    ($($name:ident: $percent:literal,)*) => {
        /// The kinds of constraints that occur in a history.
        #[derive(Clone, Copy, Debug)]
        pub(super) struct Features {
            $(pub(super) $name: bool,)*
        }

        impl Features {
            fn roll(dice: &mut Dice) -> Self {
                Self {
                    $($name: dice.chance($percent),)*
                }
            }
        }
    };
}

features! {
    node_affinity: 40,
    taints: 40,
    ports: 25,
    spread: 40,
    default_spread: 30,
    pod_affinity: 45,
    images: 30,
    extended_resources: 35,
    declared_features: 20,
    volumes: 30,
    resource_claims: 15,
    priorities: 60,
    budgets: 40,
    nominations: 35,
    tight: 50,
    // Labels that differ between the pods of one template are read.
    own_labels: 20,
    // Amounts, weights and priorities at the end of the scale.
    huge: 8,
    // Full of pods that are less important than those to come.
    crowded: 25,
}

impl Plan {
    pub(super) fn roll(size: Size, dice: &mut Dice) -> Self {
        let nodes = match size {
            Size::Small => *dice.pick(&[2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 30, 40]),
            Size::Large => *dice.pick(&[200, 250, 257, 300]),
            Size::ManyTemplates => *dice.pick(&[3, 6, 10]),
        };
        let (templates, steps) = match size {
            Size::Small => (2 + dice.below(12), 100 + dice.below(400)),
            Size::Large => (2 + dice.below(6), 40 + dice.below(60)),
            Size::ManyTemplates => (400 + dice.below(200), 1_500),
        };
        let large = size == Size::Large;
        let mut features = Features::roll(dice);
        if features.crowded {
            (features.priorities, features.tight) = (true, true);
        }
        let pods_per_node = if features.crowded {
            5
        } else {
            1 + dice.below(3)
        };
        Self {
            size,
            nodes_max: nodes + 3,
            nodes,
            zones: 1 + dice.below(if large { 12 } else { 4 }),
            racks: 1 + dice.below(if large { 80 } else { 5 }),
            namespaces: 1 + dice.below(4),
            machines: 1 + dice.below(4),
            templates,
            pods: nodes * pods_per_node,
            steps,
            decisions_percent: *dice.pick(&[20, 40, 60, 80]),
            features,
        }
    }
}
