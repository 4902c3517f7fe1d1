//! Admission of what is about to be written, and what it is charged to.

use super::Write;
use crate::request::Target;
use crate::storage;
use serde_json::Value;
use stowplan_admission::QuotaWrite;
use stowplan_apimachinery::{Status, View, meta};
use stowplan_store::{Expect, Txn};

impl Write<'_> {
    /// Mutating admission.
    pub(crate) fn admit(&self, object: &mut Value, existing: &Value) -> Result<(), Status> {
        self.check_definition_stays(existing)?;
        self.road(|road| road.admit(object, existing))
    }

    /// Nothing new comes to be while its definition goes. Upstream: `forbidCreateAdmission`, which
    /// updates do not pass.
    fn check_definition_stays(&self, existing: &Value) -> Result<(), Status> {
        let custom = self.target.resource.custom();
        let goes = custom.is_some_and(|custom| custom.definition.terminating);
        match goes && existing.is_null() && self.request.info.verb != "update" {
            true => Err(self.definition_goes()),
            false => Ok(()),
        }
    }

    fn definition_goes(&self) -> Status {
        Status::forbidden(
            &self.target.group_resource(),
            &self.target.name,
            "create not allowed while custom resource definition is terminating",
        )
    }

    /// A new custom resource is stored only while its definition is what it is now: whoever deletes
    /// the definition meanwhile either finds the object or keeps it from coming to be.
    pub(super) fn under_definition(&self, txn: Txn) -> Result<Txn, Status> {
        let Some(custom) = self.target.resource.custom() else {
            return Ok(txn);
        };
        let (key, entry) = crate::crd::entry(self.api, &custom.definition);
        let entry = entry.ok_or_else(crate::route::no_such_path)?;
        let present = storage::object(&entry);
        if present.at("metadata").has("deletionTimestamp") {
            return Err(self.definition_goes());
        }
        // Another one of the same name may have come.
        let namespaced = present.at("spec").text("scope") == "Namespaced";
        match namespaced == custom.definition.namespaced {
            true => Ok(txn.require(key, Expect::Revision(entry.mod_revision))),
            false => Err(crate::route::no_such_path()),
        }
    }

    /// Validating admission. What is charged to quotas has to be stored together with the object.
    pub(crate) fn validate_admission(
        &self,
        object: &mut Value,
        existing: &Value,
    ) -> Result<Txn, Status> {
        let charges = self.road(|road| road.validate_admission(object, existing))?;
        let mut txn = Txn::new();
        for QuotaWrite { quota } in charges {
            txn = self.charge(quota, txn)?;
        }
        Ok(txn)
    }

    /// Adds the write of a quota that the request is charged to. The server itself does this, not
    /// the client.
    fn charge(&self, mut quota: Value, txn: Txn) -> Result<Txn, Status> {
        let missing = || Status::internal("resource quotas are not served");
        let quotas = self.api.resources().by_group("", "resourcequotas");
        let target = Target {
            resource: quotas.ok_or_else(missing)?,
            subresource: "status".to_owned(),
            namespace: meta::namespace(&quota).to_owned(),
            name: meta::name(&quota).to_owned(),
        };
        let options = self.options.by_server();
        let write = Write {
            target: &target,
            options: &options,
            strategy: target.strategy(),
            ..*self
        };
        let revision = storage::revision_of(&quota).map_err(Status::plain_error)?;
        let key = target.key();
        if let Some(entry) = self.api.store().get(key.as_bytes()) {
            write.own_fields(&mut quota, &storage::object(&entry));
        }
        Ok(txn.put(key, storage::encode(&quota), Expect::Revision(revision)))
    }
}
