//! `$(NAME)` in values, commands and arguments. Upstream: `third_party/forked/golang/expansion/expand.go`.

/// How long a text becomes: Linux hands no longer ones to a program (`MAX_ARG_STRLEN`).
pub(crate) const TEXT_BYTES_MAX: usize = 128 << 10;
/// How long all words of a command become, or all names and values of a container's variables.
pub(crate) const ALL_BYTES_MAX: usize = 1 << 20;

/// Replaces `$(NAME)` in all words of a command; an error says that they become too long.
pub(crate) fn expand_all(
    words: &[String],
    value: &dyn Fn(&str) -> Option<String>,
) -> Result<Vec<String>, String> {
    let mut all = Vec::with_capacity(words.len());
    let mut bytes = 0;
    for word in words {
        let word = expand(word, value)?;
        bytes += word.len();
        if bytes > ALL_BYTES_MAX {
            return Err("the words of a command are longer than 1 MiB in all".to_owned());
        }
        all.push(word);
    }
    Ok(all)
}

/// Replaces `$(NAME)` by what is known of it; what is not known stays. `$$` is a `$`. An error says that it becomes
/// too long.
pub(crate) fn expand(text: &str, value: &dyn Fn(&str) -> Option<String>) -> Result<String, String> {
    let fits = |bytes: usize| match bytes <= TEXT_BYTES_MAX {
        true => Ok(()),
        false => Err("a text is longer than 128 KiB with its references replaced".to_owned()),
    };
    fits(text.len())?;
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('$') {
        out.push_str(rest.get(..at).unwrap_or_default());
        let after = rest.get(at + 1..).unwrap_or_default();
        if let Some(more) = after.strip_prefix('$') {
            out.push('$');
            rest = more;
            continue;
        }
        let reference = after
            .strip_prefix('(')
            .and_then(|inner| inner.split_once(')'));
        match reference {
            Some((name, more)) => {
                match value(name) {
                    Some(value) => {
                        fits(out.len() + value.len())?;
                        out.push_str(&value);
                    }
                    None => out.push_str(&format!("$({name})")),
                }
                rest = more;
            }
            None => {
                out.push('$');
                rest = after;
            }
        }
    }
    out.push_str(rest);
    fits(out.len())?;
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rows of upstream's `TestMapReference`.
    #[test]
    fn references_are_replaced_and_others_stay() {
        let value = |name: &str| match name {
            "VAR_A" => Some("A".to_owned()),
            "VAR_B" => Some("B".to_owned()),
            "VAR_REF" => Some("$(VAR_A)".to_owned()),
            "VAR_EMPTY" => Some(String::new()),
            _ => None,
        };
        for (text, expected) in [
            ("$(VAR_A)", "A"),
            ("___$(VAR_B)___", "___B___"),
            ("$(VAR_A)-1", "A-1"),
            ("$(VAR_REF)", "$(VAR_A)"),
            ("$$(VAR_A)", "$(VAR_A)"),
            ("$$$(VAR_A)", "$A"),
            ("$$$$(VAR_A)", "$$(VAR_A)"),
            ("$VAR_A", "$VAR_A"),
            ("$(VAR_DNE)", "$(VAR_DNE)"),
            ("$(VAR_A", "$(VAR_A"),
            ("foo$(VAR_EMPTY)bar", "foobar"),
            ("foo\\$(VAR_A)", "foo\\A"),
            ("$", "$"),
            ("$$", "$"),
            ("a $", "a $"),
            ("$(VAR_A)$(VAR_B)", "AB"),
            ("$()", "$()"),
        ] {
            assert_eq!(expand(text, &value).as_deref(), Ok(expected), "{text}");
        }
    }

    #[test]
    fn texts_that_become_too_long_are_refused() {
        let half = "x".repeat(TEXT_BYTES_MAX / 2);
        let value = |name: &str| (name == "HALF").then(|| half.clone());
        let long = |text: &str| expand(text, &value).map(|text| text.len());
        assert_eq!(long("$(HALF)$(HALF)"), Ok(TEXT_BYTES_MAX));
        let why = "a text is longer than 128 KiB with its references replaced".to_owned();
        for text in ["$(HALF)$(HALF)x", "$(HALF)$(HALF)$(HALF)"] {
            assert_eq!(long(text), Err(why.clone()), "{text}");
        }
        assert_eq!(long(&"$(HALF)".repeat(10_000)), Err(why.clone()));
        assert_eq!(long(&"$$".repeat(TEXT_BYTES_MAX)), Err(why));
        let words = |count| expand_all(&vec!["$(HALF)".to_owned(); count], &value);
        assert_eq!(words(16).map(|all| all.len()), Ok(16));
        let why = "the words of a command are longer than 1 MiB in all".to_owned();
        assert_eq!(words(17), Err(why));
    }
}
