use super::{OneVersion, Request, Unconvertible, Versions, apply, keep_times, scale, update};
use serde_json::{Value, json};
use stowplan_apimachinery::{Edit, Status, View};
use stowplan_schema::{Type, type_of};

/// An object that several write, one after the other.
struct Story {
    empty: Value,
    live: Option<Value>,
    minute: u32,
}

impl Story {
    fn new() -> Self {
        Self {
            empty: json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {}}),
            live: None,
            minute: 0,
        }
    }

    fn with<R>(&mut self, manager: &str, act: impl FnOnce(Option<&Value>, &Request<'_>) -> R) -> R {
        self.minute += 1;
        let now = format!("2026-01-01T00:{:02}:00Z", self.minute);
        let request = Request {
            ty: type_of("io.k8s.api.core.v1.ConfigMap").expect("a built-in type"),
            api_version: "v1",
            kind: "ConfigMap",
            subresource: "",
            manager,
            reset_fields: &[],
            empty: &self.empty,
            versions: &OneVersion,
            now: &now,
        };
        act(self.live.as_ref(), &request)
    }

    fn update(&mut self, manager: &str, mut object: Value) {
        self.with(manager, |live, request| update(live, &mut object, request));
        self.store(object);
    }

    fn apply(&mut self, manager: &str, force: bool, object: Value) -> Result<(), Status> {
        let new = self.with(manager, |live, request| {
            apply(live, &object, force, request, Ok)
        })?;
        self.store(new);
        Ok(())
    }

    fn store(&mut self, mut object: Value) {
        object.at_mut("metadata").set("uid", "u");
        self.live = Some(object);
    }

    fn live(&self) -> &Value {
        self.live.as_ref().expect("something was written")
    }

    /// Manager, operation, minute and fields of each entry.
    fn owners(&self) -> Vec<(String, String, Value)> {
        let entries = self.live().at("metadata").list("managedFields");
        let owner = |entry: &Value| {
            let time = entry.text("time");
            let who = format!("{} {}", entry.text("manager"), entry.text("operation"));
            let minute = time.get(14..16).unwrap_or_default();
            (who, minute.to_owned(), entry.at("fieldsV1").clone())
        };
        entries.iter().map(owner).collect()
    }

    fn managers(&self) -> Vec<String> {
        self.owners().into_iter().map(|owner| owner.0).collect()
    }
}

fn config_map(data: Value) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": data})
}

fn owner(who: &str, minute: &str, data: Value) -> (String, String, Value) {
    (who.to_owned(), minute.to_owned(), json!({"f:data": data}))
}

#[test]
fn who_writes_a_field_owns_it_from_then_on() {
    let mut story = Story::new();
    story.update("x", config_map(json!({"a": "1", "b": "1"})));
    story.update("y", config_map(json!({"a": "2", "b": "1"})));
    assert_eq!(
        story.owners(),
        [
            owner("x Update", "01", json!({".": {}, "f:b": {}})),
            owner("y Update", "02", json!({"f:a": {}})),
        ]
    );
    story.update("y", config_map(json!({"a": "2"})));
    assert_eq!(
        story.owners(),
        [
            owner("x Update", "01", json!({})),
            owner("y Update", "02", json!({"f:a": {}})),
        ]
    );
}

#[test]
fn entries_of_the_request_are_taken_and_empty_ones_forget_all() {
    let mut story = Story::new();
    story.update("x", config_map(json!({"a": "1"})));
    for reset in [json!([]), json!([{}])] {
        let mut object = config_map(json!({"a": "2"}));
        object.at_mut("metadata").set("managedFields", reset);
        let mut copy = Story {
            live: story.live.clone(),
            ..Story::new()
        };
        copy.update("y", object);
        assert!(copy.managers().is_empty());
        copy.update("z", config_map(json!({"a": "3"})));
        assert!(
            copy.managers().is_empty(),
            "nobody is tracked until the next apply"
        );
    }
    let mut object = config_map(json!({"a": "1"}));
    let by_hand = json!([{
        "manager": "hand", "operation": "Apply", "apiVersion": "v1", "fieldsType": "FieldsV1",
        "fieldsV1": {"f:data": {"f:a": {}}},
    }]);
    object.at_mut("metadata").set("managedFields", by_hand);
    story.update("y", object);
    assert_eq!(story.managers(), ["hand Apply"]);
}

#[test]
fn entries_in_versions_that_are_gone_are_forgotten() {
    let mut story = Story::new();
    let mut object = config_map(json!({"a": "1"}));
    let old = json!([{
        "manager": "old", "operation": "Update", "apiVersion": "v9", "fieldsType": "FieldsV1",
        "fieldsV1": {"f:data": {"f:a": {}}},
    }]);
    object.at_mut("metadata").set("managedFields", old);
    story.update("x", object);
    assert_eq!(story.managers(), ["x Update"]);
}

/// A second version that is just like the first.
struct Alike;

impl Versions for Alike {
    fn convert(&self, object: &Value, api_version: &str) -> Result<(Value, &Type), Unconvertible> {
        let mut object = object.clone();
        object.set("apiVersion", api_version);
        let ty = type_of("io.k8s.api.core.v1.ConfigMap").ok_or(Unconvertible::Missing)?;
        Ok((object, ty))
    }
}

#[test]
fn other_versions_are_owned_too_but_have_no_room_for_duplicates() {
    let by_v2 = |finalizers: Value| {
        let mut object = config_map(json!({"a": "1"}));
        let entries = json!([{
            "manager": "new", "operation": "Update", "apiVersion": "v2", "fieldsType": "FieldsV1",
            "fieldsV1": {"f:data": {"f:a": {}}},
        }]);
        object.at_mut("metadata").set("managedFields", entries);
        object.at_mut("metadata").set("finalizers", finalizers);
        let mut story = Story::new();
        story.with("x", |live, request| {
            let request = Request {
                versions: &Alike,
                ..*request
            };
            update(live, &mut object, &request);
        });
        story.store(object);
        story.managers()
    };
    // What is new in the object is new in every version.
    assert_eq!(by_v2(json!(["f"])), ["x Update"]);
    assert!(by_v2(json!(["f", "f"])).is_empty());
}

#[test]
fn the_oldest_updates_are_merged_when_there_are_too_many() {
    let mut story = Story::new();
    for i in 0..12 {
        let data: serde_json::Map<String, Value> =
            (0..=i).map(|i| (format!("k{i}"), json!("1"))).collect();
        story.update(&format!("m{i:02}"), config_map(data.into()));
    }
    let managers = story.managers();
    assert_eq!(managers.len(), 10);
    assert_eq!(
        managers.first().map(String::as_str),
        Some("ancient-changes Update")
    );
    assert_eq!(
        story.owners().first(),
        Some(&owner(
            "ancient-changes Update",
            "03",
            json!({".": {}, "f:k0": {}, "f:k1": {}, "f:k2": {}})
        ))
    );
}

#[test]
fn a_field_goes_when_its_last_applier_drops_it() {
    let mut story = Story::new();
    assert!(
        story
            .apply("x", false, config_map(json!({"a": "1", "b": "1"})))
            .is_ok()
    );
    assert!(
        story
            .apply("y", false, config_map(json!({"a": "1"})))
            .is_ok()
    );
    assert!(
        story
            .apply("x", false, config_map(json!({"b": "1"})))
            .is_ok()
    );
    assert_eq!(story.live().at("data"), &json!({"a": "1", "b": "1"}));
    assert!(story.apply("y", false, config_map(json!({}))).is_ok());
    assert_eq!(story.live().at("data"), &json!({"b": "1"}));
}

#[test]
fn applying_the_same_again_keeps_the_time() {
    let mut story = Story::new();
    assert!(
        story
            .apply("x", false, config_map(json!({"a": "1"})))
            .is_ok()
    );
    assert!(
        story
            .apply("x", false, config_map(json!({"a": "1"})))
            .is_ok()
    );
    assert_eq!(story.owners(), [owner("x Apply", "01", json!({"f:a": {}}))]);
}

#[test]
fn what_others_own_is_a_conflict_unless_forced() {
    let mut story = Story::new();
    assert!(
        story
            .apply("x", false, config_map(json!({"a": "1", "b": "1"})))
            .is_ok()
    );
    story.update("u", config_map(json!({"a": "1", "b": "2"})));
    let refused = story.apply("y", false, config_map(json!({"a": "3", "b": "3"})));
    let status = refused.expect_err("both fields are taken");
    assert_eq!(
        status.to_json(),
        json!({
            "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "code": 409,
            "reason": "Conflict",
            "message": "Apply failed with 2 conflicts: conflicts with \"u\" using v1:\n- .data.b\nconflicts with \"x\":\n- .data.a",
            "details": {"causes": [
                {"reason": "FieldManagerConflict", "message": "conflict with \"u\" using v1", "field": ".data.b"},
                {"reason": "FieldManagerConflict", "message": "conflict with \"x\"", "field": ".data.a"},
            ]},
        })
    );
    assert!(
        story
            .apply("y", true, config_map(json!({"a": "3", "b": "3"})))
            .is_ok()
    );
    assert_eq!(story.managers(), ["y Apply"]);
}

#[test]
fn an_untracked_object_belongs_to_nobody_in_particular() {
    let mut story = Story::new();
    story.store(config_map(json!({"a": "1"})));
    let refused = story.apply("x", false, config_map(json!({"a": "2"})));
    assert_eq!(
        refused.map_err(|status| status.message),
        Err(
            "Apply failed with 1 conflict: conflict with \"before-first-apply\" using v1: .data.a"
                .to_owned()
        )
    );
    assert!(
        story
            .apply("x", true, config_map(json!({"a": "2"})))
            .is_ok()
    );
    assert_eq!(
        story.owners(),
        [
            owner("x Apply", "02", json!({"f:a": {}})),
            owner("before-first-apply Update", "02", json!({})),
        ]
    );
}

#[test]
fn what_kubectl_applied_itself_before_is_no_conflict() {
    let mut story = Story::new();
    let mut object = config_map(json!({"a": "1"}));
    let last = config_map(json!({"a": "1"})).to_string();
    let annotation = "kubectl.kubernetes.io/last-applied-configuration";
    object
        .at_mut("metadata")
        .at_mut("annotations")
        .set(annotation, last);
    story.update("kubectl-client-side-apply", object);
    assert!(
        story
            .apply("other", false, config_map(json!({"a": "2"})))
            .is_err()
    );
    assert!(
        story
            .apply("kubectl", false, config_map(json!({"a": "<2>"})))
            .is_ok()
    );
    assert_eq!(
        story.live().path(&["metadata", "annotations", annotation]),
        "{\"apiVersion\":\"v1\",\"data\":{\"a\":\"\\u003c2\\u003e\"},\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"a\"}}\n"
    );
}

#[test]
fn only_the_right_kind_can_be_applied_and_never_owners() {
    let mut story = Story::new();
    let message = |refused: Result<(), Status>| refused.map_err(|s| (s.code, s.message));
    let mut odd = config_map(json!({}));
    odd.set("kind", "Odd");
    assert_eq!(
        message(story.apply("x", false, odd)),
        Err((400, "invalid object type: /v1, Kind=Odd".to_owned()))
    );
    let mut owned = config_map(json!({}));
    owned.at_mut("metadata").set("managedFields", json!([]));
    assert_eq!(
        message(story.apply("x", false, owned)),
        Err((400, "metadata.managedFields must be nil".to_owned()))
    );
    let mut unknown = config_map(json!({}));
    unknown.set("oddity", 1);
    assert_eq!(
        message(story.apply("x", false, unknown)),
        Err((
            500,
            "failed to create typed patch object (/a; /v1, Kind=ConfigMap): .oddity: field not declared in schema".to_owned()
        ))
    );
}

#[test]
fn what_is_no_object_after_all_is_told() {
    let mut story = Story::new();
    let object = config_map(json!({"a": "1"}));
    let refused = story.with("x", |live, request| {
        apply(live, &object, false, request, |_| Err("because".to_owned()))
    });
    assert_eq!(
        refused.map_err(|status| status.message),
        Err("failed to convert new object (/a; /v1, Kind=ConfigMap) to proper version: unable to convert unstructured object to /v1, Kind=ConfigMap: because".to_owned())
    );
}

#[test]
fn times_that_alone_differ_are_put_back() {
    let object = |time: &str, data: &str| json!({"metadata": {"managedFields": [{"manager": "x", "time": time}]}, "data": data});
    let mut new = object("2", "a");
    keep_times(&mut new, &object("1", "a"));
    assert_eq!(new, object("1", "a"));
    let mut new = object("2", "b");
    keep_times(&mut new, &object("1", "a"));
    assert_eq!(new, object("2", "b"));
}

#[test]
fn replicas_are_shared_with_the_scale() {
    let entry = |manager: &str, version: &str, fields: Value| {
        json!({
            "manager": manager, "operation": "Update", "apiVersion": version,
            "fieldsType": "FieldsV1", "fieldsV1": fields, "time": "2026-01-01T00:00:00Z",
        })
    };
    let replicas = json!({"f:spec": {"f:replicas": {}}});
    let object = json!([
        entry(
            "a",
            "apps/v1",
            json!({"f:spec": {"f:replicas": {}, "f:paused": {}}})
        ),
        entry("b", "apps/v1", json!({"f:spec": {"f:minReadySeconds": {}}})),
    ]);
    let paths: scale::ReplicasPaths<'_> = &[("apps/v1", Some(&["spec", "replicas"]))];
    assert_eq!(
        scale::of_scale(&object, paths),
        Some(json!([entry("a", "autoscaling/v1", replicas.clone())]))
    );
    let mut taken = entry("c", "autoscaling/v1", replicas.clone());
    taken.set("subresource", "scale");
    let mut in_object = entry("c", "apps/v1", replicas);
    in_object.set("subresource", "scale");
    in_object.unset("time");
    assert_eq!(
        scale::of_object(&object, &json!([taken]), "apps/v1", paths),
        Some(json!([
            in_object,
            entry("a", "apps/v1", json!({"f:spec": {"f:paused": {}}})),
            entry("b", "apps/v1", json!({"f:spec": {"f:minReadySeconds": {}}})),
        ]))
    );
}

/// A kind whose versions are all alike, which counts how often it is asked for another.
struct Counted {
    ty: &'static Type,
    asked: std::cell::Cell<usize>,
}

impl Versions for Counted {
    fn convert(&self, object: &Value, _: &str) -> Result<(Value, &Type), Unconvertible> {
        self.asked.set(self.asked.get() + 1);
        Ok((object.clone(), self.ty))
    }
}

#[test]
fn objects_are_converted_once_per_version() {
    let ty = type_of("io.k8s.api.core.v1.ConfigMap").expect("a built-in type");
    let entry = |i: usize| {
        json!({"manager": format!("m{i}"), "operation": "Apply", "apiVersion": "v2",
            "fieldsType": "FieldsV1", "fieldsV1": {"f:data": {format!("f:{i}"): {}}}})
    };
    let data: Value = (0..500).map(|i| (i.to_string(), json!("x"))).collect();
    let owners: Vec<Value> = (0..500).map(entry).collect();
    let object = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"managedFields": owners}, "data": data});
    let versions = Counted {
        ty,
        asked: 0.into(),
    };
    let empty = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {}});
    let request = Request {
        ty,
        api_version: "v1",
        kind: "ConfigMap",
        subresource: "",
        manager: "me",
        reset_fields: &[],
        empty: &empty,
        versions: &versions,
        now: "2026-01-01T00:00:00Z",
    };
    let mut new = object.clone();
    new["data"]["0"] = json!("y");
    update(Some(&object), &mut new, &request);
    assert_eq!(new.at("metadata").list("managedFields").len(), 500);
    assert!(versions.asked.get() <= 4, "{}", versions.asked.get());
}

#[test]
fn too_many_owners_are_passed_over() {
    let entry = |i: usize| {
        json!({"manager": format!("m{i}"), "operation": "Apply", "apiVersion": "v1",
            "fieldsType": "FieldsV1", "fieldsV1": {"f:data": {"f:a": {}}}})
    };
    let mut story = Story::new();
    story.update(
        "a",
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {}, "data": {"a": "b"}}),
    );
    let mut object = story.live().clone();
    let owners: Vec<Value> = (0..30_000).map(entry).collect();
    object["metadata"]["managedFields"] = owners.into();
    story.update("b", object);
    let left = story.live().at("metadata").list("managedFields");
    assert_eq!(left.len(), 1, "{left:?}");
}

#[test]
fn conflicts_are_told_up_to_a_number() {
    let data = |value: &str| -> Value {
        let entries = (0..5_000).map(|i| (i.to_string(), json!(value)));
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {}, "data": entries.collect::<Value>()})
    };
    let mut story = Story::new();
    story.apply("a", false, data("x")).expect("nobody else");
    let status = story.apply("b", false, data("y")).expect_err("conflicts");
    let causes = status.details.map(|details| details.causes.len());
    assert_eq!((status.code, causes), (409, Some(1_000)));
}
