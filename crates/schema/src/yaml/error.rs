//! What is wrong with a text, in Go's words.

/// The name of the alias that is here.
fn anchor(text: &[u8], at: usize) -> String {
    let rest = text.get(at..).unwrap_or_default();
    let name = rest.strip_prefix(b"*").unwrap_or(rest);
    let letter = |b: &&u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_');
    let name: Vec<u8> = name.iter().take_while(letter).copied().collect();
    String::from_utf8_lossy(&name).into_owned()
}

/// The error as `yaml.v2` tells it. Both it and the parser in use here are ports of libyaml, so they
/// agree on what is wrong and where; they differ in how they say where.
pub(super) fn told(error: &serde_yaml_ng::Error, text: &[u8]) -> String {
    let shown = error.to_string();
    if shown.starts_with("unknown anchor") {
        let name = anchor(text, error.location().map_or(0, |at| at.index()));
        return format!("yaml: unknown anchor '{name}' referenced");
    }
    if shown.starts_with("repetition limit exceeded") {
        return "yaml: document contains excessive aliasing".to_owned();
    }
    let shown = shown.replace("hexadecimal", "hexdecimal");
    let end = [" at line ", " at position ", ", while "]
        .into_iter()
        .filter_map(|mark| shown.find(mark))
        .min();
    let problem = shown.get(..end.unwrap_or(shown.len())).unwrap_or(&shown);
    let line = error.location().map_or(0, |at| at.line().saturating_sub(1));
    // Go counts from zero and adds one only to what its scanner found.
    let scanner = format!("{error:?}").contains("kind: SCANNER");
    match line {
        0 => format!("yaml: {problem}"),
        line => format!("yaml: line {}: {problem}", line + usize::from(scanner)),
    }
}
