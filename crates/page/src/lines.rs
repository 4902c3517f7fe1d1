//! Whole lines out of chunks.

use bytes::{Buf, Bytes, BytesMut};

/// How long a line may be: no object is larger than a store takes, whatever is added to it.
const LINE_MAX: usize = 16 << 20;

/// What has come of a line that is not complete.
#[derive(Default)]
pub(crate) struct Lines {
    rest: BytesMut,
}

/// A line is longer than any object.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct TooLong;

impl Lines {
    /// The whole lines that a chunk completes, with their ends; nothing if it completes none.
    pub(crate) fn add(&mut self, chunk: &Bytes) -> Result<Option<Bytes>, TooLong> {
        let Some(end) = chunk.iter().rposition(|byte| *byte == b'\n') else {
            self.rest.extend_from_slice(chunk);
            return match self.rest.len() > LINE_MAX {
                true => Err(TooLong),
                false => Ok(None),
            };
        };
        let mut tail = chunk.clone();
        tail.advance(end + 1);
        if self.rest.is_empty() {
            self.rest.extend_from_slice(&tail);
            return Ok(Some(chunk.slice(..=end)));
        }
        self.rest.extend_from_slice(&chunk[..=end]);
        let whole = self.rest.split().freeze();
        self.rest.extend_from_slice(&tail);
        Ok(Some(whole))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_handed_on_when_they_are_whole() {
        let mut lines = Lines::default();
        let mut add = |text: &'static str| {
            let whole = lines.add(&Bytes::from_static(text.as_bytes())).unwrap();
            whole.map(|bytes| String::from_utf8(bytes.to_vec()).unwrap())
        };
        assert_eq!(add("one\ntw").as_deref(), Some("one\n"));
        assert_eq!(add("o"), None);
        assert_eq!(add("\nthree\n").as_deref(), Some("two\nthree\n"));
        assert_eq!(add("four\n").as_deref(), Some("four\n"));
        let long = Bytes::from(vec![b'x'; LINE_MAX + 1]);
        assert_eq!(lines.add(&long), Err(TooLong));
    }
}
