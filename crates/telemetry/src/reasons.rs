//! The reasons in a message to the user.

use std::borrow::Cow;

/// The reasons that `0/5 nodes are available: 2 x, 3 y. preemption: …` names, without their counts
/// and without names of objects; none if the message is of another kind.
pub(crate) fn reasons_of(message: &str) -> impl Iterator<Item = Cow<'_, str>> {
    let list = message
        .split_once(" nodes are available: ")
        .map_or("", |(_, rest)| rest);
    // What PostFilter says follows the list.
    let list = list.split_once(". ").map_or(list, |(l, _)| l);
    let list = list.strip_suffix('.').unwrap_or(list);
    Split(list).map(without_names)
}

/// The parts of a list whose items begin with a number: a comma within an item does not end it.
struct Split<'a>(&'a str);

impl<'a> Iterator for Split<'a> {
    type Item = &'a str;

    fn next(&mut self) -> Option<&'a str> {
        if self.0.is_empty() {
            return None;
        }
        let ends = self.0.match_indices(", ");
        let mut ends = ends.filter(|(at, _)| without_count(&self.0[at + 2..]).is_some());
        let item = match ends.next() {
            Some((at, _)) => {
                let item = &self.0[..at];
                self.0 = &self.0[at + 2..];
                item
            }
            None => std::mem::take(&mut self.0),
        };
        Some(without_count(item).unwrap_or(item))
    }
}

/// What follows the number at the start; `None` if there is none.
fn without_count(item: &str) -> Option<&str> {
    let rest = item.trim_start_matches(|c: char| c.is_ascii_digit());
    (rest.len() < item.len()).then(|| rest.strip_prefix(' '))?
}

/// The reason with what is quoted or in braces left out: there are as many names as objects.
fn without_names(reason: &str) -> Cow<'_, str> {
    if !reason.contains(['"', '{']) {
        return Cow::Borrowed(reason);
    }
    let mut out = String::new();
    let mut until = None;
    for c in reason.chars() {
        match until {
            Some(end) if c == end => {
                out.push('…');
                out.push(c);
                until = None;
            }
            Some(_) => {}
            None => {
                out.push(c);
                until = match c {
                    '"' => Some('"'),
                    '{' => Some('}'),
                    _ => None,
                };
            }
        }
    }
    Cow::Owned(out)
}

#[cfg(test)]
mod tests {
    use super::reasons_of;

    fn check(message: &str, expected: &[&str]) {
        let reasons: Vec<_> = reasons_of(message).collect();
        assert_eq!(reasons, expected, "{message}");
    }

    #[test]
    fn reasons_are_found_in_messages() {
        check(
            "0/5 nodes are available: 2 Insufficient cpu, 3 node(s) had untolerated taint(s). \
             no new claims to deallocate, preemption: 0/5 nodes are available: 5 No preemption victims found.",
            &["Insufficient cpu", "node(s) had untolerated taint(s)"],
        );
        check(
            "0/1 nodes are available: persistentvolumeclaim \"data\" not found.",
            &["persistentvolumeclaim \"…\" not found"],
        );
        check(
            "0/2 nodes are available: 1 odd, but one, 1 node(s) had {a: b}.",
            &["odd, but one", "node(s) had {…}"],
        );
        check("0/0 nodes are available:", &[]);
        check("no nodes available to schedule pods", &[]);
        check("0/1 nodes are available: 1 \"open", &["\""]);
    }
}
