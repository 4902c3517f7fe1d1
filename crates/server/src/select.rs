//! Which objects of a kind a list, a watch or a deletecollection is about.

use crate::request::options::ListOptions;
use crate::request::{Request, Target};
use crate::resource::Resource;
use crate::storage::{self, glance};
use serde_json::Value;
use stowplan_apimachinery::fields::Term;
use stowplan_apimachinery::{Status, fields, labels, names};
use stowplan_store::Entry;

/// Conditions on labels and fields. Upstream: `storage.SelectionPredicate`.
pub(crate) struct Selection {
    labels: labels::Selector,
    fields: fields::Selector,
    resource: Resource,
}

impl Selection {
    /// Checks the labels of the fields; a name in the URL counts as a condition on it.
    pub(crate) fn new(
        request: &Request,
        target: &Target,
        options: &ListOptions,
    ) -> Result<Self, Status> {
        for term in &options.fields.0 {
            if !target.resource.selects_by(&term.field) {
                let message = target.resource.refuse_field(&term.field);
                return Err(Status::bad_request(message));
            }
        }
        let mut fields = options.fields.clone();
        let name = &request.info.name;
        if !name.is_empty() {
            if fields.0.is_empty() {
                fields.0.push(Term {
                    field: "metadata.name".to_owned(),
                    equals: true,
                    value: name.clone(),
                });
            } else if fields.required("metadata.name") != Some(name) {
                return Err(Status::bad_request(
                    "fieldSelector metadata.name doesn't match requested name",
                ));
            }
        }
        Ok(Self {
            labels: options.labels.clone(),
            fields,
            resource: target.resource.clone(),
        })
    }

    /// Whether there are no conditions.
    pub(crate) fn is_everything(&self) -> bool {
        self.labels.is_everything() && self.fields.0.is_empty()
    }

    /// Whether an object fulfils the conditions. Others will ask about it soon: what is made of it is
    /// kept.
    pub(crate) fn matches(&self, entry: &Entry) -> bool {
        self.is_everything() || self.holds(&self.resource.view(storage::object(entry)))
    }

    /// Whether an object of many fulfils the conditions. Nothing is kept of it.
    pub(crate) fn matches_one_of_many(&self, entry: &Entry) -> bool {
        if self.is_everything() {
            return true;
        }
        if self.resource.converts() {
            return self.holds(&self.resource.view(glance::object(entry).into()));
        }
        self.labels.matches(&glance::labels(entry))
            && (self.fields.0.is_empty() || self.fields_hold(&glance::object(entry)))
    }

    fn holds(&self, object: &Value) -> bool {
        self.labels.selects(object) && self.fields_hold(object)
    }

    fn fields_hold(&self, object: &Value) -> bool {
        let value = |label: &str| self.resource.selected(object, label);
        self.fields.matches(value)
    }

    /// The only name that can match, if the fields say so.
    pub(crate) fn single_name(&self) -> Option<&str> {
        self.fields.required("metadata.name")
    }

    /// The only namespace that can match, if the fields say so.
    pub(crate) fn single_namespace(&self) -> Option<&str> {
        let namespace = self.fields.required("metadata.namespace")?;
        names::dns1123_label(namespace)
            .is_empty()
            .then_some(namespace)
    }
}
