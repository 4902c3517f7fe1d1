use super::*;

fn deployments() -> Resource<'static> {
    let sub = |name, group, version, kind| Subresource {
        name,
        group,
        version,
        kind,
        verbs: vec!["get", "patch", "update"],
    };
    Resource {
        group: "apps",
        version: "v1",
        kind: "Deployment",
        plural: "deployments",
        namespaced: true,
        verbs: vec![
            "create",
            "delete",
            "deletecollection",
            "get",
            "list",
            "patch",
            "update",
            "watch",
        ],
        schema: "io.k8s.api.apps.v1.Deployment",
        custom: false,
        subresources: vec![
            sub("scale", "autoscaling", "v1", "Scale"),
            sub("status", "apps", "v1", "Deployment"),
        ],
    }
}

#[test]
fn the_generated_part_is_whole() {
    let built_in = BuiltIn::load();
    assert!(built_in.schemas.len() > 400);
    assert!(built_in.parameters.len() > 20);
    for name in crate::type_names() {
        let kind = name.rsplit('.').next().unwrap_or_default();
        let read_only_from_queries = kind.ends_with("Options") || name.contains(".meta.v1.");
        let embedded = matches!(
            kind,
            "DeviceConfiguration"
                | "EphemeralContainerCommon"
                | "IngressRuleValue"
                | "PersistentVolumeSource"
                | "ProbeHandler"
                | "VolumeSource"
        );
        let published = built_in.schemas.contains_key(name);
        assert!(published || read_only_from_queries || embedded, "{name}");
    }
}

#[test]
fn a_document_has_what_kubectl_looks_for() {
    let document = v3(&[deployments()], &Schemas::new());
    let item = "/paths/~1apis~1apps~1v1~1namespaces~1{namespace}~1deployments~1{name}";
    let patch = document.pointer(&format!("{item}/patch")).expect("a patch");
    let kind = json!({"group": "apps", "version": "v1", "kind": "Deployment"});
    assert_eq!(patch["x-kubernetes-group-version-kind"], kind);
    assert_eq!(patch["operationId"], "patchAppsV1NamespacedDeployment");
    assert_eq!(patch["tags"], json!(["apps_v1"]));
    let parameters = patch["parameters"].as_array().expect("a list");
    let names: Vec<&Value> = parameters.iter().map(|p| &p["name"]).collect();
    assert_eq!(
        names,
        ["dryRun", "fieldManager", "fieldValidation", "force"]
    );
    let strategic = "/requestBody/content/application~1strategic-merge-patch+json";
    assert!(patch.pointer(strategic).is_some());
    let schemas = &document["components"]["schemas"];
    let deployment = &schemas["io.k8s.api.apps.v1.Deployment"];
    assert_eq!(deployment["x-kubernetes-group-version-kind"], json!([kind]));
    let containers = &schemas["io.k8s.api.core.v1.PodSpec"]["properties"]["containers"];
    assert_eq!(containers["x-kubernetes-patch-merge-key"], "name");
    assert!(schemas.get("io.k8s.api.autoscaling.v1.Scale").is_some());
    assert!(schemas.get("io.k8s.api.core.v1.Node").is_none());
}

#[test]
fn every_reference_leads_somewhere() {
    let document = v3(&[deployments()], &Schemas::new());
    let schemas = &document["components"]["schemas"];
    let mut open = vec![&document];
    while let Some(value) = open.pop() {
        match value {
            Value::Array(items) => open.extend(items),
            Value::Object(fields) => open.extend(fields.values()),
            Value::String(text) => {
                if let Some(name) = text.strip_prefix(REFERENCE) {
                    assert!(schemas.get(name).is_some(), "{name}");
                }
            }
            _ => {}
        }
    }
}

#[test]
fn the_address_changes_with_the_content() {
    let plain = v3_index(&[deployments()], &Schemas::new());
    let url = plain["paths"]["apis/apps/v1"]["serverRelativeURL"].as_str();
    assert!(url.is_some_and(|url| url.starts_with("/openapi/v3/apis/apps/v1?hash=")));
    let mut other = deployments();
    other.verbs.pop();
    assert_ne!(plain, v3_index(&[other], &Schemas::new()));
}

#[test]
fn custom_resources_are_described_too() {
    let mut extra = Schemas::new();
    let mut widgets = Resource {
        group: "example.com",
        version: "v1",
        kind: "Widget",
        plural: "widgets",
        custom: true,
        subresources: Vec::new(),
        ..deployments()
    };
    let schema = json!({"type": "object", "properties": {"spec": {"type": "object"}}});
    let name = widgets.add_custom(&schema, &mut extra);
    assert_eq!(name, "com.example.v1.Widget");
    widgets.schema = &name;
    let document = v3(&[widgets], &extra);
    let item = "/paths/~1apis~1example.com~1v1~1namespaces~1{namespace}~1widgets~1{name}";
    let patch = document.pointer(&format!("{item}/patch")).expect("a patch");
    assert_eq!(patch["operationId"], "patchExampleComV1NamespacedWidget");
    assert!(patch["requestBody"]["content"]["application/strategic-merge-patch+json"].is_null());
    let schemas = &document["components"]["schemas"];
    assert_eq!(schemas[&name]["properties"]["kind"]["type"], "string");
    assert!(schemas.get("com.example.v1.WidgetList").is_some());
    assert!(v2(&extra)["definitions"].get(&name).is_some());
}

#[test]
fn the_older_document_has_no_newer_words() {
    let document = v2(&Schemas::new());
    let definitions = &document["definitions"];
    let port = &definitions["io.k8s.api.core.v1.ServicePort"]["properties"];
    let target = "#/definitions/io.k8s.apimachinery.pkg.util.intstr.IntOrString";
    assert_eq!(port["targetPort"]["$ref"], target);
    assert!(port["protocol"].get("default").is_none());
    let quantity = &definitions["io.k8s.apimachinery.pkg.api.resource.Quantity"];
    assert_eq!(quantity["type"], "string");
    let text = document.to_string();
    assert!(!text.contains("#/components/"));
    assert!(!text.contains("\"oneOf\":["));
}
