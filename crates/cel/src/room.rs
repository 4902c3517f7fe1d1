//! Room for expressions that nest deep: what walks through one calls itself for every level.

use std::thread;

/// The stack of a thread that works on a deep expression; no more of it is used than the depth takes.
/// The deepest expressions that are read, with macros in macros, take less than a quarter of it.
const STACK_BYTES: usize = 64 << 20;

/// Does something with a large stack.
pub(crate) fn roomy<T: Send>(work: impl FnOnce() -> T + Send) -> Result<T, String> {
    thread::scope(|scope| {
        let thread = thread::Builder::new()
            .name("cel".to_owned())
            .stack_size(STACK_BYTES)
            .spawn_scoped(scope, work);
        let failed = |why: String| format!("no thread for a deep expression: {why}");
        let thread = thread.map_err(|why| failed(why.to_string()))?;
        thread.join().map_err(|_| failed("it failed".to_owned()))
    })
}
