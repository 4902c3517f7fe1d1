//! Protobuf bodies, made without knowing the messages: fields are numbers, and most of what repeats is
//! length-delimited.

use super::DRY;
use crate::attack::{Attack, Request};
use stowplan_kinds::{Kind, Scope, table};

/// The fields of an object: metadata, spec, status.
const PARTS: std::ops::RangeInclusive<u32> = 1..=3;
/// The fields of those.
const FIELDS: [u32; 14] = [1, 2, 3, 4, 5, 6, 7, 8, 11, 12, 13, 15, 17, 20];

pub(super) fn attacks() -> Vec<Attack> {
    let mut all = Vec::new();
    for kind in ["Pod", "Service", "ConfigMap", "Node", "Deployment", "Role"] {
        let Some(kind) = table::KINDS.iter().find(|k| k.kind == kind) else {
            continue;
        };
        for part in PARTS {
            for field in FIELDS {
                all.push(Attack::single(
                    format!("protobuf: {} {part}.{field}", kind.kind),
                    move |n| post(kind, &message(part, field, n)),
                ));
            }
        }
        all.push(Attack::single(
            format!("protobuf: {} depth", kind.kind),
            move |n| {
                let deep = (0..n.min(3_000)).fold(Vec::new(), |inner, _| delimited(1, &inner));
                post(kind, &delimited(2, &deep))
            },
        ));
        all.push(Attack::single(
            format!("protobuf: {} unknown fields", kind.kind),
            move |n| {
                let unknown: Vec<u8> = (0..n).flat_map(|_| delimited(99, b"xxxx")).collect();
                post(kind, &unknown)
            },
        ));
    }
    all
}

/// An object with one field that is there n times.
fn message(part: u32, field: u32, n: usize) -> Vec<u8> {
    let item = |i: usize| {
        let mut item = delimited(1, format!("k{i}").as_bytes());
        item.extend(delimited(2, format!("v{i}").as_bytes()));
        delimited(field, &item)
    };
    let mut object = delimited(1, &delimited(1, b"a"));
    object.extend(delimited(part, &(0..n).flat_map(item).collect::<Vec<u8>>()));
    object
}

fn varint(mut number: u64) -> Vec<u8> {
    let mut out = Vec::new();
    loop {
        let byte = u8::try_from(number & 0x7f).unwrap_or_default();
        number >>= 7;
        if number == 0 {
            out.push(byte);
            return out;
        }
        out.push(byte | 0x80);
    }
}

fn delimited(field: u32, bytes: &[u8]) -> Vec<u8> {
    let mut out = varint(u64::from(field) << 3 | 2);
    out.extend(varint(bytes.len() as u64));
    out.extend_from_slice(bytes);
    out
}

/// Upstream: `runtime.Unknown`, after four bytes of magic.
fn post(kind: &Kind, message: &[u8]) -> Request {
    let (prefix, api_version) = match kind.group {
        "" => ("/api/".to_owned(), kind.version.to_owned()),
        group => (
            format!("/apis/{group}/"),
            format!("{group}/{}", kind.version),
        ),
    };
    let mut type_meta = delimited(1, api_version.as_bytes());
    type_meta.extend(delimited(2, kind.kind.as_bytes()));
    let mut body = b"k8s\0".to_vec();
    body.extend(delimited(1, &type_meta));
    body.extend(delimited(2, message));
    let scope = match kind.scope {
        Scope::Namespaced => "/namespaces/default",
        Scope::Cluster => "",
    };
    let url = format!("{prefix}{}{scope}/{}{DRY}", kind.version, kind.plural);
    Request::new("POST", url).body("application/vnd.kubernetes.protobuf", body)
}
