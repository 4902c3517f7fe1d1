//! Tokens and rights.

use crate::{client, env, object, server};
use k8s_openapi::api::rbac::v1::{ClusterRole, ClusterRoleBinding};
use kube::Api;
use kube::api::PostParams;
use serde_json::json;
use stowplan_scheduler::server::Reviews;
use stowplan_telemetry::{AccessRequest, Caller, Gate, Identity, Refusal};

fn with_token(token: &str) -> Caller {
    Caller {
        token: Some(token.to_owned()),
        certificate: None,
    }
}

fn metrics() -> AccessRequest {
    AccessRequest::Path {
        verb: "get".to_owned(),
        path: "/metrics".to_owned(),
    }
}

#[tokio::test]
async fn callers_are_let_in_as_the_api_server_says() {
    let api = server().await;
    let admin = client(&api, "admin", &["system:masters"]);
    let scheduler = client(&api, "system:kube-scheduler", &["system:authenticated"]);
    let reviews = Reviews::new(scheduler.clone(), scheduler.clone(), env());
    let ask = async |caller| reviews.admit(caller, metrics()).await;

    assert_eq!(ask(with_token("admin")).await, Ok(()));
    assert_eq!(
        ask(with_token("nonsense")).await,
        Err(Refusal::Unauthorized)
    );
    let forbidden = |user: &str| {
        Err(Refusal::Forbidden {
            user: user.to_owned(),
            reason: String::new(),
        })
    };
    assert_eq!(ask(with_token("jane")).await, forbidden("jane"));
    assert_eq!(ask(Caller::default()).await, forbidden("system:anonymous"));

    let roles: Api<ClusterRole> = Api::all(admin.clone());
    let role = json!({"metadata": {"name": "metrics"},
        "rules": [{"nonResourceURLs": ["/metrics"], "verbs": ["get"]}]});
    let new = PostParams::default();
    roles.create(&new, &object(role)).await.unwrap();
    let bindings: Api<ClusterRoleBinding> = Api::all(admin);
    let group = "rbac.authorization.k8s.io";
    let binding = json!({"metadata": {"name": "metrics"},
        "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": "metrics"},
        "subjects": [{"apiGroup": group, "kind": "Group", "name": "devs"}]});
    bindings.create(&new, &object(binding)).await.unwrap();
    // An answer is believed for a while.
    assert_eq!(ask(with_token("jane")).await, forbidden("jane"));
    let reviews = Reviews::new(scheduler.clone(), scheduler, env());
    let ask = async |caller| reviews.admit(caller, metrics()).await;
    assert!(matches!(ask(with_token("jane")).await, Ok(())));
    let certificate = Some(Identity {
        name: "kim".to_owned(),
        groups: vec!["devs".to_owned()],
        ..Identity::default()
    });
    let caller = Caller {
        token: None,
        certificate,
    };
    assert_eq!(ask(caller).await, Ok(()));
    let pod = AccessRequest::Pod {
        namespace: "n".to_owned(),
        name: "p".to_owned(),
    };
    assert_eq!(
        reviews.admit(with_token("admin"), pod.clone()).await,
        Ok(())
    );
    assert_eq!(
        reviews.admit(with_token("jane"), pod).await,
        forbidden("jane")
    );
}
