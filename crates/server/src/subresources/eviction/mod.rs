//! `pods/eviction`: a delete that disruption budgets can refuse.
//! Upstream: `pkg/registry/core/pod/storage/eviction.go`.

mod budget;

use super::{condition, done};
use crate::answer::Answer;
use crate::api::Api;
use crate::request::options::{DeleteOptions, WriteOptions};
use crate::request::{Request, Target};
use crate::storage::Cluster;
use crate::verbs::delete::Deletion;
use crate::verbs::{Creation, Write};
use crate::{clock, decode, negotiate, storage, transform};
use budget::Verdict;
use serde_json::Value;
use std::sync::Arc;
use stowplan_apimachinery::field::{Error, Path};
use stowplan_apimachinery::lookup::Lookup;
use stowplan_apimachinery::meta::{GroupKind, GroupResource};
use stowplan_apimachinery::{Status, View, meta};
use stowplan_store::{CommitError, Expect, Txn};

/// How often an eviction is tried that others get in the way of.
const ATTEMPTS: usize = 20;

/// Answers a POST.
pub(super) async fn create(
    api: &Api,
    request: &Request,
    target: &Target,
) -> Result<Answer, Status> {
    let output = negotiate::output(request)?;
    let encoding = decode::encoding(request)?;
    let options = WriteOptions::read(request, "CreateOptions")?;
    let mut eviction = decode::object(
        request,
        &target.spoken(),
        encoding,
        options.field_validation,
    )?;
    let write = Write {
        api,
        request,
        target,
        options: &options,
        strategy: target.resource.strategy(),
    };
    write.check_namespace(&mut eviction)?;
    write.admit(&mut eviction, &Value::Null)?;
    if meta::name(&eviction) != target.name {
        let why = "name in URL does not match name in Eviction object";
        return Err(Status::bad_request(why));
    }
    let deletion = delete_options(eviction.at("deleteOptions"), options.dry_run, &target.name)?;
    write.validate_admission(&mut eviction, &Value::Null)?;
    let pod = Target {
        subresource: String::new(),
        ..target.clone()
    };
    let eviction = Eviction {
        api,
        request,
        options: &options,
        target: &pod,
    };
    eviction.run(&deletion).await?;
    transform::object(api, request, target, 201, &done(), output)
}

/// The options of the delete, which upstream does not check.
fn delete_options(body: &Value, dry_run: bool, name: &str) -> Result<DeleteOptions, Status> {
    let field = "ignoreStoreReadErrorWithClusterBreakingPotential";
    if body.flag(field) {
        let place = Path::new("deleteOptions");
        let why = "can not be set for pod eviction, try after removing the option";
        let errors = vec![Error::invalid(&place.child(field), true, why)];
        let kind = GroupKind::new("policy", "Eviction");
        return Err(Status::invalid(&kind, name, &errors));
    }
    let asked: Vec<&str> = body
        .list("dryRun")
        .iter()
        .filter_map(Value::as_str)
        .collect();
    if dry_run && !asked.is_empty() && asked != ["All"] {
        return Err(Status::plain_error(format!(
            "Non-matching dry-run options in request and content: [All] and [{}]",
            asked.join(" ")
        )));
    }
    let mut options = DeleteOptions::unchecked(body);
    options.dry_run |= dry_run;
    Ok(options)
}

/// One pod that shall go.
struct Eviction<'a> {
    api: &'a Api,
    request: &'a Request,
    options: &'a WriteOptions,
    target: &'a Target,
}

impl Eviction<'_> {
    fn now(&self) -> String {
        clock::seconds(self.api.env().now())
    }

    fn pod(&self) -> Result<Arc<Value>, Status> {
        let entry = self.api.store().get(self.target.key().as_bytes());
        let missing = || Status::not_found(&self.target.group_resource(), &self.target.name);
        let entry = entry.ok_or_else(missing)?;
        Ok(storage::object(&entry))
    }

    async fn run(&self, asked: &DeleteOptions) -> Result<(), Status> {
        let mut attempts = ATTEMPTS;
        let pod = loop {
            let pod = self.pod()?;
            if !budget::is_free(&pod) {
                break pod;
            }
            let mut options = asked.clone();
            if budget::may_wake(&pod) && asked.resource_version.is_none() {
                options.resource_version = Some(revision(&pod));
            }
            attempts -= 1;
            match self.delete(options).await {
                Err(status)
                    if status.code == 409 && attempts > 0 && asked.resource_version.is_none() => {}
                outcome => return outcome,
            }
        };
        let budgets =
            Cluster(self.api).list("policy", "poddisruptionbudgets", &self.target.namespace);
        let mut options = asked.clone();
        match budget::judge(&pod, budgets)? {
            Verdict::Go => self.delete(options).await,
            Verdict::GoIfUnchanged { budget } => {
                options.resource_version = Some(revision(&pod));
                match self.delete(options).await {
                    Err(status) if status.code == 409 && asked.resource_version.is_none() => {
                        Err(budget::still_processing(&budget))
                    }
                    outcome => outcome,
                }
            }
            Verdict::Charge(budget) => {
                self.charge(&budget, asked.dry_run).await?;
                self.delete(options).await
            }
        }
    }

    /// Takes one disruption out of the budget, and notes the pod there.
    async fn charge(&self, budget: &Value, dry_run: bool) -> Result<(), Status> {
        let name = &self.target.name;
        if dry_run {
            return budget::charge(budget, name, &self.now()).map(|_| ());
        }
        let missing = || Status::internal("disruption budgets are not served");
        let budgets = self
            .api
            .resources()
            .by_group("policy", "poddisruptionbudgets");
        let target = Target {
            resource: budgets.ok_or_else(missing)?,
            subresource: "status".to_owned(),
            namespace: self.target.namespace.clone(),
            name: meta::name(budget).to_owned(),
        };
        let options = self.options.by_server();
        let write = Write {
            api: self.api,
            request: self.request,
            target: &target,
            options: &options,
            strategy: target.strategy(),
        };
        let now = self.now();
        let make = |existing: &Value| {
            let mut budget = budget::charge(existing, name, &now)?;
            write.own_fields(&mut budget, existing);
            Ok(budget)
        };
        write.update(&make, None, Creation::Never).await.map(|_| ())
    }

    /// Says on the pod why it goes, and deletes it.
    async fn delete(&self, mut options: DeleteOptions) -> Result<(), Status> {
        if !options.dry_run {
            let revision = self.mark(&options).await?;
            if options.resource_version.is_some() {
                options.resource_version = Some(revision);
            }
        }
        let deletion = Deletion {
            api: self.api,
            request: self.request,
            target: self.target,
        };
        deletion.run(options).await.map(|_| ())
    }

    /// Sets the condition DisruptionTarget and returns the pod's new revision.
    async fn mark(&self, options: &DeleteOptions) -> Result<String, Status> {
        let key = self.target.key();
        let missing = || Status::not_found(&self.target.group_resource(), &self.target.name);
        loop {
            let entry = self.api.store().get(key.as_bytes()).ok_or_else(missing)?;
            let existing = storage::object(&entry);
            check_preconditions(&existing, options)?;
            let mut pod = Value::clone(&existing);
            let why = ("EvictionByEvictionAPI", "Eviction API: evicting");
            condition::set_on_pod(&mut pod, "DisruptionTarget", "True", why, &self.now());
            if pod == *existing {
                return Ok(revision(&pod));
            }
            let expect = Expect::Revision(entry.mod_revision);
            let txn = Txn::new().put(key.clone(), storage::encode(&pod), expect);
            match self.api.store().commit(txn).await {
                Ok(committed) => return Ok(committed.revision.to_string()),
                Err(CommitError::Conflict(_)) => {}
                Err(error) => return Err(storage::failure(&error)),
            }
        }
    }
}

fn revision(pod: &Value) -> String {
    pod.at("metadata").text("resourceVersion").to_owned()
}

fn check_preconditions(pod: &Value, options: &DeleteOptions) -> Result<(), Status> {
    let metadata = pod.at("metadata");
    let checks = [
        ("UID", &options.uid, "uid", "deleted and then recreated"),
        (
            "ResourceVersion",
            &options.resource_version,
            "resourceVersion",
            "modified",
        ),
    ];
    for (word, wanted, field, how) in checks {
        let (wanted, found) = (wanted.as_deref().unwrap_or_default(), metadata.text(field));
        if !wanted.is_empty() && wanted != found {
            let why = format!(
                "the {word} in the precondition ({wanted}) does not match the {word} in record ({found}). \
                 The object might have been {how}"
            );
            let kind = GroupResource::new("", "Pod");
            return Err(Status::conflict(&kind, metadata.text("name"), why));
        }
    }
    Ok(())
}
