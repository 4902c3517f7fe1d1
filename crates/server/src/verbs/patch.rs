//! PATCH.

use super::update::check_name;
use super::{Creation, Write};
use crate::answer::Answer;
use crate::api::Api;
use crate::decode::{check_kind, decode, finished, strict_error, unsupported_media_type};
use crate::request::options::{FieldValidation, WriteOptions};
use crate::request::{Request, Target};
use crate::{negotiate, transform};
use serde_json::Value;
use stowplan_apimachinery::field::{Error, Path, Raw};
use stowplan_apimachinery::meta::GroupKind;
use stowplan_apimachinery::{Edit, Status, View, go};
use stowplan_patch::{JsonPatch, managed, merge_patch, strategic};
use stowplan_schema::Decoded;
use stowplan_schema::yaml::{self, Converted};

const JSON: &str = "application/json-patch+json";
const MERGE: &str = "application/merge-patch+json";
const STRATEGIC: &str = "application/strategic-merge-patch+json";
const APPLY: &str = "application/apply-patch+yaml";

/// What to do to the object.
enum Patch {
    Json(JsonPatch, Vec<String>),
    Merge(Value, Vec<String>),
    Strategic(Value, Vec<String>),
    Apply(Value, Vec<String>),
}

/// Whether a request is a server-side apply.
pub(crate) fn is_apply(request: &Request) -> bool {
    request.method == http::Method::PATCH && media_type(request) == APPLY
}

/// What the body is, without parameters.
fn media_type(request: &Request) -> &str {
    let header = request.header("content-type");
    header.split(';').next().unwrap_or_default()
}

/// Upstream: `endpoints/handlers/patch.go`.
pub(crate) async fn patch(api: &Api, request: &Request, target: &Target) -> Result<Answer, Status> {
    let kind = media_type(request);
    let known: &[&str] = match target.resource.is_custom() {
        true => &[JSON, MERGE, APPLY],
        false => &[JSON, MERGE, STRATEGIC, APPLY],
    };
    if !known.contains(&kind) {
        return Err(unsupported_media_type(&known.join(", ")));
    }
    let output = negotiate::output(request)?;
    let options = WriteOptions::read_patch(request, kind == APPLY)?;
    let write = Write {
        api,
        request,
        target,
        options: &options,
        strategy: target.strategy(),
    };
    let creation = match kind == APPLY && target.subresource.is_empty() {
        true => Creation::Allowed,
        false => Creation::Never,
    };
    let validated = options.field_validation != FieldValidation::Ignore;
    let make = |existing: &Value| {
        // Upstream reads the patch after the object: what is not there is told first.
        let patch = match kind {
            JSON => JsonPatch::decode(&request.body, validated).map(|(p, w)| Patch::Json(p, w)),
            MERGE => merge_patch::decode(&request.body, validated).map(|(p, w)| Patch::Merge(p, w)),
            STRATEGIC => {
                strategic::decode(&request.body, validated).map(|(p, w)| Patch::Strategic(p, w))
            }
            _ => configuration(request),
        }?;
        let patched = Patching {
            write: &write,
            existing,
        };
        let mut object = patched.run(patch)?;
        let uid = object.at("metadata").text("uid");
        if existing.is_null() && !uid.is_empty() {
            let why = format!(
                "uid mismatch: the provided object specified uid {uid}, and no existing object was found"
            );
            let resource = target.group_resource();
            return Err(Status::conflict(&resource, &target.name, why));
        }
        write.check_namespace(&mut object)?;
        check_name(&object, target)?;
        Ok(object)
    };
    let written = write.update(&make, None, creation).await?;
    let code = if written.created { 201 } else { 200 };
    transform::object(api, request, target, code, &written.object, output)
}

/// What an apply asks for.
fn configuration(request: &Request) -> Result<Patch, Status> {
    let bad = |why: String| Status::bad_request(format!("error decoding YAML: {why}"));
    let Converted { json, problems } = yaml::to_json(&request.body).map_err(bad)?;
    let Decoded { object, .. } = stowplan_schema::parse_json(&json).map_err(|why| {
        bad(format!(
            "error unmarshaling JSON: while decoding JSON: {why}"
        ))
    })?;
    Ok(Patch::Apply(object, problems))
}

struct Patching<'a> {
    write: &'a Write<'a>,
    existing: &'a Value,
}

impl Patching<'_> {
    fn run(&self, patch: Patch) -> Result<Value, Status> {
        let (write, existing) = (self.write, self.existing);
        match patch {
            Patch::Json(patch, problems) => {
                let patched = patch.apply(existing.clone())?;
                self.decoded(patched, problems)
            }
            Patch::Merge(patch, problems) => {
                self.decoded(merge_patch::apply(existing.clone(), &patch), problems)
            }
            Patch::Strategic(mut patch, problems) => {
                let resource = write.target.spoken();
                let ty = resource.ty();
                let patched = strategic::apply(ty, existing.clone(), &mut patch)?;
                let shown = || go::quote(&go::plain(&patch));
                let owners = patched.at("metadata").at("managedFields").as_array();
                let forgets_owners = owners.is_some_and(Vec::is_empty);
                let decoded = stowplan_schema::from_unstructured(ty, patched);
                let decoded = decoded.map_err(|why| invalid(&shown(), &why.to_string()))?;
                let mut object = self.judged(decoded, problems, &shown)?;
                if forgets_owners {
                    let none: Vec<Value> = Vec::new();
                    object.at_mut("metadata").set("managedFields", none);
                }
                Ok(self.owned(object))
            }
            Patch::Apply(configuration, problems) => self.apply(&configuration, &problems),
        }
    }

    /// From JSON that may be anything to an object of the kind.
    fn decoded(&self, patched: Value, problems: Vec<String>) -> Result<Value, Status> {
        let resource = self.write.target.spoken();
        let json = patched.to_string();
        let shown = || go::quote(&json);
        if !patched.is_object() && !resource.is_custom() {
            let read = stowplan_schema::type_meta(json.as_bytes());
            read.map_err(|why| invalid(&shown(), &why.to_string()))?;
        }
        let (api_version, kind) = (patched.text("apiVersion"), patched.text("kind"));
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        check_kind(&resource, group, version, kind).map_err(|why| invalid(&shown(), &why))?;
        let decoded = decode(&resource, json.as_bytes());
        let decoded = decoded.map_err(|why| invalid(&shown(), &why.to_string()))?;
        let object = self.judged(decoded, problems, &shown)?;
        Ok(self.owned(object))
    }

    /// Unknown and duplicate fields of the patch and of what it made are told together. `shown` is Go's text
    /// of the patch, which is long and seldom told.
    fn judged(
        &self,
        decoded: Decoded,
        mut problems: Vec<String>,
        shown: &dyn Fn() -> String,
    ) -> Result<Value, Status> {
        let request = self.write.request;
        match self.write.options.field_validation {
            FieldValidation::Ignore => {}
            FieldValidation::Warn => {
                problems.extend(decoded.problems);
                problems.into_iter().for_each(|p| request.warn(p));
            }
            FieldValidation::Strict => {
                problems.extend(decoded.problems);
                if !problems.is_empty() {
                    return Err(invalid(&shown(), &strict_error(&problems)));
                }
            }
        }
        Ok(finished(&self.write.target.spoken(), decoded.object))
    }

    fn owned(&self, mut object: Value) -> Value {
        self.write.own_fields(&mut object, self.existing);
        object
    }

    fn apply(&self, configuration: &Value, problems: &[String]) -> Result<Value, Status> {
        let write = self.write;
        let resource = &write.target.spoken();
        let live = (!self.existing.is_null()).then_some(self.existing);
        let complete = |merged: Value| {
            let decoded = resource.of_merged(merged);
            let decoded = decoded.map_err(|why| why.to_string())?;
            Ok(finished(resource, decoded.object))
        };
        let object = write.with_ownership(|ownership| {
            managed::apply(
                live,
                configuration,
                write.options.force,
                ownership,
                complete,
            )
        })?;
        if !problems.is_empty() {
            let why = problems.join("\n");
            match write.options.field_validation {
                FieldValidation::Ignore => {}
                FieldValidation::Warn => write.request.warn(why),
                FieldValidation::Strict => {
                    let why = format!("error strict decoding YAML: {why}");
                    return Err(Status::bad_request(why));
                }
            }
        }
        Ok(object)
    }
}

/// 422 about nothing in particular: the outcome of a patch is no object. `shown` is Go's text of it.
fn invalid(shown: &str, why: &str) -> Status {
    let error = Error::invalid(&Path::new("patch"), Raw(shown), why);
    Status::invalid(&GroupKind::new("", ""), "", &vec![error])
}
