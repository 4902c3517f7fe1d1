//! Opening a browser, where somebody looks.

use crate::up::write_private;
use std::io::IsTerminal;
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// Opens a link in the user's browser, if there is a display. That it cannot be opened is nobody's trouble:
/// the link is printed.
pub(super) fn browser(link: &str) {
    if !std::io::stdout().is_terminal() || !has_display() {
        return;
    }
    // Other users see the arguments of processes, but not what is in this file.
    let Some(file) = file(link) else { return };
    let program = match cfg!(target_os = "macos") {
        true => "open",
        false => "xdg-open",
    };
    let child = Command::new(program)
        .arg(&file)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    match child {
        Ok(mut child) => {
            // Nobody waits for a browser, but the process table should.
            std::thread::spawn(move || drop(child.wait()));
        }
        Err(error) => tracing::debug!(%error, program, "no browser was opened"),
    }
}

fn has_display() -> bool {
    let set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    cfg!(target_os = "macos") || set("DISPLAY") || set("WAYLAND_DISPLAY")
}

/// A file of the user's own that leads to the link.
fn file(link: &str) -> Option<PathBuf> {
    let folder = crate::up::usual_folder().ok()?;
    std::fs::create_dir_all(&folder).ok()?;
    let file = folder.join("open-page.html");
    let text = format!(
        "<!doctype html>\n<meta charset=\"utf-8\">\n<meta http-equiv=\"refresh\" content=\"0; \
         url={link}\">\n<title>Stowplan</title>\n"
    );
    write_private(&file, text.as_bytes()).ok()?;
    Some(file)
}
