//! The files with what is there from the beginning, and with what is queued later.

use crate::story::Kind;
use serde::Deserialize;
use serde_json::Value;

/// What is made at the beginning, in this order.
const SCENE: [(&str, &str); 5] = [
    ("company.yaml", include_str!("../manifests/company.yaml")),
    (
        "monitoring.yaml",
        include_str!("../manifests/monitoring.yaml"),
    ),
    ("shop.yaml", include_str!("../manifests/shop.yaml")),
    ("data.yaml", include_str!("../manifests/data.yaml")),
    ("research.yaml", include_str!("../manifests/research.yaml")),
];

/// A file of the program cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("{file} cannot be read")]
pub struct Unreadable {
    file: &'static str,
    #[source]
    cause: serde_yaml_ng::Error,
}

/// All objects that there are from the beginning.
pub(crate) fn scene() -> Result<Vec<Value>, Unreadable> {
    let files = SCENE.into_iter().map(|(file, text)| objects(file, text));
    let files: Result<Vec<_>, _> = files.collect();
    Ok(files?.concat())
}

/// What a Job of this kind looks like, but for its name and its size.
pub(crate) fn job(kind: Kind) -> Result<Value, Unreadable> {
    let (file, text) = match kind {
        Kind::Thumbnails => (
            "jobs/thumbnails.yaml",
            include_str!("../manifests/jobs/thumbnails.yaml"),
        ),
        Kind::Invoices => (
            "jobs/invoices.yaml",
            include_str!("../manifests/jobs/invoices.yaml"),
        ),
        Kind::Train => (
            "jobs/train.yaml",
            include_str!("../manifests/jobs/train.yaml"),
        ),
        Kind::Deadline => (
            "jobs/deadline.yaml",
            include_str!("../manifests/jobs/deadline.yaml"),
        ),
    };
    let job = serde_yaml_ng::from_str(text);
    job.map_err(|cause| Unreadable { file, cause })
}

fn objects(file: &'static str, text: &str) -> Result<Vec<Value>, Unreadable> {
    let documents = serde_yaml_ng::Deserializer::from_str(text);
    let read = |document| Value::deserialize(document);
    let objects: Result<_, _> = documents.map(read).collect();
    objects.map_err(|cause| Unreadable { file, cause })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_is_a_list_of_objects() {
        let objects = scene().unwrap();
        assert!(objects.len() > 40);
        let jobs = Kind::ALL.map(|kind| job(kind).unwrap());
        for object in objects.iter().chain(&jobs) {
            for field in ["apiVersion", "kind"] {
                assert!(object[field].is_string(), "{object}");
            }
        }
    }
}
