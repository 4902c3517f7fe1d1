//! Revisions, watches and compaction over a small `Backend` trait.
