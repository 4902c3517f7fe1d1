//! Volumes as folders.

mod render;

pub(crate) use render::{File, render};

use crate::fields::{Place, container_named, field, resource};
use crate::shim::NOT_THERE;
use crate::sources::{Entries, Names, Sources};
use k8s_openapi::api::core::v1::{
    Container, DownwardAPIVolumeFile, HostPathVolumeSource, KeyToPath, PersistentVolume,
    PersistentVolumeClaim, Pod, ProjectedVolumeSource, ServiceAccountTokenProjection, Volume,
};
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::path::{Component, Path, PathBuf};
use stowplan_client::Requests;

/// Who provisions volumes that are folders here.
const PROVISIONER: &str = "simulated.stowplan.dev";
/// The mode of files that say nothing of theirs.
const MODE: i32 = 0o644;

/// What volumes of a pod need.
pub(crate) struct Volumes<'a> {
    pub(crate) requests: &'a Requests,
    pub(crate) pod: &'a Pod,
    pub(crate) place: &'a Place,
    /// Where those are that go with the pod.
    pub(crate) folder: &'a Path,
    /// Where those are that last.
    pub(crate) claims: &'a Path,
    pub(crate) allow_host_path: bool,
}

/// A volume that is there.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Ready {
    pub(crate) name: String,
    pub(crate) source: PathBuf,
    /// Nobody may write to it.
    pub(crate) read_only: bool,
}

/// Refuses mounts at `/` and in `/proc`. Where links lead is seen only in the container, which then does not start.
fn refuse_places(pod: &Pod) -> Result<(), String> {
    let Some(spec) = &pod.spec else {
        return Ok(());
    };
    let init = spec.init_containers.iter().flatten();
    for container in init.chain(&spec.containers) {
        for mount in container.volume_mounts.iter().flatten() {
            let mut place = PathBuf::from("/");
            for part in Path::new(&mount.mount_path).components() {
                match part {
                    Component::Normal(name) => place.push(name),
                    Component::ParentDir => drop(place.pop()),
                    _ => {}
                }
            }
            if place == Path::new("/") || place.starts_with("/proc") {
                let (name, path) = (&container.name, &mount.mount_path);
                return Err(format!(
                    "cannot mount volume {:?} at {path:?} in container {name:?}: {NOT_THERE}",
                    mount.name
                ));
            }
        }
    }
    Ok(())
}

impl Volumes<'_> {
    fn namespace(&self) -> &str {
        self.pod.metadata.namespace.as_deref().unwrap_or_default()
    }

    /// Makes all of them; or says what is wrong, in kubelet's words.
    pub(crate) async fn make(&self) -> Result<Vec<Ready>, String> {
        refuse_places(self.pod)?;
        let spec = self.pod.spec.as_ref();
        let volumes = spec.and_then(|spec| spec.volumes.as_deref());
        let mut all = Vec::new();
        for volume in volumes.unwrap_or_default() {
            let name = &volume.name;
            let made = self.one(volume).await;
            let (source, read_only) = made
                .map_err(|why| format!("MountVolume.SetUp failed for volume {name:?} : {why}"))?;
            all.push(Ready {
                name: name.clone(),
                source,
                read_only,
            });
        }
        Ok(all)
    }

    /// Where a volume is, and whether nobody may write to it.
    async fn one(&self, volume: &Volume) -> Result<(PathBuf, bool), String> {
        let folder = self.folder.join(&volume.name);
        if let Some(files) = self.files(volume).await? {
            render(&folder, &files).map_err(|error| error.to_string())?;
            return Ok((folder, true));
        }
        if volume.empty_dir.is_some() {
            fs::create_dir_all(&folder).map_err(|error| error.to_string())?;
            let all = fs::Permissions::from_mode(0o777);
            fs::set_permissions(&folder, all).map_err(|error| error.to_string())?;
            return Ok((folder, false));
        }
        if let Some(one) = &volume.host_path {
            return self.host_path(one).map(|path| (path, false));
        }
        if let Some(one) = &volume.persistent_volume_claim {
            let source = self.claim(&one.claim_name).await?;
            return Ok((source, one.read_only == Some(true)));
        }
        if volume.ephemeral.is_some() {
            let pod = self.pod.metadata.name.as_deref().unwrap_or_default();
            let claim = format!("{pod}-{}", volume.name);
            return Ok((self.claim(&claim).await?, false));
        }
        Err("volumes of this kind are not supported for processes".to_owned())
    }

    /// The files of a volume that consists of some; `None` if it is another one.
    async fn files(&self, volume: &Volume) -> Result<Option<Vec<File>>, String> {
        if let Some(one) = &volume.config_map {
            let names = Names {
                config_maps: [one.name.clone()].into(),
                ..Names::default()
            };
            let sources = self.read(names).await?;
            let found = sources.config_map(&one.name, one.optional)?;
            let mode = one.default_mode.unwrap_or(MODE);
            let what = (one.optional, "configmap");
            return project(found, one.items.as_deref(), mode, what).map(Some);
        }
        if let Some(one) = &volume.secret {
            let name = one.secret_name.clone().unwrap_or_default();
            let names = Names {
                secrets: [name.clone()].into(),
                ..Names::default()
            };
            let sources = self.read(names).await?;
            let found = sources.secret(&name, one.optional)?;
            let mode = one.default_mode.unwrap_or(MODE);
            let what = (one.optional, "secret");
            return project(found, one.items.as_deref(), mode, what).map(Some);
        }
        if let Some(one) = &volume.downward_api {
            let items = one.items.as_deref().unwrap_or_default();
            return self
                .downward(items, one.default_mode.unwrap_or(MODE))
                .map(Some);
        }
        match &volume.projected {
            Some(one) => self.projected(one).await.map(Some),
            None => Ok(None),
        }
    }

    async fn read(&self, names: Names) -> Result<Sources, String> {
        let read = Sources::read(self.requests, self.namespace(), names).await;
        read.map_err(|failed| failed.message())
    }

    async fn projected(&self, wanted: &ProjectedVolumeSource) -> Result<Vec<File>, String> {
        let mode = wanted.default_mode.unwrap_or(MODE);
        let mut files = Vec::new();
        for source in wanted.sources.iter().flatten() {
            if source.cluster_trust_bundle.is_some() || source.pod_certificate.is_some() {
                return Err("sources of this kind are not supported for processes".to_owned());
            }
            if let Some(one) = &source.config_map {
                let names = Names {
                    config_maps: [one.name.clone()].into(),
                    ..Names::default()
                };
                let sources = self.read(names).await?;
                let found = sources.config_map(&one.name, one.optional)?;
                let what = (one.optional, "configmap");
                files.extend(project(found, one.items.as_deref(), mode, what)?);
            }
            if let Some(one) = &source.secret {
                let names = Names {
                    secrets: [one.name.clone()].into(),
                    ..Names::default()
                };
                let sources = self.read(names).await?;
                let found = sources.secret(&one.name, one.optional)?;
                let what = (one.optional, "secret");
                files.extend(project(found, one.items.as_deref(), mode, what)?);
            }
            if let Some(one) = &source.downward_api {
                files.extend(self.downward(one.items.as_deref().unwrap_or_default(), mode)?);
            }
            if let Some(one) = &source.service_account_token {
                files.push(File {
                    path: one.path.clone(),
                    mode: MODE,
                    data: self.token(one).await?.into_bytes(),
                });
            }
        }
        Ok(files)
    }

    /// A token of the pod's account that is bound to the pod.
    async fn token(&self, wanted: &ServiceAccountTokenProjection) -> Result<String, String> {
        let (meta, namespace) = (&self.pod.metadata, self.namespace());
        let spec = self.pod.spec.as_ref();
        let account = spec.and_then(|spec| spec.service_account_name.as_deref());
        let account = account.unwrap_or("default");
        let audiences: Vec<&str> = wanted.audience.as_deref().into_iter().collect();
        let body = json!({
            "apiVersion": "authentication.k8s.io/v1",
            "kind": "TokenRequest",
            "spec": {
                "audiences": audiences,
                "expirationSeconds": wanted.expiration_seconds.unwrap_or(3_600),
                "boundObjectRef": {"apiVersion": "v1", "kind": "Pod", "name": meta.name, "uid": meta.uid},
            },
        });
        let path = format!("/api/v1/namespaces/{namespace}/serviceaccounts/{account}/token");
        let sent = self
            .requests
            .change::<Value>("POST", &path, "application/json", &body);
        let answer = sent
            .await
            .map_err(|failed| format!("failed to fetch token: {}", failed.message()))?;
        Ok(answer["status"]["token"]
            .as_str()
            .unwrap_or_default()
            .to_owned())
    }

    fn downward(&self, items: &[DownwardAPIVolumeFile], mode: i32) -> Result<Vec<File>, String> {
        let text = |item: &DownwardAPIVolumeFile| {
            if let Some(one) = &item.field_ref {
                return field(self.pod, &one.field_path, self.place);
            }
            let Some(one) = &item.resource_field_ref else {
                return Ok(String::new());
            };
            let name = one.container_name.as_deref().unwrap_or_default();
            let container = container_named(self.pod, name);
            resource(container.unwrap_or(&Container::default()), one, self.place)
        };
        let file = |item: &DownwardAPIVolumeFile| {
            Ok(File {
                path: item.path.clone(),
                mode: item.mode.unwrap_or(mode),
                data: text(item)?.into_bytes(),
            })
        };
        items.iter().map(file).collect()
    }

    /// A folder or file of the host, if that is allowed and it is what is said of it.
    fn host_path(&self, wanted: &HostPathVolumeSource) -> Result<PathBuf, String> {
        if !self.allow_host_path {
            return Err("hostPath is not allowed: start with --allow-host-path".to_owned());
        }
        let path = PathBuf::from(&wanted.path);
        let kind = wanted.type_.as_deref().unwrap_or_default();
        let text = |error: std::io::Error| error.to_string();
        match kind {
            "DirectoryOrCreate" => fs::create_dir_all(&path).map_err(text)?,
            "FileOrCreate" if !path.exists() => fs::write(&path, "").map_err(text)?,
            _ => {}
        }
        let meta = fs::metadata(&path).ok().map(|meta| meta.file_type());
        let fits = meta.is_some_and(|meta| match kind {
            "Directory" | "DirectoryOrCreate" => meta.is_dir(),
            "File" | "FileOrCreate" => meta.is_file(),
            "Socket" => meta.is_socket(),
            "CharDevice" => meta.is_char_device(),
            "BlockDevice" => meta.is_block_device(),
            _ => true,
        });
        let path_text = path.display();
        match fits {
            true => Ok(path),
            false if kind.is_empty() => Err(format!("hostPath {path_text} does not exist")),
            false => Err(format!(
                "hostPath type check failed: {path_text} is not a {kind}"
            )),
        }
    }

    /// The folder of a claim: it lasts as long as the volume that the claim is bound to.
    async fn claim(&self, name: &str) -> Result<PathBuf, String> {
        let namespace = self.namespace();
        let read = self.requests.read::<PersistentVolumeClaim>(namespace, name);
        let claim = read.await.map_err(|failed| failed.message())?;
        let claim = claim.ok_or_else(|| format!("persistentvolumeclaim {name:?} not found"))?;
        let volume = claim
            .spec
            .as_ref()
            .and_then(|spec| spec.volume_name.clone());
        let phase = claim
            .status
            .as_ref()
            .and_then(|status| status.phase.as_deref());
        let volume = volume.filter(|_| phase == Some("Bound"));
        let volume =
            volume.ok_or_else(|| format!("persistentvolumeclaim {name:?} is not bound"))?;
        let read = self.requests.read::<PersistentVolume>("", &volume);
        let found = read.await.map_err(|failed| failed.message())?;
        let found = found.ok_or_else(|| format!("persistentvolume {volume:?} not found"))?;
        let spec = found.spec.unwrap_or_default();
        if let Some(path) = &spec.host_path {
            return self.host_path(path);
        }
        let driver = spec.csi.as_ref().map(|csi| csi.driver.as_str());
        let annotations = found.metadata.annotations.unwrap_or_default();
        let provisioner = annotations.get("pv.kubernetes.io/provisioned-by");
        if driver != Some(PROVISIONER) && provisioner.map(String::as_str) != Some(PROVISIONER) {
            return Err(format!(
                "persistentvolume {volume:?} is of a kind that is not supported for processes"
            ));
        }
        let folder = self.claims.join(&volume);
        fs::create_dir_all(&folder).map_err(|error| error.to_string())?;
        Ok(folder)
    }
}

/// The files of a ConfigMap or Secret: all, or those that are named.
fn project(
    found: Option<&Entries>,
    items: Option<&[KeyToPath]>,
    mode: i32,
    (optional, what): (Option<bool>, &str),
) -> Result<Vec<File>, String> {
    let Some(found) = found else {
        return Ok(Vec::new());
    };
    let Some(items) = items.filter(|items| !items.is_empty()) else {
        let all = found.iter().map(|(key, data)| File {
            path: key.clone(),
            mode,
            data: data.clone(),
        });
        return Ok(all.collect());
    };
    let mut files = Vec::new();
    for item in items {
        match found.get(&item.key) {
            Some(data) => files.push(File {
                path: item.path.clone(),
                mode: item.mode.unwrap_or(mode),
                data: data.clone(),
            }),
            None if optional == Some(true) => {}
            None => {
                return Err(format!(
                    "references non-existent {} key: {}",
                    key_of(what),
                    item.key
                ));
            }
        }
    }
    Ok(files)
}

/// As kubelet names them.
fn key_of(what: &str) -> &str {
    match what {
        "configmap" => "config",
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_volume_is_mounted_at_the_root_or_in_proc() {
        let refused = |path: &str| {
            let pod = json!({"metadata": {}, "spec": {"containers": [
                {"name": "c", "volumeMounts": [{"name": "v", "mountPath": path}]}
            ]}});
            refuse_places(&serde_json::from_value(pod).unwrap()).err()
        };
        for path in [
            "/",
            "//",
            "/a/..",
            "/proc",
            "/proc/",
            "/proc/sys",
            "proc/1",
            "/a/../proc",
        ] {
            let why = refused(path).expect(path);
            let end = "in container \"c\": nothing may be mounted at / or in /proc";
            assert!(why.ends_with(end), "{why}");
        }
        for path in ["/data", "/process", "/a/proc"] {
            assert_eq!(refused(path), None, "{path}");
        }
    }
}
