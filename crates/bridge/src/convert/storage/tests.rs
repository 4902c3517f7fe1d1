use super::*;
use stowplan_base::Names;
use stowplan_engine::model::{CsiMigration, Op, ResourceNames};

/// Runs `check` with an interner of its own.
fn with_interner<T>(check: impl FnOnce(&mut Interner<'_>) -> T) -> T {
    let (mut names, mut resource_names) = (Names::new(), ResourceNames::default());
    check(&mut Interner {
        names: &mut names,
        resource_names: &mut resource_names,
    })
}

fn map<V: Clone>(pairs: &[(&str, V)]) -> Option<BTreeMap<String, V>> {
    Some(
        pairs
            .iter()
            .map(|(k, v)| ((*k).to_owned(), v.clone()))
            .collect(),
    )
}

fn text_map(pairs: &[(&str, &str)]) -> Option<BTreeMap<String, String>> {
    let pairs: Vec<_> = pairs.iter().map(|(k, v)| (*k, (*v).to_owned())).collect();
    map(&pairs)
}

fn volume_with(
    labels: &[(&str, &str)],
    spec: core::PersistentVolumeSpec,
) -> core::PersistentVolume {
    core::PersistentVolume {
        metadata: meta::ObjectMeta {
            name: Some("pv".to_owned()),
            labels: text_map(labels),
            ..Default::default()
        },
        spec: Some(spec),
        status: None,
    }
}

#[test]
fn pod_volumes_keep_what_rules_read() {
    let pod = core::Pod {
        metadata: meta::ObjectMeta {
            name: Some("web".to_owned()),
            ..Default::default()
        },
        spec: Some(core::PodSpec {
            volumes: Some(vec![
                core::Volume {
                    name: "data".to_owned(),
                    persistent_volume_claim: Some(core::PersistentVolumeClaimVolumeSource {
                        claim_name: "claim".to_owned(),
                        read_only: None,
                    }),
                    ..Default::default()
                },
                core::Volume {
                    name: "scratch".to_owned(),
                    ephemeral: Some(core::EphemeralVolumeSource::default()),
                    ..Default::default()
                },
                core::Volume {
                    name: "disk".to_owned(),
                    gce_persistent_disk: Some(core::GCEPersistentDiskVolumeSource {
                        pd_name: "d1".to_owned(),
                        ..Default::default()
                    }),
                    ..Default::default()
                },
            ]),
            ..Default::default()
        }),
        status: None,
    };
    with_interner(|interner| {
        let volumes = pod_volumes(interner, &pod);
        let claim = interner.sym("claim");
        assert_eq!(volumes[0].source, VolumeSource::Claim { claim });
        let claim = interner.sym("web-scratch");
        assert_eq!(volumes[1].source, VolumeSource::Ephemeral { claim });
        let handle = interner.sym("projects/UNSPECIFIED/zones/UNSPECIFIED/disks/d1");
        assert_eq!(
            volumes[2].migration,
            Some(CsiMigration {
                plugin: sym::GCE_PD_PLUGIN,
                handle: Ok(handle),
            })
        );
    });
}

#[test]
fn zone_labels_are_sets_and_empty_names_spoil_them() {
    let volume = volume_with(
        &[
            ("topology.kubernetes.io/zone", "b__a__b"),
            ("topology.kubernetes.io/region", "r__"),
            ("failure-domain.beta.kubernetes.io/zone", "a"),
        ],
        core::PersistentVolumeSpec::default(),
    );
    with_interner(|interner| {
        let volume = persistent_volume(interner, &volume).expect("valid");
        let (a, b) = (interner.sym("a"), interner.sym("b"));
        let mut both = [a, b];
        both.sort();
        assert_eq!(
            *volume.topology,
            [
                (sym::ZONE_BETA, [a].into()),
                (sym::ZONE, Box::from(both.as_slice()))
            ]
        );
    });
}

#[test]
fn the_old_annotation_comes_before_the_storage_class_field() {
    let mut claim = core::PersistentVolumeClaim {
        spec: Some(core::PersistentVolumeClaimSpec {
            storage_class_name: Some("field".to_owned()),
            ..Default::default()
        }),
        ..Default::default()
    };
    with_interner(|interner| {
        let converted = persistent_volume_claim(interner, &claim).expect("valid");
        assert_eq!(converted.storage_class, interner.sym("field"));
        claim.metadata.annotations = text_map(&[(STORAGE_CLASS_ANNOTATION, "")]);
        let converted = persistent_volume_claim(interner, &claim).expect("valid");
        assert_eq!(converted.storage_class, Sym::EMPTY);
    });
}

#[test]
fn malformed_amounts_and_unknown_words_name_their_field() {
    let volume = volume_with(
        &[],
        core::PersistentVolumeSpec {
            capacity: map(&[("storage", ApiQuantity("ten".to_owned()))]),
            ..Default::default()
        },
    );
    let class = storage::StorageClass {
        volume_binding_mode: Some("Later".to_owned()),
        ..Default::default()
    };
    with_interner(|interner| {
        let error = persistent_volume(interner, &volume).expect_err("no quantity");
        assert_eq!(error.field, "spec.capacity[storage]");
        let error = storage_class(interner, &class).expect_err("no binding mode");
        assert_eq!(error.field, "volumeBindingMode");
    });
}

#[test]
fn a_migrated_volume_speaks_of_its_drivers_zones() {
    let volume = volume_with(
        &[("failure-domain.beta.kubernetes.io/zone", "us-c1-a__us-c1-b")],
        core::PersistentVolumeSpec {
            gce_persistent_disk: Some(core::GCEPersistentDiskVolumeSource {
                pd_name: "d1".to_owned(),
                ..Default::default()
            }),
            ..Default::default()
        },
    );
    with_interner(|interner| {
        let migrated = persistent_volume(interner, &volume)
            .expect("valid")
            .migrated
            .expect("an in-tree volume");
        let handle = interner.sym("projects/UNSPECIFIED/regions/us-c1/disks/d1");
        assert_eq!(migrated.migration.handle, Ok(handle));
        let affinity = migrated.node_affinity.expect("taken from the label");
        let [requirement] = &*affinity.terms[0].expressions else {
            panic!("one requirement expected");
        };
        assert_eq!(requirement.key, interner.sym("topology.gke.io/zone"));
        assert_eq!(requirement.op, Op::In);
        assert_eq!(
            *requirement.values,
            [interner.sym("us-c1-a"), interner.sym("us-c1-b")]
        );
    });
}

#[test]
fn ebs_volume_ids_lose_their_url() {
    for (id, handle) in [
        ("vol-1", Some("vol-1")),
        ("anything", Some("anything")),
        ("aws:///vol-1", Some("vol-1")),
        ("aws://us-east-1a/vol-1", Some("vol-1")),
        ("aws://us-east-1a/disk-1", None),
        ("aws://us-east-1a", None),
    ] {
        let volume = core::Volume {
            aws_elastic_block_store: Some(core::AWSElasticBlockStoreVolumeSource {
                volume_id: id.to_owned(),
                ..Default::default()
            }),
            ..Default::default()
        };
        with_interner(|interner| {
            let migration = migration(interner, &volume).expect("an in-tree volume");
            let handle = handle.map(|handle| interner.sym(handle));
            assert_eq!(migration.handle.ok(), handle, "{id}");
        });
    }
}
