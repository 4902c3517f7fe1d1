//! `$(NAME)` in values, commands and arguments. Upstream: `third_party/forked/golang/expansion/expand.go`.

/// Replaces `$(NAME)` by what is known of it; what is not known stays. `$$` is a `$`.
pub(crate) fn expand(text: &str, value: &dyn Fn(&str) -> Option<String>) -> String {
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
                    Some(value) => out.push_str(&value),
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
    out
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
            assert_eq!(expand(text, &value), expected, "{text}");
        }
    }
}
