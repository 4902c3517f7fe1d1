//! A look at a text before it is parsed. The parser reads all of a document before it gives anything
//! away, so what it would choke on has to be found without it.

use stowplan_apimachinery::limits::{YAML_MARKS_MAX, YAML_NESTED_MAX};

/// So far back the parser looks for the beginning of a key, at every bracket that is open.
const KEY_MAX: usize = 1024;

/// Refuses what would take the parser too long.
pub(super) fn check_nesting(text: &[u8]) -> Result<(), String> {
    match nests(text) {
        true => Err(format!("yaml: exceeded max depth of {YAML_NESTED_MAX}")),
        false => Ok(()),
    }
}

/// Refuses what would take the parser too much memory.
pub(super) fn check_marks(text: &[u8]) -> Result<(), String> {
    match marks(text) > YAML_MARKS_MAX {
        true => Err(format!(
            "yaml: exceeded max count of {YAML_MARKS_MAX} values"
        )),
        false => Ok(()),
    }
}

/// Whether so many brackets more are opened than closed anywhere within the length of a key. Without
/// parsing it is not known which of them stand in quotes or comments, so they all count; but nobody
/// leaves that many open there.
fn nests(text: &[u8]) -> bool {
    let step = |byte: u8| match byte {
        b'[' | b'{' => 1,
        b']' | b'}' => -1_i32,
        _ => 0,
    };
    let mut open = 0;
    for (at, byte) in text.iter().enumerate() {
        open += step(*byte);
        if let Some(gone) = at.checked_sub(KEY_MAX).and_then(|at| text.get(at)) {
            open -= step(*gone);
        }
        if usize::try_from(open).is_ok_and(|open| open > YAML_NESTED_MAX) {
            return true;
        }
    }
    false
}

/// How many bytes may have a value before or after them.
fn marks(text: &[u8]) -> usize {
    let mut bytes = text.iter().peekable();
    let mut marks = 0;
    while let Some(byte) = bytes.next() {
        marks += usize::from(match byte {
            b',' | b'[' | b'{' | b':' | b'\n' | b'\r' => true,
            b'-' | b'?' => bytes.peek().is_none_or(|next| next.is_ascii_whitespace()),
            _ => false,
        });
    }
    marks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn endless_nesting_is_refused_at_once() {
        let deep = "{a: [".repeat(100_000);
        let refused = Err("yaml: exceeded max depth of 200".to_owned());
        assert_eq!(check_nesting(deep.as_bytes()), refused);
        let hidden = format!("# isn't\n{}", "[".repeat(3_000_000));
        assert_eq!(check_nesting(hidden.as_bytes()), refused);
        assert_eq!(check_nesting(b"a: '[[['\nb: [[[1]]]\n"), Ok(()));
    }

    #[test]
    fn brackets_in_a_long_text_are_no_nesting() {
        let text = format!(
            "log: |\n{}",
            "  \u{1b}[1mDone at 12:01, took 3 s\n".repeat(5_000)
        );
        assert_eq!(check_nesting(text.as_bytes()), Ok(()));
    }

    #[test]
    fn more_values_than_an_object_has_are_refused() {
        for text in ["a,", "-\n", "{},", "? ", "a: b\n"] {
            assert!(check_marks(text.repeat(YAML_MARKS_MAX / 2).as_bytes()).is_ok());
            assert!(check_marks(text.repeat(YAML_MARKS_MAX + 1).as_bytes()).is_err());
        }
    }
}
