//! What a container sees beside the host: its volumes, and the file that it may leave a message in.

use super::Inner;
use super::start::{CONFIG_ERROR, trouble};
use crate::expand::expand;
use crate::record::{Mount, RunFolder};
use crate::volumes::Ready;
use crate::within;
use k8s_openapi::api::core::v1::{Container, VolumeMount};
use std::cell::RefCell;
use std::path::{Component, Path, PathBuf};
use stowplan_nodes::Trouble;

impl Inner {
    /// The mounts of a container.
    pub(super) fn mounts(
        &self,
        container: &Container,
        volumes: &[Ready],
        known: &dyn Fn(&str) -> Option<String>,
        folder: &RunFolder,
    ) -> Result<Vec<Mount>, Trouble> {
        let mut mounts = Vec::new();
        for wanted in container.volume_mounts.iter().flatten() {
            let volume = volumes.iter().find(|one| one.name == wanted.name);
            let Some(volume) = volume else {
                let message = format!(
                    "cannot find volume {:?} to mount into container {:?}",
                    wanted.name, container.name
                );
                return Err(trouble(CONFIG_ERROR, message));
            };
            let sub_path = sub_path(wanted, known).map_err(|why| trouble(CONFIG_ERROR, why))?;
            if let Some(path) = &sub_path
                && let Err(error) = within::make(&volume.source, path)
            {
                tracing::warn!(volume = wanted.name, ?path, %error, "a subPath is not to be had");
                let message = format!(
                    "failed to prepare subPath for volumeMount {:?} of container {:?}",
                    wanted.name, container.name
                );
                return Err(trouble(CONFIG_ERROR, message));
            }
            mounts.push(Mount {
                source: volume.source.clone(),
                sub_path,
                target: PathBuf::from(&wanted.mount_path),
                read_only: volume.read_only || wanted.read_only == Some(true),
            });
        }
        let path = container.termination_message_path.as_deref();
        let path = path
            .filter(|path| !path.is_empty())
            .unwrap_or("/dev/termination-log");
        mounts.push(Mount {
            source: folder.file("termination-log"),
            sub_path: None,
            target: PathBuf::from(path),
            read_only: false,
        });
        Ok(mounts)
    }
}

/// Which part of a volume is meant, if not all of it; or what is wrong with it, in kubelet's words.
fn sub_path(
    wanted: &VolumeMount,
    known: &dyn Fn(&str) -> Option<String>,
) -> Result<Option<PathBuf>, String> {
    let text = match (&wanted.sub_path_expr, &wanted.sub_path) {
        (Some(text), _) if !text.is_empty() => expanded(text, known)?,
        (_, Some(text)) => text.clone(),
        _ => String::new(),
    };
    if text.is_empty() {
        return Ok(None);
    }
    let path = Path::new(&text);
    if path.is_absolute() {
        return Err(format!(
            "error SubPath `{text}` must not be an absolute path"
        ));
    }
    if path.components().any(|one| one == Component::ParentDir) {
        return Err(format!(
            "unable to provision SubPath `{text}`: must not contain '..'"
        ));
    }
    Ok(Some(path.to_owned()))
}

/// `subPathExpr`, where every name has to be known.
fn expanded(text: &str, known: &dyn Fn(&str) -> Option<String>) -> Result<String, String> {
    let missing = RefCell::new(None);
    let value = |name: &str| {
        let value = known(name).filter(|value| !value.is_empty());
        if value.is_none() {
            *missing.borrow_mut() = Some(name.to_owned());
        }
        value
    };
    let path = expand(text, &value).map_err(|why| format!("subPathExpr: {why}"))?;
    match missing.into_inner() {
        Some(name) => Err(format!("missing value for {name:?}")),
        None => Ok(path),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sub_path_stays_within_its_volume_and_names_what_is_known() {
        let known = |name: &str| match name {
            "POD" => Some("web-0".to_owned()),
            "LONG" => Some("x".repeat(100_000)),
            _ => None,
        };
        let of = |path: &str, expression: &str| {
            let wanted = VolumeMount {
                sub_path: Some(path.to_owned()),
                sub_path_expr: Some(expression.to_owned()),
                ..VolumeMount::default()
            };
            sub_path(&wanted, &known)
        };
        let path = |text: &str| Ok(Some(PathBuf::from(text)));
        assert_eq!(of("", ""), Ok(None));
        assert_eq!(of("a/b", ""), path("a/b"));
        assert_eq!(of("", "logs/$(POD)"), path("logs/web-0"));
        for (wrong, expression, why) in [
            (
                "/etc",
                "",
                "error SubPath `/etc` must not be an absolute path",
            ),
            (
                "a/../..",
                "",
                "unable to provision SubPath `a/../..`: must not contain '..'",
            ),
            (
                "",
                "$(LONG)$(LONG)",
                "subPathExpr: a text is longer than 128 KiB with its references replaced",
            ),
            ("", "$(NOBODY)", "missing value for \"NOBODY\""),
        ] {
            assert_eq!(of(wrong, expression), Err(why.to_owned()));
        }
    }
}
