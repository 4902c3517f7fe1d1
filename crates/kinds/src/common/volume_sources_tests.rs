use super::*;
use serde_json::json;

fn check(rule: impl Fn(&Value, &Path<'_>, &mut ErrorList), source: Value) -> Vec<String> {
    let mut errors = ErrorList::new();
    rule(&source, &Path::new("v"), &mut errors);
    errors.iter().map(ToString::to_string).collect()
}

#[test]
fn what_is_missing_is_said() {
    for (rule, faults) in [
        (host_path as fn(&Value, &Path<'_>, &mut ErrorList), 1),
        (gce_persistent_disk, 1),
        (aws_elastic_block_store, 1),
        (nfs, 3),
        (fc, 1),
        (quobyte, 2),
        (glusterfs, 2),
        (flocker, 1),
        (rbd, 2),
        (ceph_fs, 1),
        (flex, 1),
        (azure_file, 2),
        (azure_disk, 2),
        (storage_os, 1),
        (scale_io, 3),
        (csi, 1),
    ] {
        assert_eq!(
            check(rule, json!({})).len(),
            faults,
            "{:?}",
            check(rule, json!({}))
        );
    }
}

#[test]
fn bounds_and_words() {
    assert_eq!(
        check(host_path, json!({"path": "/a/../b", "type": "Pipe"})),
        [
            "v.path: Invalid value: \"/a/../b\": must not contain '..'",
            "v.type: Unsupported value: \"Pipe\": supported values: \"\", \"BlockDevice\", \"CharDevice\", \"Directory\", \"DirectoryOrCreate\", \"File\", \"FileOrCreate\", \"Socket\"",
        ]
    );
    assert_eq!(
        check(
            aws_elastic_block_store,
            json!({"volumeID": "x", "partition": 256})
        ),
        ["v.partition: Invalid value: 256: must be between 1 and 255, inclusive"]
    );
    assert_eq!(
        check(fc, json!({"targetWWNs": ["a"], "wwids": ["b"]})),
        [
            "v.targetWWNs: Invalid value: [\"a\"]: targetWWNs and wwids can not be specified simultaneously",
            "v.lun: Required value: lun is required if targetWWNs is specified",
        ]
    );
    assert_eq!(
        check(
            flex,
            json!({"driver": "d", "options": {"a.K8s.io/x": "1", "b": "2"}})
        ),
        [
            "v.options[a.K8s.io/x]: Invalid value: \"a.K8s.io/x\": kubernetes.io and k8s.io namespaces are reserved"
        ]
    );
    let disk =
        json!({"diskName": "d", "diskURI": "x", "kind": "Managed", "cachingMode": "ReadWrite"});
    assert_eq!(check(azure_disk, disk).len(), 1);
    assert_eq!(
        check(quobyte, json!({"registry": "a:1,b", "volume": "v"})).len(),
        1
    );
}

#[test]
fn names_of_iscsi_parties() {
    for (name, fault) in [
        ("iqn.2014-12.com.example:test.tgt00", None),
        ("iqn.2014-12.com.example", Some(IscsiFault::Format)),
        ("iqn.2014.com.example:x", Some(IscsiFault::Format)),
        ("eui.0123456789ABCDEF", None),
        ("eui.0123456789ABCDE", Some(IscsiFault::Format)),
        ("naa.0123456789ABCDEF0123456789ABCDEF", None),
        ("x", Some(IscsiFault::Start)),
    ] {
        assert_eq!(iscsi_name_fault(name), fault, "{name}");
    }
    let in_pod = |source: &Value, path: &Path<'_>, errors: &mut ErrorList| {
        iscsi(source, false, path, errors);
    };
    assert_eq!(
        check(
            in_pod,
            json!({"iqn": "x", "lun": 300, "chapAuthSession": true})
        ),
        [
            "v.iqn: Invalid value: \"x\": must be valid format starting with iqn, eui, or naa",
            "v.lun: Invalid value: 300: must be between 0 and 255, inclusive",
            "v.secretRef: Required value",
        ]
    );
}
