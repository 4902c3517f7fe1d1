//! Files of one volume that would overwrite each other.

use serde_json::{Map, Value};
use stowplan_machinery::{View, go};

struct File {
    path: String,
    /// Where it comes from, if that is not clear from the volume.
    source: String,
}

impl File {
    fn shown(&self) -> String {
        let quoted = go::quote(&self.path);
        match self.source.is_empty() {
            true => quoted,
            false => format!("{quoted} ({})", self.source),
        }
    }

    fn overlaps(&self, other: &Self) -> bool {
        let inside = |a: &str, b: &str| format!("{a}/").starts_with(&format!("{b}/"));
        !self.path.is_empty()
            && !other.path.is_empty()
            && (inside(&self.path, &other.path) || inside(&other.path, &self.path))
    }
}

pub(super) fn overlaps(spec: &Value, out: &mut Vec<String>) {
    for volume in spec.list("volumes") {
        let name = go::quote(volume.text("name"));
        for (field, kind, names) in [
            ("configMap", "ConfigMap", Some("name")),
            ("secret", "Secret", Some("secretName")),
            ("downwardAPI", "DownwardAPI", None),
        ] {
            let source = volume.at(field);
            let described = match names {
                Some(field) => format!("{kind} {}", go::quote(source.text(field))),
                None => kind.to_owned(),
            };
            check(&name, &described, files(source, ""), &mut Vec::new(), out);
        }
        let mut seen = Vec::new();
        for source in volume.at("projected").list("sources") {
            if source.as_object().is_some_and(Map::is_empty) {
                out.push(format!("volume {name} (Projected) has no sources provided"));
            }
            check(&name, "Projected", projected(source), &mut seen, out);
        }
    }
}

fn files(source: &Value, described: &str) -> Vec<File> {
    let items = source.list("items").iter();
    items
        .map(|item| File {
            path: item.text("path").to_owned(),
            source: described.to_owned(),
        })
        .collect()
}

/// The files of the first source that is given.
fn projected(source: &Value) -> Vec<File> {
    for (field, kind) in [("configMap", "ConfigMap"), ("secret", "Secret")] {
        let own = source.at(field);
        if own.has("items") {
            return files(own, &format!("{kind} {}", go::quote(own.text("name"))));
        }
    }
    if source.at("downwardAPI").has("items") {
        return files(source.at("downwardAPI"), "DownwardAPI");
    }
    if source.has("serviceAccountToken") {
        let path = source.at("serviceAccountToken").text("path").to_owned();
        let source = "ServiceAccountToken".to_owned();
        return vec![File { path, source }];
    }
    Vec::new()
}

/// Compares files with those that the volume has already.
fn check(
    volume: &str,
    described: &str,
    files: Vec<File>,
    seen: &mut Vec<File>,
    out: &mut Vec<String>,
) {
    for mut file in files {
        file.path = file.path.trim_end_matches('/').to_owned();
        for other in seen.iter().filter(|other| file.overlaps(other)) {
            out.push(format!(
                "volume {volume} ({described}): overlapping paths: {} with {}",
                file.shown(),
                other.shown()
            ));
        }
        seen.push(file);
    }
}
