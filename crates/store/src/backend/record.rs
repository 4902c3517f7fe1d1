//! One write as bytes.
//!
//! ```text
//! checksum 8 │ kind 1 │ create_revision 8 │ version 8 │ key length 4 │ key │ value
//! ```
//!
//! Numbers are little-endian. The checksum covers the revision, under which the record is stored,
//! and everything after itself. A delete has neither numbers nor value.

use crate::{Event, EventKind, Revision};
use bytes::Bytes;

/// One write, as it is kept.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Record {
    /// Of this write.
    pub revision: Revision,
    /// Put or delete.
    pub kind: EventKind,
    /// What was written.
    pub key: Bytes,
    /// The value of a put.
    pub value: Bytes,
    /// See [`crate::Entry`]; 0 for a delete.
    pub create_revision: Revision,
    /// See [`crate::Entry`]; 0 for a delete.
    pub version: u64,
}

const CHECKSUM: usize = 8;
const PUT: u8 = 1;
const DELETE: u8 = 2;

/// Writes the record of an event into a buffer, in place of what is there.
pub(crate) fn encode(event: &Event, buffer: &mut Vec<u8>) {
    let (kind, created, version, value) = match event.current() {
        Some(entry) => (PUT, entry.create_revision.0, entry.version, &*entry.value),
        None => (DELETE, 0, 0, &[][..]),
    };
    let key = event.key();
    // A transaction with a longer key is refused.
    let key_length = u32::try_from(key.len()).unwrap_or(u32::MAX);
    buffer.clear();
    buffer.extend_from_slice(&[0; CHECKSUM]);
    buffer.push(kind);
    buffer.extend_from_slice(&created.to_le_bytes());
    buffer.extend_from_slice(&version.to_le_bytes());
    buffer.extend_from_slice(&key_length.to_le_bytes());
    buffer.extend_from_slice(key);
    buffer.extend_from_slice(value);
    let (head, body) = buffer.split_at_mut(CHECKSUM);
    head.copy_from_slice(&checksum(event.revision, body).to_le_bytes());
}

/// Reads a record; says what is wrong with it.
pub(crate) fn decode(revision: Revision, bytes: &[u8]) -> Result<Record, &'static str> {
    let (head, body) = bytes.split_first_chunk().ok_or("is too short")?;
    if u64::from_le_bytes(*head) != checksum(revision, body) {
        return Err("does not match its checksum");
    }
    let rest = body;
    let ([kind], rest) = rest.split_first_chunk().ok_or("is too short")?;
    let (created, rest) = rest.split_first_chunk().ok_or("is too short")?;
    let (version, rest) = rest.split_first_chunk().ok_or("is too short")?;
    let (key_length, rest) = rest.split_first_chunk().ok_or("is too short")?;
    let key_length = u32::from_le_bytes(*key_length) as usize;
    if rest.len() < key_length {
        return Err("is too short");
    }
    // One allocation holds both.
    let mut key = Bytes::copy_from_slice(rest);
    let value = key.split_off(key_length);
    Ok(Record {
        revision,
        kind: match *kind {
            PUT => EventKind::Put,
            DELETE => EventKind::Delete,
            _ => return Err("is of an unknown kind"),
        },
        key,
        value,
        create_revision: Revision(u64::from_le_bytes(*created)),
        version: u64::from_le_bytes(*version),
    })
}

/// A 64-bit checksum that any change of a single word changes. It is to find damage, not forgery.
fn checksum(revision: Revision, bytes: &[u8]) -> u64 {
    const ODD: u64 = 0x9e37_79b9_7f4a_7c15;
    let mix = |sum: u64, word: u64| (sum ^ word).wrapping_mul(ODD).rotate_left(29);
    let mut sum = mix(bytes.len() as u64, revision.0);
    let (words, rest) = bytes.as_chunks::<8>();
    for word in words {
        sum = mix(sum, u64::from_le_bytes(*word));
    }
    let mut last = [0; 8];
    last[..rest.len()].copy_from_slice(rest);
    sum = mix(sum, u64::from_le_bytes(last));
    sum ^ (sum >> 32)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Entry;
    use crate::decoded::{Cache, Slot};
    use std::sync::Arc;

    const HEADER: usize = CHECKSUM + 1 + 8 + 8 + 4;

    fn entry() -> Arc<Entry> {
        Arc::new(Entry {
            key: Bytes::from_static(b"pods/a"),
            value: Bytes::from_static(b"some value"),
            create_revision: Revision(5),
            mod_revision: Revision(9),
            version: 3,
            slot: Slot::new(&Cache::new(0)),
        })
    }

    #[test]
    fn records_come_back_as_they_were() {
        let mut buffer = vec![1, 2, 3];
        encode(&Event::put(entry(), None), &mut buffer);
        assert_eq!(buffer.len(), HEADER + 6 + 10);
        let put = decode(Revision(9), &buffer).unwrap();
        assert_eq!((put.kind, put.version), (EventKind::Put, 3));
        assert_eq!(
            (put.revision, put.create_revision),
            (Revision(9), Revision(5))
        );
        assert_eq!(
            (&put.key[..], &put.value[..]),
            (&b"pods/a"[..], &b"some value"[..])
        );
        encode(&Event::delete(Revision(12), entry()), &mut buffer);
        let delete = decode(Revision(12), &buffer).unwrap();
        assert_eq!(
            (delete.kind, &delete.key[..]),
            (EventKind::Delete, &b"pods/a"[..])
        );
        assert!(delete.value.is_empty());
    }

    #[test]
    fn every_damaged_byte_is_noticed() {
        let mut good = Vec::new();
        encode(&Event::put(entry(), None), &mut good);
        assert!(
            decode(Revision(10), &good).is_err(),
            "stored under another revision"
        );
        for length in 0..good.len() {
            assert!(decode(Revision(9), &good[..length]).is_err());
        }
        for i in 0..good.len() {
            for bit in 0..8 {
                let mut bad = good.clone();
                bad[i] ^= 1 << bit;
                assert!(decode(Revision(9), &bad).is_err(), "byte {i}, bit {bit}");
            }
        }
    }
}
