//! Taking in what changed since a class was last used.

use super::class::{Class, Profile, Scope, Scratch};
use super::marks::Mark;
use crate::Delta;
use crate::cast::{distance, narrow};
use crate::framework::{Changed, Cx, DomainRules, Invalidation, RelevantChange, RelevantChanges};

/// Which label groups matter, as far as that was asked.
#[derive(Clone, Debug, Default)]
pub(super) struct RelevantLabelGroups {
    /// Two bits each.
    bits: Vec<u64>,
    /// Those that do, by number, and the rules that they matter to.
    list: Vec<(u32, DomainRules)>,
    /// All label groups below this number were asked about.
    asked: u32,
}

impl RelevantLabelGroups {
    /// About how many bytes it takes up.
    pub(super) fn size(&self) -> usize {
        self.bits.capacity() * size_of::<u64>()
            + self.list.capacity() * size_of::<(u32, DomainRules)>()
    }

    /// The rules that a label group matters to.
    #[inline]
    fn get(&mut self, label_group: u32, rules: impl FnOnce() -> DomainRules) -> DomainRules {
        let (word, shift) = (label_group as usize / 32, label_group % 32 * 2);
        if self.bits.len() <= word {
            self.bits.resize(word + 1, 0);
        }
        match self.bits[word] >> shift & 3 {
            0 => {
                let rules = rules();
                self.bits[word] |= if rules != 0 { 3 } else { 1 } << shift;
                if rules != 0 {
                    self.list
                        .insert(self.place(label_group), (label_group, rules));
                }
                rules
            }
            3 => self.list[self.place(label_group)].1,
            _ => 0,
        }
    }

    /// Where in the list a label group stands, or would stand.
    fn place(&self, label_group: u32) -> usize {
        match self.list.last() {
            Some((last, _)) if *last < label_group => self.list.len(),
            _ => self.list.partition_point(|(other, _)| *other < label_group),
        }
    }
}

impl Class {
    /// Takes in what changed since the class was last used.
    pub(super) fn catch_up(&mut self, profile: Profile<'_>, cx: Cx<'_>, scratch: &mut Scratch) {
        // What the pod before was asked is no business of this one.
        let Profile { framework, plan } = profile;
        if std::mem::take(&mut self.asked_cluster) {
            framework.forget_cluster_filters(plan, &mut self.cycle);
        }
        let (deltas, nominations) = (
            cx.cluster.log().since(self.seen),
            cx.underway.nominator.changes_since(self.seen_nominations),
        );
        let (Some((a, b)), Some(nominations)) = (deltas, nominations) else {
            return self.reopen(profile, cx, scratch);
        };
        if self.resources != cx.cluster.resource_names.len() {
            return self.reopen(profile, cx, scratch);
        }
        if matches!(self.scope, Scope::Plain) {
            // What made it so may be gone: a look at the pod is all that it takes to find out.
            if !a.is_empty() || !b.is_empty() {
                self.reopen(profile, cx, scratch);
            }
            return;
        }
        if let Some(at) = self.overlooked.take() {
            scratch.marks.set(at, Mark::All);
        }
        let many = (a.len() + b.len()) * 8 > cx.cluster.nodes().len();
        let mut kept = Invalidation::Nothing;
        for (deltas, from) in [(a, self.seen), (b, self.seen + a.len() as u64)] {
            if deltas.is_empty() || kept == Invalidation::State {
                continue;
            }
            match many {
                true => self.choose_of_many(profile, cx, from, deltas.len(), &mut scratch.changes),
                false => self.choose(profile, cx, deltas, scratch),
            }
            kept = kept.max(self.take_in(profile, cx, deltas, scratch));
        }
        if kept == Invalidation::State {
            scratch.marks.forget();
            return self.reopen(profile, cx, scratch);
        }
        for node in nominations {
            if let Some(at) = cx.cluster.node_position(*node) {
                scratch.marks.set(narrow(at), Mark::All);
            }
        }
        let seen = std::mem::replace(&mut self.seen, cx.cluster.log().end());
        self.seen_nominations = cx.underway.nominator.changes_end();
        self.stale |= kept >= Invalidation::Answers;
        if !matches!(self.scope, Scope::All) {
            scratch.marks.forget();
        } else if kept == Invalidation::Groups || self.groups.is_sparse() {
            scratch.marks.forget();
            self.regroup(profile, cx, scratch);
        } else {
            let since = many.then_some(seen);
            self.look_at_changed(profile, cx, scratch, since);
        }
    }

    /// The rules whose kept state pods of this label group matter to.
    fn rules_affected_by(
        &mut self,
        Profile { framework, plan }: Profile<'_>,
        cx: Cx<'_>,
        label_group: u32,
    ) -> DomainRules {
        let (cycle, own) = (&self.cycle, &self.example);
        let (labels, label_marks) = (self.labels, self.label_marks);
        self.relevant_groups.get(label_group, || {
            let label_group = cx.cluster.label_groups().get(label_group);
            match label_group.may_matter(labels, label_marks) {
                true => framework.rules_affected_by(plan, cx, cycle, own, &label_group.example),
                false => 0,
            }
        })
    }

    /// Notes the changes that matter beyond the node that they are about, and marks
    /// the nodes of the others.
    fn choose(
        &mut self,
        profile: Profile<'_>,
        cx: Cx<'_>,
        deltas: &[Delta],
        scratch: &mut Scratch,
    ) {
        scratch.changes.clear();
        for (at, delta) in (0..).zip(deltas) {
            let rules = match delta {
                Delta::Pod { label_group, .. } => self.rules_affected_by(profile, cx, *label_group),
                _ => DomainRules::MAX,
            };
            match delta {
                Delta::Pod { at, .. } if rules == 0 => scratch.marks.set(*at, Mark::Pods),
                _ => scratch.changes.push(RelevantChange { at, rules }),
            }
        }
    }

    /// As [`choose`](Self::choose), of so many changes from number `from` on that they are not gone
    /// through one by one. The nodes of the others are yet to be marked.
    fn choose_of_many(
        &mut self,
        profile: Profile<'_>,
        cx: Cx<'_>,
        from: u64,
        count: usize,
        changes: &mut Vec<RelevantChange>,
    ) {
        let known = narrow(cx.cluster.label_groups().len());
        for new in std::mem::replace(&mut self.relevant_groups.asked, known)..known {
            self.rules_affected_by(profile, cx, new);
        }
        changes.clear();
        let log = cx.cluster.log();
        let end = from + count as u64;
        let change = |number: u64, rules| RelevantChange {
            at: narrow(distance(number - from)),
            rules,
        };
        for (label_group, rules) in &self.relevant_groups.list {
            let first = changes.len();
            log.of_label_group(*label_group, from, |number| {
                if number < end {
                    changes.push(change(number, *rules));
                }
            });
            // One label group after the other, each in the order of time: nobody goes before they came.
            changes[first..].reverse();
        }
        let others = log.others_since(from).take_while(|number| *number < end);
        let pods = changes.len();
        changes.extend(others.map(|number| change(number, DomainRules::MAX)));
        // In which order pods of different label groups come and go does not matter, unless nodes do too.
        if changes.len() > pods {
            changes.sort_unstable();
        }
    }

    /// Lets the plugins follow the changes that matter, moves rows as nodes moved, and marks
    /// those that have to be looked at.
    fn take_in(
        &mut self,
        Profile { framework, plan }: Profile<'_>,
        cx: Cx<'_>,
        deltas: &[Delta],
        scratch: &mut Scratch,
    ) -> Invalidation {
        let mut kept = Invalidation::Nothing;
        for change in &scratch.changes {
            match &deltas[change.at as usize] {
                Delta::Pod { at, .. } => scratch.marks.set(*at, Mark::All),
                Delta::NodeUpdated { at, .. } => {
                    scratch.marks.set(*at, Mark::All);
                    self.stale = true;
                }
                Delta::NodeAdded { .. } => {
                    scratch.marks.set(narrow(self.rows.len()), Mark::All);
                    self.push_row();
                    self.stale = true;
                }
                Delta::NodeRemoved { at, .. } => {
                    self.remove_row(*at as usize);
                    scratch.marks.set(*at, Mark::All);
                    self.stale = true;
                }
                Delta::Object {
                    kind,
                    namespace,
                    name,
                    before,
                } => {
                    let object = Changed {
                        kind: *kind,
                        namespace: *namespace,
                        name: *name,
                        before: before.as_ref(),
                    };
                    if framework.forgets(cx, &self.example, object) {
                        kept = Invalidation::State;
                    }
                }
            }
        }
        if scratch.changes.is_empty() || kept == Invalidation::State {
            return kept;
        }
        let (cycle, pod) = (&mut self.cycle, &self.example);
        let changes = RelevantChanges {
            deltas,
            changes: &scratch.changes,
            rules: DomainRules::MAX,
        };
        kept.max(framework.update(plan, cx, cycle, pod, changes))
    }
}

#[cfg(test)]
mod tests {
    use crate::fast::Classes;
    use crate::framework::PluginArgs;
    use crate::framework::{Framework, Plugins, expand};
    use crate::model::{Kind, Object, OwnerRef, Pod, PodSelectorOwner};
    use crate::plugins::registry::in_tree;
    use crate::testing::World;
    use std::sync::Arc;
    use stowplan_base::Sym;

    struct Stage {
        world: World,
        framework: Framework,
        classes: Classes,
        pod: Pod,
    }

    impl Stage {
        /// A node, and a pending pod of ReplicaSet `web` with the label `app=web`.
        fn new() -> Self {
            let mut world = World::default();
            let node = world.node("n", &[]);
            world.add_node(node);
            let mut pod = world.pod("ns/web-1", &[("app", "web")]);
            pod.controller = Some(OwnerRef {
                api_version: world.sym("apps/v1"),
                kind: world.sym("ReplicaSet"),
                name: world.sym("web"),
                uid: "".into(),
            });
            let plugins = Plugins::default_plugins();
            let args = PluginArgs::default();
            Self {
                framework: expand("p", &plugins, &args, &in_tree()).unwrap(),
                classes: Classes::default(),
                world,
                pod,
            }
        }

        /// Whether all nodes are looked at when the pod is tried.
        fn looks_anew(&mut self) -> bool {
            let evaluation = |classes: &Classes| classes.stats().alike + classes.stats().each;
            let before = evaluation(&self.classes);
            self.classes
                .schedule_pod(&self.framework, self.world.cx(), &self.pod);
            evaluation(&self.classes) > before
        }

        fn owner(&mut self, name: &str, kind: Kind, app: &str) -> Arc<PodSelectorOwner> {
            let owner = PodSelectorOwner {
                kind,
                namespace: self.world.sym("ns"),
                name: self.world.sym(name),
                selector: self.world.selector(&[("app", app)]),
            };
            Arc::new(owner)
        }

        fn service(&mut self, app: &str) {
            let service = self.owner("s", Kind::Service, app);
            self.world.add(Object::Service(service));
        }

        fn replica_set(&mut self, name: &str, app: &str) {
            let set = self.owner(name, Kind::ReplicaSet, app);
            self.world.add(Object::ReplicaSet(set));
        }
    }

    #[test]
    fn nodes_are_looked_at_anew_only_if_what_selects_the_pod_changes() {
        let mut stage = Stage::new();
        stage.replica_set("web", "web");
        assert!(stage.looks_anew(), "at first");
        assert!(!stage.looks_anew(), "nothing changed");
        stage.replica_set("web", "web");
        assert!(
            !stage.looks_anew(),
            "only the status of the owner can differ"
        );
        stage.replica_set("other", "web");
        assert!(!stage.looks_anew(), "somebody else's owner");
        stage.replica_set("web", "shop");
        assert!(stage.looks_anew(), "the owner selects others");
        stage.service("shop");
        assert!(!stage.looks_anew(), "a Service for other pods");
        stage.service("web");
        assert!(stage.looks_anew(), "a Service that selects the pod");
        stage.service("web");
        assert!(!stage.looks_anew(), "the same Service");
        let (namespace, name) = (stage.world.sym("ns"), stage.world.sym("s"));
        let gone = stage.world.snapshot.remove(Kind::Service, namespace, name);
        assert!(gone.is_some());
        assert!(stage.looks_anew(), "that Service is gone");
    }

    #[test]
    fn a_namespace_that_is_told_again_changes_nothing() {
        let mut stage = Stage::new();
        stage.world.add_namespace("ns", &[("team", "a")]);
        assert!(stage.looks_anew());
        stage.world.add_namespace("ns", &[("team", "a")]);
        assert!(!stage.looks_anew());
        stage.world.add_namespace("ns", &[("team", "b")]);
        assert!(stage.looks_anew());
        let name = stage.world.sym("ns");
        stage
            .world
            .snapshot
            .remove(Kind::Namespace, Sym::EMPTY, name);
        assert!(stage.looks_anew());
    }
}
