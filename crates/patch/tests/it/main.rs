//! What upstream's own code makes of the same inputs.

mod recorded;
mod thing;
