//! A pod's images, as ImageLocality compares them.

use super::Interner;
use stowplan_api::k8s::api::core::v1 as core;
use stowplan_base::Sym;

/// The images that a pod brings to its node, once per mention, and how many containers there are.
///
/// Image volumes are images but no containers; ephemeral containers are neither.
pub fn pod_images(interner: &mut Interner<'_>, pod: &core::Pod) -> (Box<[Sym]>, u32) {
    let Some(spec) = &pod.spec else {
        return Default::default();
    };
    let containers = || {
        spec.init_containers
            .iter()
            .flatten()
            .chain(&spec.containers)
    };
    let of_containers = containers().map(|container| container.image.as_deref());
    let of_volumes = spec
        .volumes
        .iter()
        .flatten()
        .filter_map(|volume| Some(volume.image.as_ref()?.reference.as_deref()));
    let images = of_containers
        .chain(of_volumes)
        .map(|name| image(interner, name.unwrap_or_default()))
        .collect();
    let count = u32::try_from(containers().count()).unwrap_or(u32::MAX);
    (images, count)
}

/// Upstream's `normalizedImageName`: a name without a tag means `:latest`, and that is all.
fn image(interner: &mut Interner<'_>, name: &str) -> Sym {
    if name.rfind(':') <= name.rfind('/') {
        interner.sym(&format!("{name}:latest"))
    } else {
        interner.sym(name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use stowplan_base::Names;
    use stowplan_engine::model::ResourceNames;

    fn container(image: &str) -> core::Container {
        core::Container {
            image: Some(image.to_owned()),
            ..Default::default()
        }
    }

    /// Semantic 17 of the oracle: only `:latest` is added, and image volumes are no containers.
    #[test]
    fn names_get_a_tag_and_image_volumes_are_not_counted() {
        let mut names = Names::new();
        let mut resource_names = ResourceNames::default();
        let mut interner = Interner {
            names: &mut names,
            resource_names: &mut resource_names,
        };
        let pod = core::Pod {
            spec: Some(core::PodSpec {
                init_containers: Some(vec![container("localhost:5000/setup")]),
                containers: vec![
                    container("web"),
                    container("web:1.2"),
                    container("a/b@sha256:0"),
                ],
                volumes: Some(vec![core::Volume {
                    image: Some(core::ImageVolumeSource {
                        reference: Some("model".to_owned()),
                        ..Default::default()
                    }),
                    ..Default::default()
                }]),
                ..Default::default()
            }),
            ..Default::default()
        };
        let (images, containers) = pod_images(&mut interner, &pod);
        let texts: Vec<_> = images.iter().map(|image| names.text(*image)).collect();
        assert_eq!(
            texts,
            [
                "localhost:5000/setup:latest",
                "web:latest",
                "web:1.2",
                "a/b@sha256:0",
                "model:latest"
            ]
        );
        assert_eq!(containers, 4);
    }
}
