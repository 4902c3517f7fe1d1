//! Whole controller managers against the embedded server: leaders that are killed, and races.

mod leaders;
mod network;

/// How often something is tried, unless the environment says otherwise.
fn setting(name: &str, default: u64) -> u64 {
    match std::env::var(name) {
        Ok(text) => text
            .parse()
            .unwrap_or_else(|_| panic!("{name} must be a number, not {text:?}")),
        Err(_) => default,
    }
}
