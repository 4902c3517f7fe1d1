//! Custom resources: structural schemas, pruning, defaulting, validation.
