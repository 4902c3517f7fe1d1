//! What several controllers need: owners, selectors, the state of pods, pods from templates.

mod availability;
mod claim;
mod fnv;
mod hash;
mod meta;
mod orphans;
mod owned;
mod pods;
mod quantity;
mod scaled;
mod selector;
mod served;
mod sort;
mod template;
mod trigger_times;

pub use availability::next_availability;
pub use claim::{Claimed, claim, is_as_seen};
pub use fnv::fnv_128a;
pub use hash::{safe_encode, template_hash};
pub use meta::{
    annotation, annotations, controller_of, controller_ref, created_at, finalizers,
    is_controlled_by, is_deleting, label, labels, name, namespace, uid,
};
pub use orphans::{
    ORPHANS, SELECTORS, claimable, enqueue_owners, orphan_places, orphans, selecting,
    selector_place,
};
pub use owned::{add_owners, candidates, index_orphans};
pub use pods::{
    disruption_target, is_pod_active, is_pod_available, is_pod_finished, is_pod_ready,
    is_pod_terminating, pod_condition, pod_phase, pod_ready_since, time,
};
pub use quantity::{Amount, amount};
pub use scaled::scaled_value;
pub use selector::{Selector, selector_as_go_prints_it};
pub use served::{Served, group_version, query_escape, served, unread, well_known};
pub use sort::sorted;
pub use template::{pod_from_template, pod_prefix};
pub use trigger_times::{TriggerTimes, set_trigger_time};
