//! Faktory's protocol (FWP 2): what a line means, and what is answered.

mod admin;
mod batch;
mod compose;
mod filter;
mod finish;
mod hello;
mod info;
mod job;
mod mutate;
mod verbs;

pub use hello::Password;
pub(crate) use hello::{greet, pwdhash};
pub(crate) use verbs::{Answer, Core, Counters, Session};

/// Appends an error.
pub(crate) fn error(to: &mut Vec<u8>, text: &str) {
    refusal(to, "ERR", text);
}

/// Appends an error of a certain kind.
pub(crate) fn refusal(to: &mut Vec<u8>, kind: &str, text: &str) {
    to.push(b'-');
    to.extend_from_slice(kind.as_bytes());
    to.push(b' ');
    // An answer is one line.
    to.extend(text.bytes().map(|byte| {
        if matches!(byte, b'\r' | b'\n') {
            b' '
        } else {
            byte
        }
    }));
    to.extend_from_slice(b"\r\n");
}

/// Appends a bulk string.
pub(crate) fn bulk(to: &mut Vec<u8>, bytes: &[u8]) {
    bulk_head(to, bytes.len());
    to.extend_from_slice(bytes);
    to.extend_from_slice(b"\r\n");
}

pub(crate) fn bulk_head(to: &mut Vec<u8>, mut len: usize) {
    let mut digits = [0; 20];
    let mut at = digits.len();
    loop {
        at -= 1;
        digits[at] = b'0' + (len % 10) as u8;
        len /= 10;
        if len == 0 {
            break;
        }
    }
    to.push(b'$');
    to.extend_from_slice(&digits[at..]);
    to.extend_from_slice(b"\r\n");
}

pub(crate) const OK: &[u8] = b"+OK\r\n";
pub(crate) const NOTHING: &[u8] = b"$-1\r\n";
