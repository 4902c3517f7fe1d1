//! PodTemplates.

use super::{Workload, nothing_added, nothing_changed, nothing_new, template_warnings};
use crate::common::equality::same;
use crate::common::{generation, kube_metadata, name_rules};
use crate::pod::{self, Options};
use serde_json::Value;
use stowplan_apimachinery::field::Path;
use stowplan_apimachinery::{Edit, View};

const TEMPLATE: Path<'static> = Path::new("template");

/// How pod templates behave.
pub(crate) static POD_TEMPLATE: Workload = Workload {
    template: &["template"],
    set_defaults: |object| pod::set_template_defaults(object.at_mut("template")),
    empty_status: || Value::Null,
    prepare_for_create: nothing_new,
    prepare_for_update: nothing_changed,
    changed: |new, old| !same(new.at("template"), old.at("template")),
    validate: |object| {
        let mut errors = kube_metadata::validate(object, true, &name_rules::dns_subdomain);
        let options = Options::default();
        pod::validate_template(object.at("template"), &options, &TEMPLATE, &mut errors);
        errors
    },
    validate_update: |new, old| {
        let mut errors = kube_metadata::validate_update(new, old);
        let options = Options::for_template(old.at("template"));
        pod::validate_template(new.at("template"), &options, &TEMPLATE, &mut errors);
        errors
    },
    warnings: |new, old| match old {
        Some(old) if !generation::raised(new, old) => Vec::new(),
        _ => template_warnings(new.at("template"), &TEMPLATE),
    },
    name_rule: name_rules::dns_subdomain,
    status: None,
    orphans_by_default: false,
    returns_deleted_object: true,
    read_back: nothing_added,
};
