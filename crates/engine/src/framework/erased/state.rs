//! What kept state for Filter and kept state for Score have in common, without its type.

/// The methods that [`AnyFilterState`](super::AnyFilterState) and [`AnyScoreState`](super::AnyScoreState)
/// share: `kept_state!()` declares them, `kept_state!(FilterState)` implements them by that associated type.
macro_rules! kept_state {
    () => {
        fn scope(&self) -> Scope;
        fn reads(&self, state: &dyn State, pod: &Pod) -> Option<Reads>;
        fn skips(&self, state: &dyn State) -> bool;
        fn label_marks(&self, state: &dyn State) -> u64;
        fn is_affected_by(&self, state: &dyn State, cx: Cx<'_>, pod: &Pod, other: &Pod) -> bool;
        /// Every fact of these changes.
        fn update(
            &self,
            state: &mut dyn State,
            cx: Cx<'_>,
            pod: &Pod,
            changes: RelevantChanges<'_>,
        ) -> Invalidation;
        /// About how many bytes state takes up, itself included.
        fn bytes(&self, state: &dyn State) -> usize;
        /// The kinds of objects that the state may be invalidated by, as
        /// [`Kind::bit`](crate::model::Kind::bit)s.
        fn invalidating_kinds(&self) -> u32;
        fn is_invalidated_by(&self, cx: Cx<'_>, pod: &Pod, object: Changed<'_>) -> bool;
    };
    ($state:ident) => {
        fn scope(&self) -> Scope {
            P::$state::SCOPE
        }

        fn reads(&self, state: &dyn State, pod: &Pod) -> Option<Reads> {
            typed::<P::$state>(state).reads(self, pod)
        }

        fn skips(&self, state: &dyn State) -> bool {
            typed::<P::$state>(state).skips()
        }

        fn label_marks(&self, state: &dyn State) -> u64 {
            typed::<P::$state>(state).label_marks()
        }

        fn is_affected_by(&self, state: &dyn State, cx: Cx<'_>, pod: &Pod, other: &Pod) -> bool {
            typed::<P::$state>(state).is_affected_by(self, cx, pod, other)
        }

        fn update(
            &self,
            state: &mut dyn State,
            cx: Cx<'_>,
            pod: &Pod,
            changes: RelevantChanges<'_>,
        ) -> Invalidation {
            let state: &mut P::$state = typed_mut(state);
            let mut invalid = Invalidation::Nothing;
            for delta in changes.deltas() {
                delta.facts(|fact, holds| {
                    invalid = invalid.max(state.update(self, cx, pod, fact, holds));
                });
            }
            invalid
        }

        fn bytes(&self, state: &dyn State) -> usize {
            size_of::<P::$state>() + typed::<P::$state>(state).bytes()
        }

        fn invalidating_kinds(&self) -> u32 {
            let kinds = P::$state::INVALIDATED_BY.iter();
            kinds.fold(0, |all, (kind, _)| all | kind.bit())
        }

        fn is_invalidated_by(&self, cx: Cx<'_>, pod: &Pod, object: Changed<'_>) -> bool {
            let mut kinds = P::$state::INVALIDATED_BY.iter();
            kinds.any(|(kind, invalidates)| {
                *kind == object.kind && invalidates(self, cx, pod, object)
            })
        }
    };
}
