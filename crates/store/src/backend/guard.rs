//! Running what may panic on a damaged file, without a word on the terminal.

use std::cell::Cell;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Once;

thread_local! {
    /// Whether this thread will tell of a panic itself.
    static TOLD: Cell<bool> = const { Cell::new(false) };
}

/// Runs something of redb's. It trusts the pages of a file that was closed in good order, and panics
/// on some that were damaged since. The error is what it said; nothing is printed, because whoever
/// gets the error prints it.
pub(super) fn guarded<T>(work: impl FnOnce() -> T) -> Result<T, String> {
    hush();
    let told = TOLD.replace(true);
    let outcome = panic::catch_unwind(AssertUnwindSafe(work));
    TOLD.set(told);
    outcome.map_err(|payload| {
        let text = payload
            .downcast_ref::<&str>()
            .map(|text| (*text).to_owned());
        let text = text.or_else(|| payload.downcast_ref::<String>().cloned());
        format!("redb gave up: {}", text.unwrap_or_default())
    })
}

/// Puts a hook before the one that is there, once: that one is not told of panics that are.
fn hush() {
    static HUSHED: Once = Once::new();
    HUSHED.call_once(|| {
        let before = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            // While a thread ends there may be no flag any more.
            if !TOLD.try_with(Cell::get).unwrap_or_default() {
                before(info);
            }
        }));
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_an_error() {
        assert_eq!(guarded(|| 1), Ok(1));
        let outcome = guarded(|| -> u32 { panic!("inside") });
        assert_eq!(outcome, Err("redb gave up: inside".to_owned()));
        let number = 7;
        let outcome = guarded(|| {
            let _ = guarded(|| panic!("deeper"));
            assert!(TOLD.get(), "the outer one is not over");
            panic!("page {number}")
        });
        assert_eq!(outcome, Err::<(), _>("redb gave up: page 7".to_owned()));
        assert!(!TOLD.get(), "others are told again");
    }
}
