//! What creating and changing have in common: the steps between a decoded object and the store.
//!
//! Upstream: `k8s.io/apiserver/pkg/registry/rest/{create,update}.go`.

use crate::Resource;
use crate::decode;
use serde_json::{Map, Value};
use std::collections::HashSet;
use stowplan_admission::{Attributes, Operation, Outcome, QuotaWrite, Quotas};
use stowplan_apimachinery::field::{ErrorList, Path};
use stowplan_apimachinery::lookup::Lookup;
use stowplan_apimachinery::{Edit, Status, View, meta, names};
use stowplan_base::Env;
use stowplan_kinds::common::metadata;
use stowplan_kinds::service::allocate::{self, Allocation, InUse, Ranges};
use stowplan_kinds::{Context, Strategy};

/// What is new with every object: ids, and choices that nobody foresees.
pub trait Stamps {
    /// A new uid.
    fn uid(&self) -> String;

    /// The five characters that end a generated name.
    fn suffix(&self) -> String;

    /// 64 bits, to choose among free addresses by.
    fn random(&self) -> u64;
}

impl Stamps for &dyn Env {
    fn uid(&self) -> String {
        (**self).uid()
    }

    fn suffix(&self) -> String {
        (**self).suffix()
    }

    fn random(&self) -> u64 {
        (**self).random()
    }
}

/// One write of one object, without the store.
#[derive(Clone, Copy)]
pub struct Write<'a> {
    /// What is written.
    pub resource: &'a Resource,
    /// What the body speaks: the resource itself, or what its subresource does.
    pub spoken: &'a Resource,
    /// `status`, or empty.
    pub subresource: &'a str,
    /// The namespace in the URL, empty for cluster-scoped kinds.
    pub namespace: &'a str,
    /// The name in the URL, or that of the object; empty if it is to be generated.
    pub name: &'a str,
    /// The kind's own strategy, or that of the subresource.
    pub strategy: &'a dyn Strategy,
    /// Other objects.
    pub cluster: &'a dyn Lookup,
    /// The name of the user who asks.
    pub user: &'a str,
    /// Whether nothing will be stored.
    pub dry_run: bool,
    /// Whether quotas that nobody counts are counted here.
    pub quotas: Quotas,
    /// Now, as `metav1.Time` prints it.
    pub now: &'a str,
    /// Uids and the like.
    pub stamps: &'a dyn Stamps,
    /// What was sent, or null: some messages tell what is lost in decoding.
    pub given: &'a dyn Fn() -> Value,
    /// Is told what does not keep the write from succeeding.
    pub warn: &'a dyn Fn(String),
}

impl Write<'_> {
    /// The whole road of a new object that has been decoded and defaulted, up to the store.
    pub fn create(&self, mut object: Value) -> Result<Value, Status> {
        self.receive(&mut object)?;
        self.admit(&mut object, &Value::Null)?;
        let Some(judge) = self.resource.judge() else {
            return self.create_judged(object);
        };
        let write = Write {
            resource: &judge,
            strategy: judge.strategy(),
            ..*self
        };
        let kept = write.create_judged(self.resource.stored(&object).into_owned())?;
        Ok(Value::clone(&self.resource.view(kept.into())))
    }

    fn create_judged(&self, mut object: Value) -> Result<Value, Status> {
        self.begin_create(&mut object, None)?;
        self.validate_admission(&mut object, &Value::Null)?;
        self.resource.settle(&mut object);
        self.strategy.read_back(&mut object);
        Ok(object)
    }

    /// What comes before admission: the object is in the request's namespace, and no owner is named
    /// twice.
    pub fn receive(&self, object: &mut Value) -> Result<(), Status> {
        self.check_namespace(object)?;
        self.dedup_owners(object, false);
        Ok(())
    }

    /// Mutating admission.
    pub fn admit(&self, object: &mut Value, existing: &Value) -> Result<(), Status> {
        self.admission(object, existing, |request| {
            stowplan_admission::admit(request, self.cluster)
        })?;
        self.dedup_owners(object, true);
        Ok(())
    }

    /// From an admitted object to a valid one. Upstream: `rest.BeforeCreate`, and before it the hooks
    /// that give services their addresses.
    pub fn begin_create(&self, object: &mut Value, in_use: Option<&InUse>) -> Result<(), Status> {
        self.stamp(object);
        self.allocate(object, None, in_use)?;
        self.before_create(object)
    }

    /// Fills in what the server decides: `FillObjectMetaSystemFields` and the generated name.
    fn stamp(&self, object: &mut Value) {
        let metadata = object.at_mut("metadata");
        metadata.set("creationTimestamp", self.now);
        metadata.set("uid", self.stamps.uid());
        let prefix = metadata.text("generateName");
        if metadata.text("name").is_empty() && !prefix.is_empty() {
            /// What is left of 63 characters for the client's part.
            const PREFIX_MAX: usize = 58;
            let prefix: String = prefix.chars().take(PREFIX_MAX).collect();
            metadata.set("name", prefix + &self.stamps.suffix());
        }
    }

    /// Gives a service its addresses and ports, but none that is in use: unless that is known, all
    /// services are looked at. Upstream: the `BeginCreate` and `BeginUpdate` hooks of
    /// `pkg/registry/core/service/storage`.
    pub fn allocate(
        &self,
        object: &mut Value,
        existing: Option<&Value>,
        in_use: Option<&InUse>,
    ) -> Result<(), Status> {
        if !(self.resource.is("", "services") && self.subresource.is_empty()) {
            return Ok(());
        }
        let all: InUse;
        let in_use = match in_use {
            Some(known) => known,
            None => {
                let services = self.cluster.list("", "services", "");
                all = services.iter().map(|service| &**service).collect();
                &all
            }
        };
        let with = Allocation {
            ranges: &Ranges::default(),
            in_use,
            seed: self.stamps.random(),
            dry_run: self.dry_run,
        };
        let outcome = match existing {
            None => allocate::begin_create(object, &with),
            Some(existing) => allocate::begin_update(object, existing, &with),
        };
        outcome.map_err(|status| *status)
    }

    fn context(&self) -> Context<'_> {
        Context {
            now: self.now,
            cluster: self.cluster,
        }
    }

    /// Upstream: `rest.BeforeCreate`.
    fn before_create(&self, object: &mut Value) -> Result<(), Status> {
        self.check_namespace(object)?;
        if self.strategy.counts_generations() {
            object.at_mut("metadata").set("generation", 1);
        }
        let cx = self.context();
        self.strategy.prepare_for_create(object, &cx);
        let errors = faults(self.strategy, self.resource, object, &cx);
        if !errors.is_empty() {
            return Err(self.invalid(object, errors));
        }
        for warning in self.strategy.warnings(object, None) {
            (self.warn)(warning);
        }
        self.strategy.canonicalize(object);
        Ok(())
    }

    fn invalid(&self, object: &Value, mut errors: ErrorList) -> Status {
        decode::tell_empty_maps(self.given, &mut errors);
        let kind = self.resource.internal_kind();
        Status::invalid(&kind, object.at("metadata").text("name"), &errors)
    }

    /// Upstream: `rest.BeforeUpdate`.
    pub fn before_update(&self, object: &mut Value, existing: &Value) -> Result<(), Status> {
        self.check_namespace(object)?;
        let cx = self.context();
        let old = existing.at("metadata");
        copy(object.at_mut("metadata"), old, "generation");
        self.strategy.prepare_for_update(object, existing, &cx);
        let metadata = object.at_mut("metadata");
        if metadata.text("uid").is_empty() {
            copy(metadata, old, "uid");
        }
        if old.has("creationTimestamp") {
            copy(metadata, old, "creationTimestamp");
        }
        if old.has("deletionTimestamp") {
            copy(metadata, old, "deletionTimestamp");
        }
        if old.has("deletionGracePeriodSeconds") && !metadata.has("deletionGracePeriodSeconds") {
            copy(metadata, old, "deletionGracePeriodSeconds");
        }
        let place = Path::new("metadata");
        let namespaced = self.resource.namespaced();
        let metadata = object.at("metadata");
        let mut errors = metadata::validate(metadata, namespaced, &names::path_segment, &place);
        errors.extend(metadata::validate_update(metadata, old, &place));
        errors.extend(self.strategy.validate_update(object, existing, &cx));
        if !errors.is_empty() {
            return Err(self.invalid(object, errors));
        }
        for warning in self.strategy.warnings(object, Some(existing)) {
            (self.warn)(warning);
        }
        self.strategy.canonicalize(object);
        Ok(())
    }

    /// Validating admission. What is charged to quotas has to be stored together with the object.
    pub fn validate_admission(
        &self,
        object: &mut Value,
        existing: &Value,
    ) -> Result<Vec<QuotaWrite>, Status> {
        let Outcome {
            warnings,
            quota_writes,
        } = self.admission(object, existing, |request| {
            stowplan_admission::validate(request, self.cluster, self.quotas)
        })?;
        warnings.into_iter().for_each(self.warn);
        Ok(quota_writes)
    }

    fn admission<T>(
        &self,
        object: &mut Value,
        existing: &Value,
        judge: impl FnOnce(&mut Attributes<'_>) -> Result<T, Status>,
    ) -> Result<T, Status> {
        let creates = existing.is_null();
        // A generated name is there by the time of validation.
        let generated = meta::name(object).to_owned();
        let mut request = Attributes {
            operation: match creates {
                true => Operation::Create,
                false => Operation::Update,
            },
            kind: &self.spoken.group_kind(),
            resource: &self.resource.group_resource(),
            subresource: self.subresource,
            namespace: self.namespace,
            name: match self.name.is_empty() {
                true => &generated,
                false => self.name,
            },
            object: Some(object),
            old_object: (!creates).then_some(existing),
            user: self.user,
            dry_run: self.dry_run,
            now: self.now,
            suffix: &|| self.stamps.suffix(),
        };
        judge(&mut request)
    }

    /// Upstream: `rest.EnsureObjectNamespaceMatchesRequestNamespace`.
    pub fn check_namespace(&self, object: &mut Value) -> Result<(), Status> {
        let wanted = match self.resource.namespaced() {
            true => self.namespace,
            false => "",
        };
        let metadata = object.at_mut("metadata");
        let given = metadata.text("namespace");
        if given == wanted {
            return Ok(());
        }
        if wanted.is_empty() {
            metadata.unset("namespace");
        } else if given.is_empty() {
            metadata.set("namespace", wanted);
        } else {
            return Err(Status::bad_request(
                "the namespace of the provided object does not match the namespace sent on the request",
            ));
        }
        Ok(())
    }

    /// Takes out owner references that occur twice. Upstream: `dedupOwnerReferencesAndAddWarning`.
    pub fn dedup_owners(&self, object: &mut Value, after_admission: bool) {
        let Some(metadata) = object.child_mut("metadata") else {
            return;
        };
        if metadata.list("ownerReferences").len() < 2 {
            return;
        }
        let mut seen: HashSet<&Value> = HashSet::new();
        let (kept, twice): (Vec<_>, Vec<_>) = metadata
            .list("ownerReferences")
            .iter()
            .partition(|reference| seen.insert(*reference));
        if twice.is_empty() {
            return;
        }
        let twice: Vec<String> = twice.iter().map(|r| r.text("uid").to_owned()).collect();
        let kept: Vec<Value> = kept.into_iter().cloned().collect();
        let when = match after_admission {
            true => " after mutating admission happens",
            false => "",
        };
        (self.warn)(format!(
            ".metadata.ownerReferences contains duplicate entries{when}; API server dedups owner references in \
             1.20+, and may reject such requests as early as 1.24; please fix your requests; duplicate UID(s) \
             observed: {}",
            twice.join(", ")
        ));
        metadata.set("ownerReferences", kept);
    }
}

/// What is wrong with a new object, that of its metadata included.
pub(crate) fn faults(
    strategy: &dyn Strategy,
    resource: &Resource,
    object: &Value,
    cx: &Context<'_>,
) -> ErrorList {
    let errors = strategy.validate(object, cx);
    if !errors.is_empty() {
        return errors;
    }
    let (metadata, at) = (object.at("metadata"), Path::new("metadata"));
    match strategy.checks_metadata() {
        true => metadata::validate_names(metadata, &names::path_segment, &at),
        false => metadata::validate(metadata, resource.namespaced(), &names::path_segment, &at),
    }
}

/// Makes a field what it is elsewhere, or takes it away.
fn copy(to: &mut Value, from: &Value, field: &str) {
    match from.at(field) {
        Value::Null => drop(to.unset(field)),
        value => to.set(field, value.clone()),
    }
}

/// Takes away what a client may not say about a new object. Upstream: `WipeObjectMetaSystemFields`.
pub fn wipe(object: &mut Value) {
    if !object.at("metadata").is_object() {
        object.set("metadata", Map::new());
    }
    let metadata = object.at_mut("metadata");
    for field in [
        "creationTimestamp",
        "uid",
        "deletionTimestamp",
        "deletionGracePeriodSeconds",
        "selfLink",
    ] {
        metadata.unset(field);
    }
}
