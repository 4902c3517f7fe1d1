//! The arguments of PodTopologySpread.

use crate::framework::args::{ArgValue, Args, FieldError, Fields};
use crate::model::{Selector, SpreadConstraint, UnsatisfiableAction};
use stowplan_base::label_key;

/// `PodTopologySpreadArgs`.
#[derive(Clone, Debug, Default)]
pub struct PodTopologySpreadArgs {
    /// `defaultConstraints` and `defaultingType`.
    pub defaults: DefaultConstraints,
}

/// What applies to pods that name no constraints of their own.
#[derive(Clone, Debug, Default)]
pub enum DefaultConstraints {
    /// `defaultingType: System`: zone with skew 5 and hostname with skew 3, both soft.
    #[default]
    System,
    /// `defaultingType: List`: these; their selector comes from the pod's owner.
    List(Vec<SpreadConstraint>),
}

const SYSTEM: &str = "System";
const LIST: &str = "List";
const DO_NOT_SCHEDULE: &str = "DoNotSchedule";
const SCHEDULE_ANYWAY: &str = "ScheduleAnyway";

impl Args for PodTopologySpreadArgs {
    fn decode(fields: &mut Fields<'_>) -> Result<Self, FieldError> {
        let mut kind = fields.get("defaultingType", String::new())?;
        if kind.is_empty() {
            kind = SYSTEM.to_owned();
            fields.set("defaultingType", SYSTEM);
        }
        let path = fields.path("defaultingType");
        if ![SYSTEM, LIST].contains(&kind.as_str()) {
            fields.reject(path.not_supported(&kind, &[SYSTEM, LIST]));
        }
        let is_empty = match fields.written("defaultConstraints") {
            ArgValue::List(constraints) => constraints.is_empty(),
            _ => true,
        };
        if kind == SYSTEM && !is_empty {
            let detail = "when .defaultConstraints are not empty";
            fields.reject(path.invalid(&kind, detail));
        }
        let mut known: Vec<(String, String)> = Vec::new();
        let constraints = fields.list("defaultConstraints", |constraint| {
            let (key, action, made) = decode_constraint(constraint)?;
            if known.contains(&(key.clone(), action.clone())) {
                let what = format!("{{{key}, {action}}}");
                constraint.reject(constraint.here().duplicate(what));
            }
            known.push((key, action));
            Ok(made)
        })?;
        let defaults = match kind == LIST {
            true => DefaultConstraints::List(constraints),
            false => DefaultConstraints::System,
        };
        Ok(Self { defaults })
    }
}

/// A constraint with its topology key and its action as they are written.
fn decode_constraint(
    fields: &mut Fields<'_>,
) -> Result<(String, String, SpreadConstraint), FieldError> {
    let max_skew: i32 = fields.get("maxSkew", 0)?;
    let key: String = fields.get("topologyKey", String::new())?;
    let action: String = fields.get("whenUnsatisfiable", String::new())?;
    let selector: Option<ArgValue> = fields.optional("labelSelector")?;
    let min_domains: Option<i32> = fields.optional("minDomains")?;
    let affinity_policy: Option<String> = fields.optional("nodeAffinityPolicy")?;
    let taints_policy: Option<String> = fields.optional("nodeTaintsPolicy")?;
    let match_label_keys: Option<Vec<String>> = fields.optional("matchLabelKeys")?;
    fields.check(
        max_skew > 0,
        "maxSkew",
        max_skew,
        "not in valid range (0, inf)",
    );
    let path = fields.path("topologyKey");
    if key.is_empty() {
        fields.reject(path.required("can not be empty"));
    } else {
        for detail in label_key(&key) {
            fields.reject(path.invalid(&key, detail));
        }
    }
    let path = fields.path("whenUnsatisfiable");
    match action.as_str() {
        DO_NOT_SCHEDULE | SCHEDULE_ANYWAY => {}
        "" => fields.reject(path.required("can not be empty")),
        other => fields.reject(path.not_supported(other, &[DO_NOT_SCHEDULE, SCHEDULE_ANYWAY])),
    }
    if selector.is_some() {
        let detail = "constraint must not define a selector, as they deduced for each pod";
        fields.reject(fields.path("labelSelector").forbidden(detail));
    }
    let keys = match_label_keys.unwrap_or_default();
    let constraint = SpreadConstraint {
        max_skew,
        topology_key: fields.sym(&key),
        when_unsatisfiable: match action == SCHEDULE_ANYWAY {
            true => UnsatisfiableAction::ScheduleAnyway,
            false => UnsatisfiableAction::DoNotSchedule,
        },
        selector: Selector::Nothing,
        min_domains: min_domains.unwrap_or(1),
        honor_node_affinity: affinity_policy.as_deref() != Some("Ignore"),
        honor_node_taints: taints_policy.as_deref() == Some("Honor"),
        match_label_keys: keys.iter().map(|key| fields.sym(key)).collect(),
    };
    Ok((key, action, constraint))
}
