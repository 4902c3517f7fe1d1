//! Files of one volume that would overwrite each other.

use serde_json::{Map, Value};
use std::fmt;
use stowplan_apimachinery::limits::{ERRORS_TOLD_MAX, WARNINGS_COMPARED_MAX};
use stowplan_apimachinery::{View, go};

#[derive(Clone, Copy)]
struct File<'a> {
    path: &'a str,
    /// Where it comes from, if that is not clear from the volume.
    source: Option<Source<'a>>,
}

/// The kind of what holds files, and its name if it has one.
#[derive(Clone, Copy)]
struct Source<'a>(&'static str, Option<&'a str>);

impl fmt::Display for Source<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.1 {
            Some(name) => write!(f, "{} {}", self.0, go::quote(name)),
            None => f.write_str(self.0),
        }
    }
}

impl File<'_> {
    fn shown(&self) -> String {
        let quoted = go::quote(self.path);
        match self.source {
            Some(source) => format!("{quoted} ({source})"),
            None => quoted,
        }
    }

    fn overlaps(&self, other: &Self) -> bool {
        let inside = |a: &str, b: &str| {
            let rest = a.strip_prefix(b);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        !self.path.is_empty()
            && !other.path.is_empty()
            && (inside(self.path, other.path) || inside(other.path, self.path))
    }
}

pub(super) fn overlaps(spec: &Value, out: &mut Vec<String>) {
    for volume in spec.list("volumes") {
        let name = volume.text("name");
        for (field, kind, names) in [
            ("configMap", "ConfigMap", Some("name")),
            ("secret", "Secret", Some("secretName")),
            ("downwardAPI", "DownwardAPI", None),
        ] {
            let own = volume.at(field);
            let within = Source(kind, names.map(|field| own.text(field)));
            check(name, within, files(own, None), &mut Seen::default(), out);
        }
        let mut seen = Seen::default();
        for source in volume.at("projected").list("sources") {
            if source.as_object().is_some_and(Map::is_empty) {
                let name = go::quote(name);
                out.push(format!("volume {name} (Projected) has no sources provided"));
            }
            let within = Source("Projected", None);
            check(name, within, projected(source), &mut seen, out);
        }
    }
}

fn files<'a>(holder: &'a Value, source: Option<Source<'a>>) -> Vec<File<'a>> {
    let items = holder.list("items").iter();
    let file = |item: &'a Value| File {
        path: item.text("path"),
        source,
    };
    items.map(file).collect()
}

/// The files of the first source that is given.
fn projected(source: &Value) -> Vec<File<'_>> {
    for (field, kind) in [("configMap", "ConfigMap"), ("secret", "Secret")] {
        let own = source.at(field);
        if own.has("items") {
            return files(own, Some(Source(kind, Some(own.text("name")))));
        }
    }
    if source.at("downwardAPI").has("items") {
        let named = Source("DownwardAPI", None);
        return files(source.at("downwardAPI"), Some(named));
    }
    if source.has("serviceAccountToken") {
        return vec![File {
            path: source.at("serviceAccountToken").text("path"),
            source: Some(Source("ServiceAccountToken", None)),
        }];
    }
    Vec::new()
}

/// Files that a volume has already, and how many were looked at to find those that overlap.
#[derive(Default)]
struct Seen<'a> {
    files: Vec<File<'a>>,
    compared: usize,
}

/// Compares files with those that the volume has already: the first ones, if there are very many.
fn check<'a>(
    volume: &str,
    within: Source<'_>,
    files: Vec<File<'a>>,
    seen: &mut Seen<'a>,
    out: &mut Vec<String>,
) {
    for mut file in files {
        file.path = file.path.trim_end_matches('/');
        seen.compared += seen.files.len();
        if seen.compared > WARNINGS_COMPARED_MAX || out.len() > ERRORS_TOLD_MAX {
            return;
        }
        for other in seen.files.iter().filter(|other| file.overlaps(other)) {
            out.push(format!(
                "volume {} ({within}): overlapping paths: {} with {}",
                go::quote(volume),
                file.shown(),
                other.shown()
            ));
        }
        seen.files.push(file);
    }
}
