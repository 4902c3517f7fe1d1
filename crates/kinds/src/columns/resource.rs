//! Device classes, claims and slices (`resource.k8s.io`).

use super::text::terminating;
use super::{Columns, age};
use serde_json::{Value, json};
use stowplan_apimachinery::{View, meta};

pub(crate) static DEVICE_CLASSES: Columns = Columns::new("deviceclasses", name_and_age);

pub(crate) static RESOURCE_CLAIM_TEMPLATES: Columns =
    Columns::new("resourceclaimtemplates", name_and_age);

pub(crate) static RESOURCE_CLAIMS: Columns = Columns::new("resourceclaims", |object, now_s| {
    vec![
        json!(meta::name(object)),
        json!(state(object)),
        json!(age::of(object, now_s)),
    ]
});

pub(crate) static RESOURCE_SLICES: Columns = Columns::new("resourceslices", |object, now_s| {
    let spec = object.at("spec");
    vec![
        json!(meta::name(object)),
        json!(spec.text("nodeName")),
        json!(spec.text("driver")),
        json!(spec.at("pool").text("name")),
        json!(age::of(object, now_s)),
    ]
});

fn name_and_age(object: &Value, now_s: i64) -> Vec<Value> {
    vec![json!(meta::name(object)), json!(age::of(object, now_s))]
}

fn state(claim: &Value) -> &'static str {
    let status = claim.at("status");
    let reserved = !status.list("reservedFor").is_empty();
    match (terminating(claim), status.has("allocation"), reserved) {
        (false, false, _) => "pending",
        (false, true, false) => "allocated",
        (false, true, true) => "allocated,reserved",
        (true, false, _) => "deleted",
        (true, true, false) => "deleted,allocated",
        (true, true, true) => "deleted,allocated,reserved",
    }
}
