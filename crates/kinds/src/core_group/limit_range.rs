//! LimitRange.
//!
//! Upstream: `ValidateLimitRange` of `pkg/apis/core/validation/validation.go`,
//! `SetDefaults_LimitRangeItem`.

use crate::common::faults::Faults;
use crate::common::resource_name_rules::{validate, validate_for_containers};
use crate::common::resource_names::may_overcommit;
use crate::common::{kube_metadata, name_rules, quantities};
use crate::{Context, CreateStrategy, Strategy, UpdateStrategy};
use serde_json::Value;
use std::collections::BTreeSet;
use stowplan_apimachinery::field::{ErrorList, Path};
use stowplan_apimachinery::quantity::Quantity;
use stowplan_apimachinery::{Edit, View, meta, names};

pub(crate) struct LimitRange;

const BOUNDS: [&str; 5] = [
    "max",
    "min",
    "default",
    "defaultRequest",
    "maxLimitRequestRatio",
];

impl CreateStrategy for LimitRange {
    fn prepare_for_create(&self, object: &mut Value, _: &Context<'_>) {
        // Upstream makes up a random uid; the object's own is as good.
        if meta::name(object).is_empty() {
            let uid = meta::uid(object).to_owned();
            object.at_mut("metadata").set("name", uid);
        }
    }

    fn validate(&self, object: &Value, _: &Context<'_>) -> ErrorList {
        let mut errors = kube_metadata::validate(object, true, &name_rules::dns_subdomain);
        let path = Path::new("spec");
        let path = path.child("limits");
        let mut types = BTreeSet::new();
        for (i, limit) in object.at("spec").list("limits").iter().enumerate() {
            let path = path.index(i);
            let kind = limit.text("type");
            validate_type(kind, &path.child("type"), &mut errors);
            if !types.insert(kind) {
                errors.duplicate(&path.child("type"), kind);
            }
            errors.extend(validate_names(limit, &path));
            errors.extend(validate_amounts(limit, &path));
        }
        errors
    }

    fn validate_name(&self, name: &str, prefix: bool) -> Vec<String> {
        name_rules::dns_subdomain(name, prefix)
    }
}

impl UpdateStrategy for LimitRange {
    fn validate_update(&self, new: &Value, _: &Value, cx: &Context<'_>) -> ErrorList {
        self.validate(new, cx)
    }

    fn allow_create_on_update(&self) -> bool {
        true
    }
}

impl Strategy for LimitRange {
    fn set_defaults(&self, object: &mut Value) {
        let Some(spec) = object.child_mut("spec") else {
            return;
        };
        for limit in spec.each_mut("limits") {
            if limit.text("type") == "Container" {
                fill(limit, "max", "default");
                fill(limit, "default", "defaultRequest");
                fill(limit, "min", "defaultRequest");
            }
            for bound in BOUNDS {
                quantities::round_up_list(limit, bound);
            }
        }
    }
}

/// Puts what one bound has and another lacks into the other.
fn fill(limit: &mut Value, from: &str, to: &str) {
    let Value::Object(known) = limit.at(from).clone() else {
        return;
    };
    for (resource, amount) in known {
        limit.at_mut(to).default_to(&resource, amount);
    }
}

fn validate_type(kind: &str, path: &Path<'_>, errors: &mut ErrorList) {
    let faults = names::label_key(kind);
    if !faults.is_empty() {
        errors.invalid_each(path, kind, faults);
    } else if !kind.contains('/') && !matches!(kind, "Pod" | "Container" | "PersistentVolumeClaim")
    {
        let fault = "must be a standard limit type or fully qualified";
        errors.invalid(path, kind, fault);
    }
}

fn validate_names(limit: &Value, path: &Path<'_>) -> ErrorList {
    let mut errors = ErrorList::new();
    let kind = limit.text("type");
    let check = |bound: &str, errors: &mut ErrorList| {
        let path = path.child(bound);
        for (resource, _) in limit.entries(bound) {
            match kind {
                "Pod" | "Container" => {
                    validate_for_containers(resource, &path.key(resource), errors);
                }
                _ => validate(resource, &path.key(resource), errors),
            }
        }
    };
    check("max", &mut errors);
    check("min", &mut errors);
    for bound in ["default", "defaultRequest"] {
        if kind != "Pod" {
            check(bound, &mut errors);
        } else if limit.entries(bound).next().is_some() {
            let fault = "may not be specified when `type` is 'Pod'";
            errors.forbidden(&path.child(bound), fault);
        }
    }
    let bounded = limit.at("min").has("storage") || limit.at("max").has("storage");
    if kind == "PersistentVolumeClaim" && !bounded {
        errors.required(
            &path.child("limits"),
            "either minimum or maximum storage value is required, but neither was provided",
        );
    }
    check("maxLimitRequestRatio", &mut errors);
    errors
}

/// The bounds of one resource.
struct Bounds {
    min: Option<Quantity>,
    max: Option<Quantity>,
    default: Option<Quantity>,
    request: Option<Quantity>,
    ratio: Option<Quantity>,
}

fn validate_amounts(limit: &Value, path: &Path<'_>) -> ErrorList {
    let mut errors = ErrorList::new();
    let pod = limit.text("type") == "Pod";
    let bounds = BOUNDS.iter().filter(|b| !pod || !b.starts_with("default"));
    let resources: BTreeSet<&str> = bounds
        .flat_map(|bound| limit.entries(bound).map(|(resource, _)| resource))
        .collect();
    for resource in resources {
        let amount = |bound: &str| {
            let amount = limit.at(bound).at(resource);
            let counts = !pod || !bound.starts_with("default");
            (counts && !amount.is_null()).then(|| Quantity::of(amount))
        };
        let bounds = Bounds {
            min: amount("min"),
            max: amount("max"),
            default: amount("default"),
            request: amount("defaultRequest"),
            ratio: amount("maxLimitRequestRatio"),
        };
        validate_order(&bounds, resource, path, &mut errors);
        validate_ratio(&bounds, resource, path, &mut errors);
        let (Some(default), Some(request)) = (&bounds.default, &bounds.request) else {
            continue;
        };
        if !may_overcommit(resource) && default != request {
            let at = path.child("defaultRequest");
            let fault = format!(
                "default value {default} must equal to defaultRequest value {request} in {resource}"
            );
            errors.invalid(&at.key(resource), request.to_string(), fault);
        }
    }
    errors
}

/// Each bound against those that it may not exceed. Two of the errors name the field of one bound
/// and show the value of another, as upstream's do.
fn validate_order(bounds: &Bounds, resource: &str, path: &Path<'_>, errors: &mut ErrorList) {
    let Bounds {
        min,
        max,
        default,
        request,
        ..
    } = bounds;
    let rules = [
        ("min", min, min, "min value", max, "max value"),
        (
            "defaultRequest",
            request,
            min,
            "min value",
            request,
            "default request value",
        ),
        (
            "defaultRequest",
            request,
            request,
            "default request value",
            max,
            "max value",
        ),
        (
            "defaultRequest",
            request,
            request,
            "default request value",
            default,
            "default limit value",
        ),
        ("default", min, min, "min value", default, "default value"),
        ("default", max, default, "default value", max, "max value"),
    ];
    for (field, shown, low, low_name, high, high_name) in rules {
        let (Some(shown), Some(low), Some(high)) = (shown, low, high) else {
            continue;
        };
        if low > high {
            let fault = format!("{low_name} {low} is greater than {high_name} {high}");
            let at = path.child(field);
            errors.invalid(&at.key(resource), shown.to_string(), fault);
        }
    }
}

fn validate_ratio(bounds: &Bounds, resource: &str, path: &Path<'_>, errors: &mut ErrorList) {
    let Some(ratio) = &bounds.ratio else {
        return;
    };
    let at = path.child("maxLimitRequestRatio");
    let at = at.key(resource);
    if *ratio < Quantity::units(1) {
        let fault = format!("ratio {ratio} is less than 1");
        errors.invalid(&at, ratio.to_string(), fault);
    }
    let (Some(min), Some(max)) = (&bounds.min, &bounds.max) else {
        return;
    };
    /// Above this a quantity has no thousandths in upstream's arithmetic.
    const MAX_WITH_MILLIS: i64 = i64::MAX / 1000;
    let fine = [ratio, min, max]
        .iter()
        .all(|quantity| quantity.value() < MAX_WITH_MILLIS);
    let (wanted, low, high) = match fine {
        true => (
            ratio.milli_value() as f64 / 1000.0,
            min.milli_value(),
            max.milli_value(),
        ),
        false => (ratio.value() as f64, min.value(), max.value()),
    };
    let most = high as f64 / low as f64;
    if wanted > most {
        let fault = format!("ratio {ratio} is greater than max/min = {most:.6}");
        errors.invalid(&at, ratio.to_string(), fault);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::faults;
    use serde_json::json;

    fn range(limits: Value) -> Value {
        json!({"metadata": {"name": "a", "namespace": "n"}, "spec": {"limits": limits}})
    }

    #[test]
    fn containers_get_defaults_from_bounds() {
        let mut object = range(json!([
            {"type": "Container", "max": {"cpu": "2"}, "min": {"memory": "1Mi"}},
            {"type": "Pod", "max": {"cpu": "2"}},
        ]));
        LimitRange.set_defaults(&mut object);
        let limits = &object["spec"]["limits"];
        assert_eq!(limits[0]["default"], json!({"cpu": "2"}));
        assert_eq!(
            limits[0]["defaultRequest"],
            json!({"cpu": "2", "memory": "1Mi"})
        );
        assert_eq!(limits[1], json!({"type": "Pod", "max": {"cpu": "2"}}));
    }

    #[test]
    fn bounds_are_in_order() {
        let object = range(
            json!([{"type": "Container", "min": {"cpu": "3"}, "max": {"cpu": "1"},
            "default": {"cpu": "2"}, "defaultRequest": {"cpu": "4"},
            "maxLimitRequestRatio": {"cpu": "500m"}}]),
        );
        assert_eq!(
            faults(&LimitRange, &object),
            [
                "spec.limits[0].min[cpu]: Invalid value: \"3\": min value 3 is greater than max value 1",
                "spec.limits[0].defaultRequest[cpu]: Invalid value: \"4\": default request value 4 is greater than max value 1",
                "spec.limits[0].defaultRequest[cpu]: Invalid value: \"4\": default request value 4 is greater than default limit value 2",
                "spec.limits[0].default[cpu]: Invalid value: \"3\": min value 3 is greater than default value 2",
                "spec.limits[0].default[cpu]: Invalid value: \"1\": default value 2 is greater than max value 1",
                "spec.limits[0].maxLimitRequestRatio[cpu]: Invalid value: \"500m\": ratio 500m is less than 1",
                "spec.limits[0].maxLimitRequestRatio[cpu]: Invalid value: \"500m\": ratio 500m is greater than max/min = 0.333333",
            ]
        );
    }

    #[test]
    fn types_allow_different_things() {
        let object = range(json!([
            {"type": "Pod", "default": {"cpu": "1"}, "max": {"storage": "1"}},
            {"type": "PersistentVolumeClaim"},
            {"type": "Pod"},
            {"type": "Thing"},
        ]));
        assert_eq!(
            faults(&LimitRange, &object),
            [
                "spec.limits[0].max[storage]: Invalid value: \"storage\": must be a standard resource for containers",
                "spec.limits[0].default: Forbidden: may not be specified when `type` is 'Pod'",
                "spec.limits[1].limits: Required value: either minimum or maximum storage value is required, but neither was provided",
                "spec.limits[2].type: Duplicate value: \"Pod\"",
                "spec.limits[3].type: Invalid value: \"Thing\": must be a standard limit type or fully qualified",
            ]
        );
    }
}
