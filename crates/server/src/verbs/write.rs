//! What creating and changing have in common: the steps between a decoded object and the store.
//!
//! Upstream: `k8s.io/apiserver/pkg/registry/generic/registry/store.go` and `registry/rest`.

use crate::addresses::Addresses;
use crate::api::Api;
use crate::flowcontrol::{Flow, Seat};
use crate::request::options::WriteOptions;
use crate::request::{Request, Target};
use crate::storage::{self, Cluster};
use crate::subresources::Scale;
use crate::{clock, decode, gate, rbac};
use bytes::Bytes;
use serde_json::Value;
use std::sync::Arc;
use stowplan_apimachinery::field::{Error, Path};
use stowplan_apimachinery::limits::DEPTH_MAX;
use stowplan_apimachinery::meta::GroupKind;
use stowplan_apimachinery::{Edit, Status, View, json};
use stowplan_kinds::Strategy;
use stowplan_kinds::service::allocate::InUse;
use stowplan_patch::managed;
use stowplan_registry::Write as Road;
use stowplan_store::{CommitError, Entry, Expect, Revision, Txn};

/// How often a generated name is tried before the client hears of it.
const NAME_ATTEMPTS: usize = 8;

/// What upstream says when the object is no longer what the client had read.
const STALE: &str =
    "the object has been modified; please apply your changes to the latest version and try again";

/// One request to create or change one object.
pub(crate) struct Write<'a> {
    pub(crate) api: &'a Api,
    pub(crate) request: &'a Request,
    pub(crate) target: &'a Target,
    pub(crate) options: &'a WriteOptions,
    /// The kind's own strategy, or that of the subresource.
    pub(crate) strategy: &'a dyn Strategy,
}

/// Whether a change may create what is not there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Creation {
    Allowed,
    Never,
}

/// A new object, and what is stored of it unless the run is a dry one.
pub(crate) struct Stored {
    pub(crate) object: Value,
    pub(crate) entry: Option<Arc<Entry>>,
}

/// What became of a write.
pub(crate) struct Written {
    pub(crate) object: Value,
    pub(crate) created: bool,
}

/// Whoever gives a service its addresses; nothing of other objects.
type GivesAddresses<'a> = Option<(tokio::sync::MutexGuard<'a, Addresses>, Seat)>;

/// Makes the new object out of the present one (null if there is none).
pub(crate) type Make<'m> = &'m (dyn Fn(&Value) -> Result<Value, Status> + Send + Sync);

impl Write<'_> {
    pub(super) fn now(&self) -> String {
        clock::seconds(self.api.env().now())
    }

    /// Takes steps of the road that files take, too.
    pub(crate) fn road<T>(&self, walk: impl FnOnce(&Road<'_>) -> T) -> T {
        let (target, request) = (self.target, self.request);
        walk(&Road {
            resource: &target.resource,
            spoken: &target.spoken(),
            subresource: &target.subresource,
            namespace: &target.namespace,
            name: &target.name,
            strategy: self.strategy,
            cluster: &Cluster(self.api),
            user: &request.user.name,
            dry_run: self.options.dry_run,
            quotas: self.api.quotas(),
            now: &self.now(),
            stamps: &self.api.env(),
            given: &|| decode::given(request),
            warn: &|warning| request.warn(warning),
        })
    }

    /// Creates an object that has been decoded and defaulted.
    pub(crate) async fn create(&self, mut object: Value) -> Result<Stored, Status> {
        self.road(|road| road.receive(&mut object))?;
        self.own_fields(&mut object, &Value::Null);
        self.admit(&mut object, &Value::Null)?;
        self.check_grant(&object, None)?;
        match self.target.judge() {
            None => self.create_asked(object).await,
            Some(judge) => {
                let write = self.judged_by(&judge);
                let mut stored = write.create_asked(self.stored(&object)).await?;
                stored.object = self.shown(stored.object);
                Ok(stored)
            }
        }
    }

    /// Creates what is asked for, under one name or another.
    async fn create_asked(&self, object: Value) -> Result<Stored, Status> {
        let metadata = object.at("metadata");
        let generated = metadata.text("name").is_empty() && metadata.has("generateName");
        // Copies are dear: one is needed to try another name.
        if !generated {
            return self
                .create_once(object)
                .await
                .map_err(|refusal| match refusal {
                    Refusal::Status(status) | Refusal::Exists(status) => status,
                    Refusal::Raced => {
                        let resource = self.target.group_resource();
                        Status::conflict(&resource, &self.target.name, STALE)
                    }
                });
        }
        let mut attempts = NAME_ATTEMPTS;
        loop {
            match self.create_once(object.clone()).await {
                Ok(stored) => return Ok(stored),
                Err(Refusal::Status(status)) => return Err(status),
                Err(Refusal::Exists(_)) if attempts > 1 => attempts -= 1,
                Err(Refusal::Exists(status)) => return Err(status),
                Err(Refusal::Raced) => {}
            }
        }
    }

    async fn create_once(&self, mut object: Value) -> Result<Stored, Refusal> {
        let mut addresses = self.addresses().await?;
        let in_use = self.in_use(&mut addresses);
        self.road(|road| road.begin_create(&mut object, in_use.as_ref()))?;
        loop {
            let charged = self.validate_admission(&mut object, &Value::Null)?;
            // What is no revision is passed over.
            if storage::revision_of(&object).is_ok_and(|given| given != Revision(0)) {
                let why = "resourceVersion should not be set on objects to be created";
                return Err(Status::plain_error(why).into());
            }
            // Without a quota only the name can be taken; with one, somebody else may have been charged
            // meanwhile, and there is less left of it. A definition can change at any time.
            if charged.is_empty() && !self.target.resource.is_custom() {
                return self.store_new(object, charged).await;
            }
            match self.store_new(object.clone(), charged).await {
                Err(Refusal::Raced) => {}
                outcome => return outcome,
            }
        }
    }

    /// Stores an object that must not be there yet.
    async fn store_new(&self, mut object: Value, charged: Txn) -> Result<Stored, Refusal> {
        self.target.resource.settle(&mut object);
        let name = object.at("metadata").text("name").to_owned();
        let key = storage::key(&self.target.resource, &self.target.namespace, &name);
        let generated = !object.at("metadata").text("generateName").is_empty();
        let exists = |entry: &Entry| {
            let mut status = Status::already_exists(&self.target.group_resource(), &name);
            if generated {
                status = taken(status);
            }
            if storage::object(entry)
                .at("metadata")
                .has("deletionTimestamp")
            {
                status.message = format!("object is being deleted: {}", status.message);
            }
            Refusal::Exists(status)
        };
        // Before the transaction, because a quota may be charged by one of its own name.
        if let Some(entry) = self.api.store().get(key.as_bytes()) {
            return Err(exists(&entry));
        }
        let completed = self.strategy.read_back(&mut object);
        if self.options.dry_run {
            check_depth(&object)?;
            let entry = None;
            return Ok(Stored { object, entry });
        }
        drop_self_link(&mut object);
        let bytes = self.fitting(&mut object, completed)?;
        let txn = self
            .under_definition(charged)?
            .put(key.clone(), bytes, Expect::Absent);
        match self.api.store().commit(txn).await {
            Ok(committed) => {
                storage::set_revision(&mut object, committed.revision);
                let entry = committed
                    .events
                    .last()
                    .map(|event| Arc::clone(&event.entry));
                Ok(Stored { object, entry })
            }
            Err(CommitError::Conflict(conflict)) => match &conflict.current {
                Some(entry) if conflict.key == key => Err(exists(entry)),
                _ => Err(Refusal::Raced),
            },
            Err(error) => Err(storage::failure(&error).into()),
        }
    }

    /// While services are given addresses, nobody else gives any. Nobody stands in line twice.
    async fn addresses(&self) -> Result<GivesAddresses<'_>, Status> {
        if !(self.target.resource.is("", "services") && self.target.subresource.is_empty()) {
            return Ok(None);
        }
        let flow = Flow::of(self.request);
        let turn = self.api.flow_control().addresses(&flow).await;
        let turn = turn.ok_or_else(|| {
            Status::too_many_requests("Too many requests, please try again later.", 1)
        })?;
        Ok(Some((self.api.addresses().lock().await, turn)))
    }

    /// What services have, if it is about one.
    fn in_use(&self, addresses: &mut GivesAddresses<'_>) -> Option<InUse> {
        let (addresses, _) = addresses.as_mut()?;
        Some(addresses.in_use(self.api.store()))
    }

    /// Changes an object, or creates it. `make` is given the object as it is (null if it is not) and
    /// makes it as it shall be, its owners included. `uid` is a precondition.
    pub(crate) async fn update(
        &self,
        make: Make<'_>,
        uid: Option<&str>,
        creation: Creation,
    ) -> Result<Written, Status> {
        self.target.check_name()?;
        let key = self.target.key();
        loop {
            let entry = self.api.store().get(key.as_bytes());
            let (outcome, created) = match entry {
                None if creation == Creation::Never => {
                    let resource = self.target.group_resource();
                    return Err(Status::not_found(&resource, &self.target.name));
                }
                None => {
                    self.check_uid(uid, "")?;
                    (self.create_by_update(make).await, true)
                }
                Some(entry) => {
                    let existing = self.target.object(&entry);
                    self.check_uid(uid, existing.at("metadata").text("uid"))?;
                    (self.change(make, &entry, &existing).await, false)
                }
            };
            match outcome {
                Ok(object) => {
                    let object = match Scale::of(self.target) {
                        Some(scale) => scale.answer(&object)?,
                        None => object,
                    };
                    return Ok(Written { object, created });
                }
                Err(Refusal::Status(status)) => return Err(status),
                // Somebody else was quicker: look again.
                Err(Refusal::Exists(_) | Refusal::Raced) => {}
            }
        }
    }

    /// Upstream: `storage.Preconditions.Check`.
    fn check_uid(&self, wanted: Option<&str>, found: &str) -> Result<(), Status> {
        match wanted {
            Some(uid) if uid != found => {
                let key = self.target.key();
                // A dry run looks the object up under the name that the store itself prefixes.
                let key = match self.options.dry_run {
                    true => key.strip_prefix("/registry").unwrap_or(&key),
                    false => &key,
                };
                Err(Status::conflict(
                    &self.target.group_resource(),
                    &self.target.name,
                    format!(
                        "StorageError: invalid object, Code: 4, Key: {key}, ResourceVersion: 0, \
                         AdditionalErrorMsg: Precondition failed: UID in precondition: {uid}, UID in object meta: {found}"
                    ),
                ))
            }
            _ => Ok(()),
        }
    }

    async fn create_by_update(&self, make: Make<'_>) -> Result<Value, Refusal> {
        let mut object = make(&Value::Null)?;
        self.admit(&mut object, &Value::Null)?;
        self.check_grant(&object, None)?;
        match self.target.judge() {
            None => self.create_made(object).await,
            Some(judge) => {
                let write = self.judged_by(&judge);
                let made = write.create_made(self.stored(&object)).await?;
                Ok(self.shown(made))
            }
        }
    }

    /// Creates what a change has made of nothing.
    async fn create_made(&self, mut object: Value) -> Result<Value, Refusal> {
        storage::revision_of(&object).map_err(Status::plain_error)?;
        let mut addresses = self.addresses().await?;
        let in_use = self.in_use(&mut addresses);
        self.road(|road| road.begin_create(&mut object, in_use.as_ref()))?;
        gate::may_create(self.api, self.request, self.target)?;
        let charged = self.validate_admission(&mut object, &Value::Null)?;
        object.at_mut("metadata").unset("resourceVersion");
        let stored = self.store_new(object, charged).await?;
        Ok(stored.object)
    }

    /// The new object out of the existing one, checked and stored.
    async fn change(
        &self,
        make: Make<'_>,
        entry: &Entry,
        existing: &Value,
    ) -> Result<Value, Refusal> {
        let object = match Scale::of(self.target) {
            None => self.asked_for(make, existing)?,
            Some(scale) => {
                let asked = self.asked_for(make, &scale.show(existing)?)?;
                scale.merge(existing, &asked)?
            }
        };
        match self.target.judge() {
            None => self.change_to(object, entry, existing).await,
            Some(judge) => {
                let kept = storage::object(entry);
                let object = self.replacement(&object, existing, &kept);
                let write = self.judged_by(&judge);
                let changed = write.change_to(object, entry, &kept).await?;
                Ok(self.shown(changed))
            }
        }
    }

    /// Checks and stores what takes the place of the existing object.
    async fn change_to(
        &self,
        mut object: Value,
        entry: &Entry,
        existing: &Value,
    ) -> Result<Value, Refusal> {
        self.check_revision(&mut object, entry.mod_revision)?;
        let mut addresses = self.addresses().await?;
        let in_use = self.in_use(&mut addresses);
        self.road(|road| {
            road.allocate(&mut object, Some(existing), in_use.as_ref())?;
            road.before_update(&mut object, existing)
        })?;
        // An empty list is no change to one that is not there.
        if !self.target.resource.is_custom() {
            self.target.resource.settle(&mut object);
        }
        managed::keep_times(&mut object, existing);
        let charged = self.validate_admission(&mut object, existing)?;
        self.store_change(entry, existing, object, charged).await
    }

    /// What the client asks for in place of what it sees, with what admission adds.
    fn asked_for(&self, make: Make<'_>, seen: &Value) -> Result<Value, Status> {
        let mut object = make(seen)?;
        self.admit(&mut object, seen)?;
        self.check_grant(&object, Some(seen))?;
        Ok(object)
    }

    /// The object must have been made from what is there, or the kind must not care.
    fn check_revision(&self, object: &mut Value, present: Revision) -> Result<(), Status> {
        let given = storage::revision_of(object).map_err(Status::plain_error)?;
        let (resource, name) = (self.target.group_resource(), &self.target.name);
        if given == Revision(0) && self.strategy.allow_unconditional_update() {
            storage::set_revision(object, present);
        } else if given == Revision(0) {
            let kind = GroupKind::new(resource.group, resource.resource);
            let errors = vec![Error::invalid(
                &Path::new("metadata").child("resourceVersion"),
                0i64,
                "must be specified for an update",
            )];
            return Err(Status::invalid(&kind, name, &errors));
        } else if given != present {
            return Err(Status::conflict(&resource, name, STALE));
        }
        Ok(())
    }

    /// Stores a change, or removes the object if the change took its last finalizer away.
    async fn store_change(
        &self,
        entry: &Entry,
        existing: &Value,
        mut object: Value,
        charged: Txn,
    ) -> Result<Value, Refusal> {
        self.target.resource.settle(&mut object);
        let old = existing.at("metadata");
        let gone = old.has("deletionTimestamp")
            && object.at("metadata").list("finalizers").is_empty()
            && old.int("deletionGracePeriodSeconds").unwrap_or_default() == 0
            && self.target.resource.deletes_when_finalized(&object);
        let completed = self.strategy.read_back(&mut object);
        if self.options.dry_run {
            check_depth(&object)?;
            return Ok(object);
        }
        drop_self_link(&mut object);
        let same = completed == storage::is_completed(entry) && object == *existing;
        // What one version of a custom resource does not show is lost when that version is written.
        let hidden =
            || self.target.resource.is_custom() && self.encoded(&object, completed) != entry.value;
        if !gone && same && !hidden() {
            return Ok(object);
        }
        let expect = Expect::Revision(entry.mod_revision);
        let txn = match gone {
            true => charged.delete(self.target.key(), expect),
            false => {
                let bytes = self.fitting(&mut object, completed)?;
                charged.put(self.target.key(), bytes, expect)
            }
        };
        match self.api.store().commit(txn).await {
            Ok(committed) => {
                match gone {
                    true => super::delete::after_delete(self.api, self.target).await,
                    false => storage::set_revision(&mut object, committed.revision),
                }
                Ok(object)
            }
            Err(CommitError::Conflict(_)) => Err(Refusal::Raced),
            Err(error) => Err(storage::failure(&error).into()),
        }
    }

    fn encoded(&self, object: &Value, completed: bool) -> Bytes {
        storage::encode_as(&self.target.resource.stored(object), completed)
    }

    /// The bytes to keep, if they are not too many. An object that is too large without a record of who
    /// owns its fields loses that first, unless the client asks for it. Upstream: `isTooLargeError`.
    fn fitting(&self, object: &mut Value, completed: bool) -> Result<Bytes, Status> {
        let bytes = self.encoded(object, completed);
        // Most objects have fewer brackets than that.
        let count = |bracket| memchr::memchr_iter(bracket, &bytes).count();
        if count(b'{') + count(b'[') > DEPTH_MAX {
            check_depth(object)?;
        }
        if storage::fits(&bytes, object) {
            return Ok(bytes);
        }
        let too_large = || Status::plain_error("etcdserver: request is too large");
        if super::patch::is_apply(self.request) {
            return Err(too_large());
        }
        object.at_mut("metadata").unset("managedFields");
        let bytes = self.encoded(object, completed);
        match storage::fits(&bytes, object) {
            true => Ok(bytes),
            false => Err(too_large()),
        }
    }

    /// Refuses an object of another namespace than the request's.
    pub(crate) fn check_namespace(&self, object: &mut Value) -> Result<(), Status> {
        self.road(|road| road.check_namespace(object))
    }

    /// Nobody grants what they do not hold: roles and bindings are checked against their author.
    fn check_grant(&self, object: &Value, existing: Option<&Value>) -> Result<(), Status> {
        let (resource, policy) = (&self.target.resource, rbac::All(self.api));
        if resource.is_custom() || resource.group() != "rbac.authorization.k8s.io" {
            return Ok(());
        }
        let (user, plural) = (&self.request.user, resource.plural());
        let namespace = self.target.namespace.as_str();
        match plural {
            "roles" | "clusterroles" => {
                let at = (namespace, self.request.info.name.as_str());
                stowplan_auth::check_role(user, plural, at, object, existing, &policy)
            }
            _ => stowplan_auth::check_binding(user, plural, namespace, object, existing, &policy),
        }
    }

    /// managedFields of a write that is not an apply.
    pub(crate) fn own_fields(&self, object: &mut Value, existing: &Value) {
        let live = (!existing.is_null()).then_some(existing);
        let own = |object: &mut Value| {
            self.with_ownership(|request| managed::update(live, object, request));
        };
        match self.target.judge() {
            None => own(object),
            Some(_) => {
                // As it would be shown: a conversion adds and takes away.
                let mut shown = self.shown(self.stored(object));
                own(&mut shown);
                let (owned, metadata) = (shown.at("metadata"), object.at_mut("metadata"));
                copy(metadata, owned, "managedFields");
            }
        }
    }

    /// Runs something that has to know who writes.
    pub(crate) fn with_ownership<T>(&self, run: impl FnOnce(&managed::Request<'_>) -> T) -> T {
        let resource = self.target.spoken();
        run(&managed::Request {
            ty: resource.ty(),
            api_version: &resource.api_version(),
            kind: resource.kind(),
            subresource: &self.target.subresource,
            manager: &self.options.field_manager,
            reset_fields: self.strategy.reset_fields(),
            empty: resource.empty(),
            versions: match resource.custom() {
                Some(custom) => custom,
                None => &resource,
            },
            now: &self.now(),
        })
    }
}

/// Why a write did not happen.
enum Refusal {
    /// It may not.
    Status(Status),
    /// An object of that name is there.
    Exists(Status),
    /// Something it was judged by has changed meanwhile: it has to be judged again.
    Raced,
}

impl From<Status> for Refusal {
    fn from(status: Status) -> Self {
        Self::Status(status)
    }
}

/// What is said where a name was to be made up, even if it was given. Upstream:
/// `rest.CheckGeneratedNameError`.
fn taken(mut status: Status) -> Status {
    const WHY: &str = ", the server was not able to generate a unique name for the object";
    status.message.push_str(WHY);
    status.retry_after(1)
}

/// What is stored can be sent again: managedFields nest a little deeper than what they are about.
fn check_depth(object: &Value) -> Result<(), Status> {
    match json::is_deeper(object, DEPTH_MAX) {
        true => Err(Status::bad_request(format!(
            "the object with its managedFields nests deeper than {DEPTH_MAX} levels"
        ))),
        false => Ok(()),
    }
}

/// Upstream's storage does not keep it.
fn drop_self_link(object: &mut Value) {
    object.at_mut("metadata").unset("selfLink");
}

/// Makes a field what it is elsewhere, or takes it away.
pub(super) fn copy(to: &mut Value, from: &Value, field: &str) {
    match from.at(field) {
        Value::Null => drop(to.unset(field)),
        value => to.set(field, value.clone()),
    }
}
