//! The manifests in `deploy/`, created with strict field validation.

use crate::server;
use axum::body::Body;
use http::Request;
use http_body_util::BodyExt;
use std::path::PathBuf;
use stowplan_server::User;

fn documents() -> Vec<(String, String)> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../deploy/manifests");
    let mut out = Vec::new();
    for file in ["rbac.yaml", "config.yaml", "deployment.yaml"] {
        let text = std::fs::read_to_string(folder.join(file)).unwrap();
        for document in text.split("\n---\n") {
            let kind = document
                .lines()
                .find_map(|line| line.strip_prefix("kind: "));
            out.push((kind.unwrap().to_owned(), document.to_owned()));
        }
    }
    out
}

fn path(kind: &str) -> &'static str {
    match kind {
        "ServiceAccount" => "/api/v1/namespaces/kube-system/serviceaccounts",
        "ConfigMap" => "/api/v1/namespaces/kube-system/configmaps",
        "Service" => "/api/v1/namespaces/kube-system/services",
        "Deployment" => "/apis/apps/v1/namespaces/kube-system/deployments",
        "PodDisruptionBudget" => "/apis/policy/v1/namespaces/kube-system/poddisruptionbudgets",
        "ClusterRole" => "/apis/rbac.authorization.k8s.io/v1/clusterroles",
        "ClusterRoleBinding" => "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
        "Role" => "/apis/rbac.authorization.k8s.io/v1/namespaces/kube-system/roles",
        "RoleBinding" => "/apis/rbac.authorization.k8s.io/v1/namespaces/kube-system/rolebindings",
        kind => panic!("{kind} is new"),
    }
}

#[tokio::test]
async fn the_api_server_takes_the_manifests() {
    let api = server().await;
    let documents = documents();
    assert!(documents.len() >= 9);
    for (kind, document) in documents {
        let uri = format!("{}?fieldValidation=Strict", path(&kind));
        let request = Request::post(uri).header("content-type", "application/yaml");
        let mut request = request.body(Body::from(document)).unwrap();
        let admin = User::new("admin", &["system:masters"]);
        request.extensions_mut().insert(admin);
        let answer = api.call(request).await;
        let status = answer.status();
        let body = answer.into_body().collect().await.unwrap().to_bytes();
        assert_eq!(status, 201, "{kind}: {}", String::from_utf8_lossy(&body));
    }
}
