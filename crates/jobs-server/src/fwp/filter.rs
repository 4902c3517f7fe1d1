//! Globs, as Redis has them: what a MUTATE filter calls a regexp.

/// Whether the whole text is what the pattern says: `*`, `?`, `[a-c]`, `[^a]`, `\`.
pub(super) fn glob(pattern: &[u8], text: &[u8]) -> bool {
    let (mut p, mut t) = (0, 0);
    let mut star = None;
    loop {
        if p < pattern.len() && pattern[p] == b'*' {
            star = Some((p, t));
            p += 1;
            continue;
        }
        if t == text.len() && p == pattern.len() {
            return true;
        }
        let step = (t < text.len())
            .then(|| one(&pattern[p..], text[t]))
            .flatten();
        match (step, star) {
            (Some(len), _) => (p, t) = (p + len, t + 1),
            // The last star takes one more.
            (None, Some((at, from))) if from < text.len() => {
                star = Some((at, from + 1));
                (p, t) = (at + 1, from + 1);
            }
            _ => return false,
        }
    }
}

/// How long the part of the pattern is that fits one byte.
fn one(pattern: &[u8], byte: u8) -> Option<usize> {
    match pattern {
        [] => None,
        [b'?', ..] => Some(1),
        [b'\\', literal, ..] => (*literal == byte).then_some(2),
        [b'[', set @ ..] => {
            let (not, set) = match set {
                [b'^', rest @ ..] => (true, rest),
                set => (false, set),
            };
            let end = set.iter().position(|b| *b == b']').unwrap_or(set.len());
            let mut inside = false;
            let mut at = 0;
            while at < end {
                if at + 2 < end && set[at + 1] == b'-' {
                    let (low, high) = (set[at].min(set[at + 2]), set[at].max(set[at + 2]));
                    inside |= (low..=high).contains(&byte);
                    at += 3;
                } else {
                    inside |= set[at] == byte;
                    at += 1;
                }
            }
            let len = 1 + usize::from(not) + (end + 1).min(set.len());
            (inside != not).then_some(len)
        }
        [literal, ..] => (*literal == byte).then_some(1),
    }
}

#[cfg(test)]
mod tests {
    use super::glob;

    #[test]
    fn globs_are_redis_globs() {
        for (pattern, text, expected) in [
            ("*", "", true),
            ("a*c", "abbc", true),
            ("a*c", "abbd", false),
            (
                "*\"jobtype\":\"X\"*",
                "{\"jid\":1,\"jobtype\":\"X\",\"a\":2}",
                true,
            ),
            ("a?c", "abc", true),
            ("[a-c]x", "bx", true),
            ("[^a-c]x", "bx", false),
            (r"\*", "*", true),
            (r"\*", "a", false),
            ("*a*b*c*", "xxaxxbxxcxx", true),
            ("", "a", false),
            ("a", "ab", false),
        ] {
            assert_eq!(
                glob(pattern.as_bytes(), text.as_bytes()),
                expected,
                "{pattern} {text}"
            );
        }
        // No pattern takes for ever.
        assert!(!glob("*a".repeat(50).as_bytes(), "a".repeat(49).as_bytes()));
    }
}
