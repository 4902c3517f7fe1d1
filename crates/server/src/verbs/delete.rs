//! DELETE of one object.
//!
//! Upstream: `endpoints/handlers/delete.go`, `registry/generic/registry/store.go` and
//! `registry/rest/delete.go`.

use crate::answer::Answer;
use crate::api::Api;
use crate::request::options::DeleteOptions;
use crate::request::{Request, Target};
use crate::storage::{self, Cluster};
use crate::{clock, decode, negotiate, transform};
use serde_json::{Value, json};
use std::sync::Arc;
use stowplan_admission::{Attributes, Operation};
use stowplan_apimachinery::meta::GroupResource;
use stowplan_apimachinery::{Edit, Status, View};
use stowplan_base::{Duration, Time};
use stowplan_kinds::DeleteStrategy;
use stowplan_store::{CommitError, Entry, Expect, Txn};

const ORPHAN: &str = "orphan";
const FOREGROUND: &str = "foregroundDeletion";

/// Answers the request.
pub(crate) async fn delete(
    api: &Api,
    request: &Request,
    target: &Target,
) -> Result<Answer, Status> {
    let output = negotiate::output(request)?;
    let options = options(request)?;
    let cascades = options.orphan_dependents == Some(false);
    let judge = target.judge();
    let deletion = Deletion {
        api,
        request,
        target: judge.as_ref().unwrap_or(target),
    };
    let (mut answer, gone) = deletion.run(options).await?;
    if judge.is_some() && answer.text("kind") == target.resource.kind() {
        answer = Value::clone(&target.resource.view(Arc::new(answer)));
    }
    let code = if !gone && cascades { 202 } else { 200 };
    transform::object(api, request, target, code, &answer, output)
}

/// The options in the body, or else in the URL.
pub(crate) fn options(request: &Request) -> Result<DeleteOptions, Status> {
    match request.body.is_empty() {
        true => DeleteOptions::from_query(&request.query),
        false => DeleteOptions::from_body(&decode::delete_options(request)?),
    }
}

/// One object on its way out.
pub(crate) struct Deletion<'a> {
    pub(crate) api: &'a Api,
    pub(crate) request: &'a Request,
    pub(crate) target: &'a Target,
}

/// Whether an object goes at once.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Grace {
    /// Its kind knows no grace, or it has had it.
    None,
    /// It has been given some.
    Given,
    /// It has some left, and the request does not shorten it.
    Pending,
}

/// What becomes of an object that cannot simply be removed.
enum Step {
    /// It stays for now, as this.
    Stays(Value),
    /// It is to be removed; the answer is this, if anything.
    Remove(Option<Value>),
}

impl Deletion<'_> {
    /// Deletes, and says what to answer and whether the object is gone.
    pub(crate) async fn run(&self, mut options: DeleteOptions) -> Result<(Value, bool), Status> {
        self.target.check_name()?;
        self.warn_of_orphans(&options);
        let entry = self.entry()?;
        if let Some(why) = self.strategy().delete_refusal(&self.target.name) {
            let resource = self.target.group_resource();
            return Err(Status::forbidden(&resource, &self.target.name, why));
        }
        let mut object = Value::clone(&self.target.object(&entry));
        if self.target.resource.is_namespace() {
            let done = self.namespace(&object, &mut options).await?;
            if let Some(namespace) = done {
                return Ok((namespace, false));
            }
        }
        if crate::crd::is_definition(&self.target.resource)
            && !object.at("metadata").has("deletionTimestamp")
        {
            return Ok((self.definition(&object, &mut options).await?, false));
        }
        let grace = self.before(&mut object, &mut options)?;
        if grace == Grace::Pending {
            return Ok((self.farewell(object), false));
        }
        let held = !object.at("metadata").list("finalizers").is_empty();
        let changes = self.finalizers(&object, &options).is_some();
        let mut last = None;
        if grace == Grace::Given || held || changes {
            match self.update(&mut options).await? {
                Step::Stays(object) => return Ok((object, false)),
                Step::Remove(Some(object)) if options.dry_run => return Ok((object, true)),
                Step::Remove(Some(object)) => {
                    if let Some(wanted) = &mut options.resource_version {
                        let revision = object.at("metadata").text("resourceVersion");
                        revision.clone_into(wanted);
                    }
                    last = Some(object);
                }
                Step::Remove(None) => {}
            }
        }
        // Somebody who saw that its time is over may have been quicker, such as a kubelet.
        let object = match (self.remove(&options).await, last) {
            (Err(status), Some(last)) if status.code == 404 => last,
            (removed, _) => removed?,
        };
        Ok((self.farewell(object), true))
    }

    fn entry(&self) -> Result<Arc<Entry>, Status> {
        let entry = self.api.store().get(self.target.key().as_bytes());
        entry.ok_or_else(|| Status::not_found(&self.target.group_resource(), &self.target.name))
    }

    fn strategy(&self) -> &dyn DeleteStrategy {
        self.target.resource.strategy().deletion()
    }

    fn now(&self) -> Time {
        self.api.env().now().truncate_to_second()
    }

    /// What is answered when an object is gone: itself, or a `Status` that names it.
    fn farewell(&self, object: Value) -> Value {
        if self.strategy().returns_deleted_object() {
            return object;
        }
        let metadata = object.at("metadata");
        let resource = self.target.group_resource();
        let mut details = json!({
            "name": metadata.text("name"),
            "kind": resource.resource,
            "uid": metadata.text("uid"),
        });
        if !resource.group.is_empty() {
            details.set("group", resource.group);
        }
        json!({
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Success",
            "details": details,
        })
    }

    /// Upstream: `pkg/registry/batch/job/storage`.
    pub(crate) fn warn_of_orphans(&self, options: &DeleteOptions) {
        let silent = options.orphan_dependents.is_some() || options.propagation_policy.is_some();
        if !silent && self.target.group_resource() == GroupResource::new("batch", "jobs") {
            self.request.warn(
                "child pods are preserved by default when jobs are deleted; set propagationPolicy=Background to \
                 remove them or set propagationPolicy=Orphan to suppress this warning",
            );
        }
    }

    /// Checks preconditions and gives the object its grace. Upstream: `rest.BeforeDelete`.
    fn before(&self, object: &mut Value, options: &mut DeleteOptions) -> Result<Grace, Status> {
        self.check_preconditions(object, options)?;
        if options.grace_period_seconds.is_some_and(|s| s < 0) {
            options.grace_period_seconds = Some(1);
        }
        let left = object.at("metadata").int("deletionGracePeriodSeconds");
        let left = match left {
            Some(left) if left < 0 => {
                let metadata = object.at_mut("metadata");
                metadata.set("deletionGracePeriodSeconds", 1);
                Some(1)
            }
            left => left,
        };
        let asked = options.grace_period_seconds;
        let Some(period) = self.strategy().grace_period(object, asked) else {
            return Ok(Grace::None);
        };
        if object.at("metadata").has("deletionTimestamp") {
            return Ok(self.shorten(object, options, left.unwrap_or_default()));
        }
        options.grace_period_seconds = Some(period);
        let end = self.now() + Duration::from_secs(period);
        let metadata = object.at_mut("metadata");
        metadata.set("deletionTimestamp", clock::seconds(end));
        metadata.set("deletionGracePeriodSeconds", period);
        count_generation(metadata);
        Ok(Grace::Given)
    }

    /// An object that is being deleted can only be given less time.
    fn shorten(&self, object: &mut Value, options: &mut DeleteOptions, left: i64) -> Grace {
        if left == 0 {
            return Grace::None;
        }
        let Some(asked) = options.grace_period_seconds else {
            options.grace_period_seconds = Some(left);
            return Grace::Pending;
        };
        if asked >= left {
            return Grace::Pending;
        }
        let metadata = object.at_mut("metadata");
        let end = clock::parse_seconds(metadata.text("deletionTimestamp")).unwrap_or_default();
        let (mut end, mut period) = (Time::from_secs(end - left + asked), asked);
        if end < self.now() {
            end = self.now();
            // Still graceful, if barely: somebody else will remove it.
            period = period.min(1);
        }
        metadata.set("deletionTimestamp", clock::seconds(end));
        metadata.set("deletionGracePeriodSeconds", period);
        Grace::Given
    }

    fn check_preconditions(&self, object: &Value, options: &DeleteOptions) -> Result<(), Status> {
        let metadata = object.at("metadata");
        let conflict = |what: &str, wanted: &str, found: &str, how: &str| {
            let kind = self.target.resource.internal_kind();
            let why = format!(
                "the {what} in the precondition ({wanted}) does not match the {what} in record ({found}). \
                 The object might have been {how}"
            );
            let kind = GroupResource::new(kind.group, kind.kind);
            Status::conflict(&kind, metadata.text("name"), why)
        };
        let uid = metadata.text("uid");
        if let Some(wanted) = options.uid.as_deref().filter(|wanted| *wanted != uid) {
            return Err(conflict("UID", wanted, uid, "deleted and then recreated"));
        }
        let revision = metadata.text("resourceVersion");
        let wanted = options.resource_version.as_deref();
        if let Some(wanted) = wanted.filter(|wanted| *wanted != revision) {
            return Err(conflict("ResourceVersion", wanted, revision, "modified"));
        }
        Ok(())
    }

    /// The finalizers that the garbage collector needs, if they are not the ones that are there.
    /// Upstream: `deletionFinalizersForGarbageCollection`.
    fn finalizers(&self, object: &Value, options: &DeleteOptions) -> Option<Vec<Value>> {
        let strategy = self.strategy();
        let old = object.at("metadata").list("finalizers");
        let mut set = old.iter().filter_map(Value::as_str);
        let set = set.find(|f| [ORPHAN, FOREGROUND].contains(f));
        let policy = options.propagation_policy.as_deref();
        let wanted = match (options.orphan_dependents, policy) {
            _ if !strategy.collects_garbage() => None,
            (Some(true), _) | (None, Some("Orphan")) => Some(ORPHAN),
            (None, Some("Foreground")) => Some(FOREGROUND),
            (Some(false), _) | (None, Some(_)) => None,
            (None, None) => match set {
                None if strategy.orphans_by_default() => Some(ORPHAN),
                set => set,
            },
        };
        let others = old.iter().filter(|f| *f != ORPHAN && *f != FOREGROUND);
        let new: Vec<Value> = others.cloned().chain(wanted.map(Value::from)).collect();
        let same = new.len() == old.len() && new.iter().all(|f| old.contains(f));
        (!same).then_some(new)
    }

    /// Upstream: `updateForGracefulDeletionAndFinalizers`.
    async fn update(&self, options: &mut DeleteOptions) -> Result<Step, Status> {
        loop {
            let entry = self.entry()?;
            let existing = self.target.object(&entry);
            self.check_stored(&existing, options)?;
            self.admit(&existing, options)?;
            let mut object = Value::clone(&existing);
            let grace = self.before(&mut object, options)?;
            if grace == Grace::Pending {
                return Ok(Step::Stays(self.farewell(object)));
            }
            if let Some(finalizers) = self.finalizers(&object, options) {
                match finalizers.is_empty() {
                    true => drop(object.at_mut("metadata").unset("finalizers")),
                    false => object.at_mut("metadata").set("finalizers", finalizers),
                }
            }
            let held = !object.at("metadata").list("finalizers").is_empty();
            if grace == Grace::None && !held {
                return Ok(Step::Remove(None));
            }
            if grace == Grace::None {
                self.mark(&mut object);
            }
            if !self.put(&entry, &existing, &mut object, options).await? {
                continue;
            }
            let waits = grace == Grace::Given && options.grace_period_seconds > Some(0);
            return Ok(match held || waits {
                true => Step::Stays(object),
                false => Step::Remove(Some(object)),
            });
        }
    }

    /// Upstream: `markAsDeleting`.
    fn mark(&self, object: &mut Value) {
        let now = self.now();
        let metadata = object.at_mut("metadata");
        let end = clock::parse_seconds(metadata.text("deletionTimestamp")).map(Time::from_secs);
        if end.is_none() {
            count_generation(metadata);
        }
        if end.is_none_or(|end| end > now) {
            metadata.set("deletionTimestamp", clock::seconds(now));
        }
        metadata.set("deletionGracePeriodSeconds", 0);
    }

    /// Stores a change; `false` if somebody else was quicker.
    async fn put(
        &self,
        entry: &Entry,
        existing: &Value,
        object: &mut Value,
        options: &DeleteOptions,
    ) -> Result<bool, Status> {
        if options.dry_run || *object == *existing {
            return Ok(true);
        }
        let expect = Expect::Revision(entry.mod_revision);
        let stored = storage::encode(&self.target.resource.stored(object));
        let txn = Txn::new().put(self.target.key(), stored, expect);
        match self.api.store().commit(txn).await {
            Ok(committed) => {
                storage::set_revision(object, committed.revision);
                Ok(true)
            }
            Err(CommitError::Conflict(_)) => Ok(false),
            Err(error) => Err(storage::failure(&error)),
        }
    }

    /// Removes the object and returns what it was, with the revision of its end.
    async fn remove(&self, options: &DeleteOptions) -> Result<Value, Status> {
        loop {
            let entry = self.entry()?;
            let existing = self.target.object(&entry);
            self.check_stored(&existing, options)?;
            self.admit(&existing, options)?;
            let mut object = Value::clone(&existing);
            if options.dry_run {
                return Ok(object);
            }
            let expect = Expect::Revision(entry.mod_revision);
            let txn = Txn::new().delete(self.target.key(), expect);
            match self.api.store().commit(txn).await {
                Ok(committed) => {
                    storage::set_revision(&mut object, committed.revision);
                    after_delete(self.api, self.target).await;
                    return Ok(object);
                }
                Err(CommitError::Conflict(_)) => {}
                Err(error) => return Err(storage::failure(&error)),
            }
        }
    }

    /// Upstream: `storage.Preconditions.Check`, met only by who lost a race.
    fn check_stored(&self, object: &Value, options: &DeleteOptions) -> Result<(), Status> {
        let metadata = object.at("metadata");
        let checks = [
            ("UID", &options.uid, metadata.text("uid")),
            (
                "ResourceVersion",
                &options.resource_version,
                metadata.text("resourceVersion"),
            ),
        ];
        for (what, wanted, found) in checks {
            if let Some(wanted) = wanted.as_deref().filter(|wanted| *wanted != found) {
                let key = self.target.key();
                let why = format!(
                    "StorageError: invalid object, Code: 4, Key: {key}, ResourceVersion: 0, AdditionalErrorMsg: \
                     Precondition failed: {what} in precondition: {wanted}, {what} in object meta: {found}"
                );
                let resource = self.target.group_resource();
                return Err(Status::conflict(&resource, &self.target.name, why));
            }
        }
        Ok(())
    }

    fn admit(&self, existing: &Value, options: &DeleteOptions) -> Result<(), Status> {
        let cluster = Cluster(self.api);
        let mut request = Attributes {
            operation: Operation::Delete,
            kind: &self.target.resource.group_kind(),
            resource: &self.target.group_resource(),
            subresource: &self.target.subresource,
            namespace: &self.target.namespace,
            name: &self.target.name,
            object: None,
            old_object: Some(existing),
            user: &self.request.user.name,
            dry_run: options.dry_run,
            now: &clock::seconds(self.now()),
            suffix: &|| self.api.env().suffix(),
        };
        stowplan_admission::admit(&mut request, &cluster)?;
        let outcome = stowplan_admission::validate(&request, &cluster, self.api.quotas())?;
        for warning in outcome.warnings {
            self.request.warn(warning);
        }
        Ok(())
    }

    /// Preconditions, in the words of kinds that are marked before they go. The uid becomes one.
    fn check_meta(&self, metadata: &Value, options: &mut DeleteOptions) -> Result<(), Status> {
        let failed = |what: &str, wanted: &str, found: &str| {
            let why = format!(
                "Precondition failed: {what} in precondition: {wanted}, {what} in object meta: {found}"
            );
            Status::conflict(&self.target.group_resource(), &self.target.name, why)
        };
        let uid = metadata.text("uid");
        match &options.uid {
            Some(wanted) if wanted != uid => return Err(failed("UID", wanted, uid)),
            _ => options.uid = Some(uid.to_owned()),
        }
        let revision = metadata.text("resourceVersion");
        let wanted = options.resource_version.as_deref();
        if let Some(wanted) = wanted.filter(|wanted| *wanted != revision) {
            return Err(failed("ResourceVersion", wanted, revision));
        }
        Ok(())
    }

    /// A definition is marked first and goes with the last of its objects.
    async fn definition(
        &self,
        definition: &Value,
        options: &mut DeleteOptions,
    ) -> Result<Value, Status> {
        self.check_meta(definition.at("metadata"), options)?;
        loop {
            let entry = self.entry()?;
            let existing = self.target.object(&entry);
            self.check_stored(&existing, options)?;
            self.admit(&existing, options)?;
            let mut object = Value::clone(&existing);
            crate::crd::mark(&mut object, &clock::seconds(self.now()));
            if self.put(&entry, &existing, &mut object, options).await? {
                return Ok(object);
            }
        }
    }

    /// A namespace is marked first and goes when it is empty; `None` if it may go now. Upstream:
    /// `pkg/registry/core/namespace/storage`.
    async fn namespace(
        &self,
        namespace: &Value,
        options: &mut DeleteOptions,
    ) -> Result<Option<Value>, Status> {
        let metadata = namespace.at("metadata");
        self.check_meta(metadata, options)?;
        if metadata.has("deletionTimestamp") {
            let held = !namespace.at("spec").list("finalizers").is_empty();
            return Ok(held.then(|| namespace.clone()));
        }
        loop {
            let entry = self.entry()?;
            let existing = self.target.object(&entry);
            self.check_stored(&existing, options)?;
            self.admit(&existing, options)?;
            let mut object = Value::clone(&existing);
            let now = clock::seconds(self.now());
            object
                .at_mut("metadata")
                .default_to("deletionTimestamp", now);
            object.at_mut("status").set("phase", "Terminating");
            namespace_finalizers(object.at_mut("metadata"), options);
            if self.put(&entry, &existing, &mut object, options).await? {
                return Ok(Some(object));
            }
        }
    }
}

fn namespace_finalizers(metadata: &mut Value, options: &DeleteOptions) {
    let has = |name: &str| metadata.list("finalizers").iter().any(|f| f == name);
    let wants = |name: &str, orphans: bool, policy: &str| match options {
        DeleteOptions {
            orphan_dependents: Some(orphan),
            ..
        } => *orphan == orphans,
        DeleteOptions {
            propagation_policy: Some(given),
            ..
        } => given == policy,
        _ => has(name),
    };
    let orphan = wants(ORPHAN, true, "Orphan");
    let foreground = wants(FOREGROUND, false, "Foreground");
    if orphan == has(ORPHAN) && foreground == has(FOREGROUND) {
        return;
    }
    let mut finalizers: Vec<Value> = metadata
        .list("finalizers")
        .iter()
        .filter(|f| *f != ORPHAN && *f != FOREGROUND)
        .cloned()
        .collect();
    finalizers.extend(orphan.then(|| ORPHAN.into()));
    finalizers.extend(foreground.then(|| FOREGROUND.into()));
    match finalizers.is_empty() {
        true => drop(metadata.unset("finalizers")),
        false => metadata.set("finalizers", finalizers),
    }
}

/// The first request to delete counts as a change, for kinds that count changes.
fn count_generation(metadata: &mut Value) {
    match metadata.int("generation") {
        Some(generation) if generation > 0 => metadata.set("generation", generation + 1),
        _ => {}
    }
}

/// What goes with an object that is gone: the endpoints of a service. Upstream: `afterDelete` in
/// `pkg/registry/core/service/storage`.
pub(super) async fn after_delete(api: &Api, target: &Target) {
    let endpoints = match target.resource.is("", "services") {
        true => api.resources().by_group("", "endpoints"),
        false => None,
    };
    let Some(endpoints) = endpoints else { return };
    let key = storage::key(&endpoints, &target.namespace, &target.name);
    let now = clock::seconds(api.env().now());
    while let Some(entry) = api.store().get(key.as_bytes())
        && let Some(txn) = step(&entry, &now)
    {
        match api.store().commit(txn).await {
            Err(CommitError::Conflict(_)) => {}
            Ok(_) => return,
            Err(error) => {
                return tracing::error!(%error, "endpoints of a service cannot be deleted");
            }
        }
    }
}

/// Removes an object that nobody asks about, or marks it; nothing if its finalizers are waited for.
pub(crate) fn step(entry: &Entry, now: &str) -> Option<Txn> {
    let object = storage::object(entry);
    let expect = Expect::Revision(entry.mod_revision);
    let metadata = object.at("metadata");
    if metadata.list("finalizers").is_empty() {
        return Some(Txn::new().delete(entry.key.clone(), expect));
    }
    if metadata.has("deletionTimestamp") {
        return None;
    }
    let mut marked = Value::clone(&object);
    let metadata = marked.at_mut("metadata");
    metadata.set("deletionTimestamp", now);
    metadata.set("deletionGracePeriodSeconds", 0);
    count_generation(metadata);
    Some(Txn::new().put(entry.key.clone(), storage::encode(&marked), expect))
}

#[cfg(test)]
mod tests {
    use crate::testing;
    use serde_json::{Value, json};

    #[tokio::test]
    async fn the_endpoints_of_a_service_go_with_it() {
        const AT: &str = "/api/v1/namespaces/default";
        let api = testing::api().await;
        let endpoints = format!("{AT}/endpoints/s");
        for finalizers in [json!([]), json!(["a/b"])] {
            let service = json!({"metadata": {"name": "s", "finalizers": finalizers},
                "spec": {"ports": [{"port": 80}]}});
            for (plural, object) in [
                ("services", service),
                ("endpoints", json!({"metadata": {"name": "s"}})),
                ("endpoints", json!({"metadata": {"name": "other"}})),
            ] {
                let url = format!("{AT}/{plural}");
                testing::send(&api, "POST", &url, &[], &object).await;
            }
            let url = format!("{AT}/services/s");
            let dry = format!("{url}?dryRun=All");
            let (code, _) = testing::send(&api, "DELETE", &dry, &[], &Value::Null).await;
            assert_eq!(code, 200);
            assert_eq!(testing::get(&api, &endpoints, "").await.0, 200);
            let (code, _) = testing::send(&api, "DELETE", &url, &[], &Value::Null).await;
            assert_eq!(code, 200);
            if finalizers != json!([]) {
                assert_eq!(testing::get(&api, &endpoints, "").await.0, 200);
                let patch = [("content-type", "application/merge-patch+json")];
                let released = json!({"metadata": {"finalizers": null}});
                testing::send(&api, "PATCH", &url, &patch, &released).await;
            }
            assert_eq!(testing::get(&api, &url, "").await.0, 404);
            assert_eq!(testing::get(&api, &endpoints, "").await.0, 404);
            let other = format!("{AT}/endpoints/other");
            assert_eq!(testing::get(&api, &other, "").await.0, 200);
        }
    }
}
