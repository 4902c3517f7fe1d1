//! What stands in for images: what would run if a pod does not say so itself.

use crate::shim::find;
use serde::Deserialize;
use std::collections::BTreeMap;

/// What an image would say of itself.
#[derive(Clone, PartialEq, Eq, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Image {
    /// What is run.
    #[serde(default)]
    pub entrypoint: Vec<String>,
    /// Its arguments, if a pod gives none.
    #[serde(default)]
    pub cmd: Vec<String>,
    /// Variables that it sets.
    #[serde(default)]
    pub env: BTreeMap<String, String>,
    /// Where it runs.
    #[serde(default)]
    pub working_dir: Option<String>,
}

/// Images that somebody described, by patterns in which `*` stands for anything. The longest that fits holds.
pub type ImageMap = BTreeMap<String, Image>;

/// Images that people use for scripts: the last part of the name, and what is run.
const COMMON: &[(&str, &[&str])] = &[
    ("alpine", &["/bin/sh"]),
    ("almalinux", &["/bin/bash"]),
    ("amazonlinux", &["/bin/bash"]),
    ("archlinux", &["/usr/bin/bash"]),
    ("bash", &["bash"]),
    ("buildpack-deps", &["bash"]),
    ("busybox", &["sh"]),
    ("centos", &["/bin/bash"]),
    ("debian", &["bash"]),
    ("fedora", &["/bin/bash"]),
    ("golang", &["bash"]),
    ("httpd", &["httpd-foreground"]),
    ("memcached", &["memcached"]),
    ("nginx", &["nginx", "-g", "daemon off;"]),
    ("node", &["node"]),
    ("openjdk", &["jshell"]),
    ("pause", &["sleep", "infinity"]),
    ("perl", &["perl", "-de0"]),
    ("php", &["php", "-a"]),
    ("python", &["python3"]),
    ("redis", &["redis-server"]),
    ("rockylinux", &["/bin/bash"]),
    ("ruby", &["irb"]),
    ("rust", &["bash"]),
    ("ubuntu", &["/bin/bash"]),
];

/// Images whose entry point is a program of the same name.
const PROGRAMS: &[&str] = &["curl", "git", "jq", "kubectl"];

/// The image of this name, if anybody knows what it would run.
pub(crate) fn lookup(map: &ImageMap, name: &str, path: &str) -> Option<Image> {
    let fits = map.iter().filter(|(pattern, _)| {
        is_like(pattern, name) || is_like(pattern, repository(name)) || is_like(pattern, base(name))
    });
    if let Some((_, image)) = fits.max_by_key(|(pattern, _)| pattern.len()) {
        return Some(image.clone());
    }
    let base = base(name);
    let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
    if PROGRAMS.contains(&base) {
        find(base, path).ok()?;
        return Some(Image {
            entrypoint: words(&[base]),
            ..Image::default()
        });
    }
    let (_, cmd) = COMMON.iter().find(|(known, _)| *known == base)?;
    Some(Image {
        cmd: words(cmd),
        ..Image::default()
    })
}

/// `registry/team/python:3.12@sha256:…` without tag and digest.
fn repository(name: &str) -> &str {
    let name = name.split('@').next().unwrap_or(name);
    let slash = name.rfind('/').map_or(0, |at| at + 1);
    match name.get(slash..).and_then(|last| last.find(':')) {
        Some(colon) => name.get(..slash + colon).unwrap_or(name),
        None => name,
    }
}

/// `python`.
fn base(name: &str) -> &str {
    let name = repository(name);
    name.rsplit('/').next().unwrap_or(name)
}

/// Whether a text is like a pattern, in which `*` stands for anything.
fn is_like(pattern: &str, text: &str) -> bool {
    let mut parts = pattern.split('*');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = text.strip_prefix(first) else {
        return false;
    };
    let mut parts: Vec<&str> = parts.collect();
    let Some(last) = parts.pop() else {
        return rest.is_empty();
    };
    for part in parts {
        match rest.find(part) {
            Some(at) => rest = rest.get(at + part.len()..).unwrap_or_default(),
            None => return false,
        }
    }
    rest.ends_with(last)
}

/// The command line: what a pod says, and what an image would say where it does not.
pub(crate) fn command_line(command: &[String], args: &[String], image: &Image) -> Vec<String> {
    match (command.is_empty(), args.is_empty()) {
        (false, _) => [command, args].concat(),
        (true, false) => [&image.entrypoint, args].concat(),
        (true, true) => [&image.entrypoint[..], &image.cmd[..]].concat(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_cut_to_what_is_known() {
        for (name, expected) in [
            ("busybox", "busybox"),
            ("busybox:1.36", "busybox"),
            ("docker.io/library/python:3.12-slim", "python"),
            ("localhost:5000/python", "python"),
            ("registry.k8s.io/pause:3.10@sha256:abc", "pause"),
        ] {
            assert_eq!(base(name), expected, "{name}");
        }
    }

    #[test]
    fn the_longest_pattern_that_fits_holds_before_the_table() {
        let image = |word: &str| Image {
            entrypoint: vec![word.to_owned()],
            ..Image::default()
        };
        let map: ImageMap = [
            ("team/*".to_owned(), image("any")),
            ("team/web*".to_owned(), image("web")),
            ("busybox".to_owned(), image("own")),
        ]
        .into();
        let entry =
            |name: &str| lookup(&map, name, "/bin").and_then(|one| one.entrypoint.first().cloned());
        assert_eq!(entry("team/web:1"), Some("web".to_owned()));
        assert_eq!(entry("team/api:1"), Some("any".to_owned()));
        assert_eq!(entry("busybox:1.36"), Some("own".to_owned()));
        assert_eq!(entry("other/thing"), None);
        let known = lookup(&ImageMap::new(), "alpine:3", "/bin").unwrap();
        assert_eq!(known.cmd, ["/bin/sh"]);
    }

    /// As Kubernetes documents it, `inject-data-application/define-command-argument-container`.
    #[test]
    fn a_pods_command_replaces_all_and_its_args_the_images_args() {
        let words =
            |text: &str| -> Vec<String> { text.split_whitespace().map(str::to_owned).collect() };
        let image = Image {
            entrypoint: words("ep-1"),
            cmd: words("foo bar"),
            ..Image::default()
        };
        for (command, args, expected) in [
            ("", "", "ep-1 foo bar"),
            ("ep-2", "", "ep-2"),
            ("", "zoo boo", "ep-1 zoo boo"),
            ("ep-2", "zoo boo", "ep-2 zoo boo"),
        ] {
            assert_eq!(
                command_line(&words(command), &words(args), &image),
                words(expected)
            );
        }
    }
}
