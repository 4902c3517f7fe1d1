//! `pods/binding`, and `bindings`, its older form.

mod rules;

use super::done;
use crate::answer::Answer;
use crate::api::Api;
use crate::request::options::WriteOptions;
use crate::request::{Request, Target};
use crate::verbs::Write;
use crate::{clock, decode, negotiate, request, storage, transform};
use serde_json::Value;
use stowplan_apimachinery::meta::GroupResource;
use stowplan_apimachinery::{Status, View, meta};
use stowplan_registry::wipe;
use stowplan_store::{CommitError, Expect, Txn};

/// Answers a POST. Upstream: `BindingREST.Create` and `LegacyBindingREST.Create`.
pub(crate) async fn create(
    api: &Api,
    request: &Request,
    target: &Target,
) -> Result<Answer, Status> {
    let output = negotiate::output(request)?;
    let encoding = decode::encoding(request)?;
    let options = WriteOptions::read(request, "CreateOptions")?;
    let mut binding = decode::object(
        request,
        &target.spoken(),
        encoding,
        options.field_validation,
    )?;
    let mut target = target.clone();
    // Below a pod it says which pod is meant. Upstream: `PreserveRequestObjectMetaSystemFieldsOnSubresourceCreate`.
    if target.subresource.is_empty() {
        wipe(&mut binding);
    }
    if target.name.is_empty() {
        meta::name(&binding).clone_into(&mut target.name);
    }
    let write = Write {
        api,
        request,
        target: &target,
        options: &options,
        strategy: target.resource.strategy(),
    };
    write.check_namespace(&mut binding)?;
    write.admit(&mut binding, &Value::Null)?;
    rules::check(&binding, &target.name)?;
    write.validate_admission(&mut binding, &Value::Null)?;
    let pods = api.resources().by_group("", "pods");
    let pods = pods.ok_or_else(|| Status::internal("pods are not served"))?;
    let pod = Target {
        resource: pods,
        subresource: String::new(),
        ..target.clone()
    };
    assign(api, &pod, &binding, options.dry_run).await?;
    transform::object(api, request, &target, 201, &done(), output)
}

/// Binds the pod, unless somebody else has.
async fn assign(api: &Api, target: &Target, binding: &Value, dry_run: bool) -> Result<(), Status> {
    check_name(&target.name)?;
    let key = target.key();
    let missing = || Status::not_found(&target.group_resource(), &target.name);
    loop {
        let entry = api.store().get(key.as_bytes()).ok_or_else(missing)?;
        let mut pod = storage::outgoing_object(&entry);
        check_preconditions(target, binding, &pod)?;
        let now = clock::seconds(api.env().now());
        if let Err(why) = rules::assign(&mut pod, binding, &now) {
            let bindings = GroupResource::new("", "pods/binding");
            return Err(Status::conflict(&bindings, &target.name, why));
        }
        if dry_run {
            return Ok(());
        }
        let expect = Expect::Revision(entry.mod_revision);
        let txn = Txn::new().put(key.clone(), storage::encode(&pod), expect);
        match api.store().commit(txn).await {
            Ok(_) => return Ok(()),
            Err(CommitError::Conflict(_)) => {}
            Err(error) => return Err(storage::failure(&error)),
        }
    }
}

/// Upstream: `NamespaceKeyFunc`.
fn check_name(name: &str) -> Result<(), Status> {
    if name.is_empty() {
        return Err(Status::bad_request("Name parameter required."));
    }
    request::check_name(name)
}

/// A binding can name the uid and the revision of the pod that it means.
fn check_preconditions(target: &Target, binding: &Value, pod: &Value) -> Result<(), Status> {
    for (field, word) in [("uid", "UID"), ("resourceVersion", "ResourceVersion")] {
        let wanted = binding.at("metadata").text(field);
        let found = pod.at("metadata").text(field);
        if !wanted.is_empty() && wanted != found {
            let why = format!(
                "StorageError: invalid object, Code: 4, Key: {}, ResourceVersion: 0, AdditionalErrorMsg: \
                 Precondition failed: {word} in precondition: {wanted}, {word} in object meta: {found}",
                target.key()
            );
            return Err(Status::conflict(
                &target.group_resource(),
                &target.name,
                why,
            ));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use crate::testing;
    use serde_json::json;

    #[tokio::test]
    async fn a_binding_names_a_uid_only_below_its_pod() {
        const AT: &str = "/api/v1/namespaces/default";
        let api = testing::api().await;
        let pod = json!({"metadata": {"name": "p"},
            "spec": {"containers": [{"name": "c", "image": "i"}]}});
        for (plural, object) in [
            ("serviceaccounts", json!({"metadata": {"name": "default"}})),
            ("pods", pod),
        ] {
            let url = format!("{AT}/{plural}");
            let (code, answer) = testing::send(&api, "POST", &url, &[], &object).await;
            assert_eq!(code, 201, "{answer}");
        }
        let binding = json!({"metadata": {"name": "p", "uid": "another"}, "target": {"name": "n"}});
        for (path, expected) in [("pods/p/binding", 409), ("bindings", 201)] {
            let url = format!("{AT}/{path}");
            let (code, answer) = testing::send(&api, "POST", &url, &[], &binding).await;
            assert_eq!(code, expected, "{answer}");
        }
    }
}
