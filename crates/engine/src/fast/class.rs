//! What is known about pods that are alike: every node's verdict and score, kept up to date.

use super::best::{Row, Tree};
use super::catch_up::RelevantLabelGroups;
use super::claims::RuledOut;
use super::columns::Columns;
use super::full_evaluation::Evaluation;
use super::groups::{GroupId, Groups, ODD, Tag};
use super::kept_dry_runs::ClassDryRuns;
use super::layout::Layout;
use super::marks::Marks;
use crate::NodeInfo;
use crate::cast::score_sum;
use crate::framework::{
    Code, Cx, CycleState, DryRun, DryRunSpace, Framework, MAX_NODE_SCORE, Plan, PluginStatus,
    Range, RelevantChange, has_nominated,
};
use crate::model::Pod;
use std::sync::Arc;
use stowplan_base::Sym;

/// A profile, and which of its rules can be kept.
#[derive(Clone, Copy)]
pub(super) struct Profile<'a> {
    pub(super) framework: &'a Framework,
    pub(super) plan: &'a Plan,
}

/// Space to work in, kept between attempts.
#[derive(Clone, Debug, Default)]
pub(super) struct Scratch {
    /// To look at one node.
    pub(super) node_scratch: NodeScratch,
    /// Nodes that changed.
    pub(super) marks: Marks,
    /// Which of a run of changes matter.
    pub(super) changes: Vec<RelevantChange>,
    /// Raw scores of one plugin, group by group.
    pub(super) raws: Vec<Option<i64>>,
    /// What groups add to scores.
    pub(super) bonuses: Vec<i32>,
    /// Positions of feasible nodes.
    pub(super) feasible: Vec<u32>,
    /// Nodes that rules reject which look at anything.
    pub(super) ruled_out: RuledOut,
    /// What all nodes say.
    pub(super) columns: Columns,
    /// Space to look at all nodes.
    pub(super) evaluation: Evaluation,
}

/// Space to look at one node.
#[derive(Clone, Debug, Default)]
pub(super) struct NodeScratch {
    /// A group's key under construction.
    pub(super) key: Vec<u64>,
    /// Space for dry runs.
    pub(super) space: DryRunSpace,
}

/// How the pods of a class are decided.
#[derive(Clone, Debug)]
pub(super) enum Scope {
    /// By the table of all nodes.
    All,
    /// Only these nodes may be asked: they are, in every attempt.
    Few(Box<[Sym]>),
    /// By the plain path.
    Plain,
}

/// Pods that are alike to every plugin, and what is known about them.
#[derive(Clone)]
pub(super) struct Class {
    /// What the pods have in common.
    pub(super) example: Arc<Pod>,
    pub(super) scope: Scope,
    /// What the plugins keep.
    pub(super) cycle: CycleState,
    /// Rules that look at anything found something for the pod before.
    pub(super) asked_cluster: bool,
    /// Every node, by position.
    pub(super) rows: Vec<Row>,
    pub(super) groups: Groups,
    pub(super) layout: Layout,
    pub(super) tree: Tree,
    /// Over which range each score is compared that groups have in common, as last evaluated.
    pub(super) ranges: Vec<Range>,
    /// The groups have to be evaluated again.
    pub(super) stale: bool,
    /// The first change of the cluster that is not taken in.
    pub(super) seen: u64,
    /// The first change of nominations that is not taken in.
    pub(super) seen_nominations: u64,
    /// How many resources were known when the class was opened.
    pub(super) resources: usize,
    /// Which label groups matter to what the plugins keep.
    pub(super) relevant_groups: RelevantLabelGroups,
    /// The marks of the labels that those must bear.
    pub(super) label_marks: u64,
    /// The marks of the pods' own labels.
    pub(super) labels: u64,
    /// The position of a node that was last looked at for one pod alone.
    pub(super) overlooked: Option<u32>,
    /// What preemption found out, if one of the pods had to try it lately.
    pub(super) dry_runs: Option<Box<ClassDryRuns>>,
}

impl Class {
    /// Opens a class by looking at the whole cluster.
    pub(super) fn open(
        profile: Profile<'_>,
        cx: Cx<'_>,
        example: Arc<Pod>,
        scratch: &mut Scratch,
    ) -> Self {
        let mut class = Self {
            example,
            scope: Scope::Plain,
            cycle: CycleState::new(0),
            asked_cluster: false,
            rows: Vec::new(),
            groups: Groups::default(),
            layout: Layout::default(),
            tree: Tree::default(),
            ranges: Vec::new(),
            stale: true,
            seen: 0,
            seen_nominations: 0,
            resources: 0,
            relevant_groups: RelevantLabelGroups::default(),
            label_marks: 0,
            labels: 0,
            overlooked: None,
            dry_runs: None,
        };
        class.reopen(profile, cx, scratch);
        class
    }

    pub(super) fn reopen(&mut self, profile: Profile<'_>, cx: Cx<'_>, scratch: &mut Scratch) {
        let Profile { framework, plan } = profile;
        self.seen = cx.cluster.log().end();
        self.seen_nominations = cx.underway.nominator.changes_end();
        self.resources = cx.cluster.resource_names.len();
        self.scope = Scope::Plain;
        self.overlooked = None;
        self.groups = Groups::default();
        self.relevant_groups = RelevantLabelGroups::default();
        self.dry_runs = None;
        if plan.is_plain {
            return;
        }
        let Some((cycle, narrowed)) = framework.open(cx, &self.example) else {
            return;
        };
        self.cycle = cycle;
        self.asked_cluster = false;
        if let Some(names) = narrowed {
            self.scope = Scope::Few(names.into_iter().collect());
            self.look_for(profile);
            return;
        }
        if framework
            .open_scores(cx, &mut self.cycle, &self.example)
            .is_none()
        {
            return;
        }
        self.scope = Scope::All;
        self.look_for(profile);
        self.regroup(profile, cx, scratch);
    }

    fn look_for(&mut self, Profile { framework, plan }: Profile<'_>) {
        self.label_marks = framework.label_marks(plan, &self.cycle);
        self.labels = self.example.labels.marks();
    }

    /// Makes room for a node that is yet to be looked at.
    pub(super) fn push_row(&mut self) {
        if !matches!(self.scope, Scope::All) {
            return;
        }
        let group = self.groups.intern(&[Tag::Unseen.pack()]);
        self.groups.list[group as usize].members += 1;
        self.rows.push(Row { score: 0, group });
    }

    pub(super) fn remove_row(&mut self, at: usize) {
        if at < self.rows.len() {
            let row = self.rows.swap_remove(at);
            self.groups.list[row.group as usize].members -= 1;
            self.tree.touch_all();
        }
    }

    /// Looks at all nodes and groups them anew.
    pub(super) fn regroup(&mut self, profile: Profile<'_>, cx: Cx<'_>, scratch: &mut Scratch) {
        self.groups.clear();
        self.rows.clear();
        self.tree.touch_all();
        self.stale = true;
        let Some(first) = cx.cluster.nodes().first() else {
            return;
        };
        self.layout = Layout::new(profile, &self.cycle, &self.example, first);
        self.look_at_all(profile, cx, scratch);
        self.groups.is_settled = true;
    }

    /// Looks at one node again, for all pods of the class or for one alone: a pod's own nomination
    /// does not stand in its way.
    pub(super) fn look(
        &mut self,
        profile: Profile<'_>,
        cx: Cx<'_>,
        at: usize,
        pod: Option<&Pod>,
        node_scratch: &mut NodeScratch,
    ) {
        let node = &cx.cluster.nodes()[at];
        let score = self.evaluate_node(profile, cx, node, pod, node_scratch);
        self.set_row(at, score, &node_scratch.key);
    }

    pub(super) fn set_row(&mut self, at: usize, score: i32, key: &[u64]) {
        let group = self.groups.intern(key);
        let before = self.rows[at];
        if before.group != group {
            self.groups.list[before.group as usize].members -= 1;
            self.groups.list[group as usize].members += 1;
            self.stale = true;
        }
        self.replace_row(at, score, group);
    }

    #[inline]
    pub(super) fn replace_row(&mut self, at: usize, score: i32, group: GroupId) {
        let (before, after) = (self.rows[at], Row { score, group });
        self.rows[at] = after;
        if self.tree.is_stale() {
            return;
        }
        let bonus = &self.groups.bonus;
        self.tree.touch(at, before.total(bonus), after.total(bonus));
    }

    /// Writes the key of the node's group into the scratch space, and returns the score that concerns the
    /// node alone.
    fn evaluate_node(
        &mut self,
        profile: Profile<'_>,
        cx: Cx<'_>,
        node: &NodeInfo,
        alone: Option<&Pod>,
        NodeScratch { key, space }: &mut NodeScratch,
    ) -> i32 {
        let Profile { framework, plan } = profile;
        let pod = alone.unwrap_or(&self.example);
        key.clear();
        key.push(Tag::Open.pack());
        let nominated = has_nominated(cx, pod, node);
        let checks_domains = plan
            .domain_filters
            .iter()
            .any(|rule| framework.filters(*rule, &self.cycle));
        let verdict = if nominated && checks_domains {
            key[0] = Tag::Alone(node.node.name.number()).pack();
            Ok(())
        } else if nominated {
            DryRun::new(framework, cx, &self.cycle, pod, space)
                .fits_on(node)
                .map_err(|rejected| (framework.filter_order(rejected.plugin), rejected))
        } else {
            framework
                .first_rejection(&plan.node_filters, cx, &self.cycle, pod, node)
                .map_err(|(rule, status)| {
                    let plugin = framework.name_of(rule.plugin);
                    (rule.order, PluginStatus { plugin, status })
                })
        };
        let before = match &verdict {
            Err((order, _)) => *order,
            Ok(()) => usize::MAX,
        };
        for rule in &plan.domain_filters {
            if rule.order < before {
                framework.filter_group_key(*rule, &self.cycle, node, key);
            }
        }
        if let Err((order, rejected)) = verdict {
            key[0] = Tag::Rejected(self.groups.verdict_id(order, rejected)).pack();
            return 0;
        }
        self.score_group_keys(profile, cx, node, None, key)
    }

    pub(super) fn score_group_keys(
        &self,
        Profile { framework, plan }: Profile<'_>,
        cx: Cx<'_>,
        node: &NodeInfo,
        known: Option<Option<i32>>,
        key: &mut Vec<u64>,
    ) -> i32 {
        let (cycle, pod) = (&self.cycle, &*self.example);
        if let Some(packing) = framework.packing() {
            return score_sum(packing.key(pod, node));
        }
        for &plugin in &plan.relative_scores {
            if framework.scores(plugin, cycle) {
                let raw = framework.score(plugin, cx, cycle, pod, node);
                key.push(pack_raw(raw));
            }
        }
        for &plugin in &plan.domain_scores {
            framework.score_group_key(plugin, cycle, pod, node, key);
        }
        known
            .unwrap_or_else(|| self.absolute_score(framework, plan, cx, node))
            .unwrap_or_else(|| {
                key[0] |= ODD;
                0
            })
    }

    /// The scores that need no comparison; `None` if one is out of range.
    fn absolute_score(
        &self,
        framework: &Framework,
        plan: &Plan,
        cx: Cx<'_>,
        node: &NodeInfo,
    ) -> Option<i32> {
        let (cycle, pod) = (&self.cycle, &*self.example);
        let mut sum = 0;
        for &plugin in &plan.absolute_scores {
            if framework.scores(plugin, cycle) {
                let score = framework.score(plugin, cx, cycle, pod, node).unwrap_or(0);
                if !(0..=MAX_NODE_SCORE).contains(&score) {
                    return None;
                }
                sum += score * framework.weight(plugin);
            }
        }
        Some(score_sum(sum))
    }

    /// Whether some verdict is an error, so that the attempt fails.
    pub(super) fn has_errors(&self) -> bool {
        self.groups.list.iter().any(|group| {
            group.members > 0
                && group.verdict != super::groups::FITS
                && self.groups.verdict(group.verdict).rejected.status.code == Code::Error
        })
    }

    /// About how many bytes the class takes up; dry runs have a room of their own.
    pub(super) fn size(&self, framework: &Framework) -> usize {
        /// What an example refers to, of a pod with a container, some labels and tolerations.
        const EXAMPLE: usize = 1024;
        size_of::<Self>()
            + size_of::<Pod>()
            + EXAMPLE
            + framework.bytes(&self.cycle)
            + self.rows.capacity() * size_of::<Row>()
            + self.tree.size()
            + self.groups.size()
            + self.relevant_groups.size()
    }
}

const NO_RAW: u64 = i64::MIN.cast_unsigned();

fn pack_raw(raw: Option<i64>) -> u64 {
    raw.map_or(NO_RAW, i64::cast_unsigned)
}

/// The raw score of a word.
pub(super) fn unpack_raw(word: u64) -> Option<i64> {
    (word != NO_RAW).then_some(word.cast_signed())
}
