//! The kind that an object says it is.

use super::DecodeError;
use crate::json::{self, Bad, Parser};

/// What an object says of itself, before anything else of it is read.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct TypeMeta {
    /// `apps/v1`; empty if it does not say.
    pub api_version: String,
    /// `Deployment`; empty if it does not say.
    pub kind: String,
}

/// How Go prints the struct that upstream reads the kind into.
const TARGET: &str = r#"struct { APIVersion string "json:\"apiVersion,omitempty\""; Kind string "json:\"kind,omitempty\"" }"#;

/// Reads `apiVersion` and `kind`, whatever the case of the letters. The error is upstream's, from
/// `SimpleMetaFactory.Interpret` in `pkg/runtime/serializer/json/meta.go`.
pub fn type_meta(json: &[u8]) -> Result<TypeMeta, DecodeError> {
    let read = read(json);
    let error = match read {
        Ok((meta, None)) => return Ok(meta),
        Ok((_, Some(error))) => error.to_string(),
        Err(Bad) => "unexpected end of JSON input".to_owned(),
    };
    let error = json::problem(json).unwrap_or(error);
    Err(DecodeError::text(format!(
        "couldn't get version/kind; json parse error: {error}"
    )))
}

fn read(json: &[u8]) -> Result<(TypeMeta, Option<DecodeError>), Bad> {
    let mut input = Parser::new(json);
    let mut meta = TypeMeta::default();
    let mut error = None;
    match input.peek()? {
        b'{' => {
            input.enter();
            let mut first = true;
            while let Some(key) = input.next_key(first)? {
                first = false;
                let (name, slot) = if key.eq_ignore_ascii_case("apiVersion") {
                    ("apiVersion", &mut meta.api_version)
                } else if key.eq_ignore_ascii_case("kind") {
                    ("kind", &mut meta.kind)
                } else {
                    input.skip()?;
                    continue;
                };
                if let Err(wrong) = text(&mut input, slot)? {
                    let wrong = format!(
                        "json: cannot unmarshal {wrong} into Go struct field .{name} of type string"
                    );
                    error.get_or_insert(DecodeError::text(wrong));
                }
            }
        }
        b'n' => drop(input.word()?),
        first => {
            input.skip()?;
            error = Some(DecodeError::of_type(word(first), TARGET));
        }
    }
    input.end()?;
    Ok((meta, error))
}

fn word(first: u8) -> &'static str {
    match first {
        b'{' => "object",
        b'[' => "array",
        b'"' => "string",
        b't' | b'f' => "bool",
        _ => "number",
    }
}

/// Reads a text, or says what is there instead.
fn text(input: &mut Parser<'_>, slot: &mut String) -> Result<Result<(), &'static str>, Bad> {
    match input.peek()? {
        b'"' => *slot = input.string()?.into_owned(),
        b'n' => drop(input.word()?),
        first => {
            input.skip()?;
            return Ok(Err(word(first)));
        }
    }
    Ok(Ok(()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kind_is_found_whatever_the_case() {
        let meta = type_meta(br#"{"x":[1],"KIND":"Pod","apiVersion":null,"apiversion":"v1"}"#);
        let expected = TypeMeta {
            api_version: "v1".to_owned(),
            kind: "Pod".to_owned(),
        };
        assert_eq!(meta, Ok(expected));
        assert_eq!(type_meta(b"null"), Ok(TypeMeta::default()));
    }

    #[test]
    fn errors_are_upstreams() {
        for (json, expected) in [
            ("", "unexpected end of JSON input"),
            (
                "{\"kind\":1,}",
                "invalid character '}' looking for beginning of object key string",
            ),
            (
                "{\"kind\":1,\"apiVersion\":{}}",
                "json: cannot unmarshal number into Go struct field .kind of type string",
            ),
            (
                "5",
                r#"json: cannot unmarshal number into Go value of type struct { APIVersion string "json:\"apiVersion,omitempty\""; Kind string "json:\"kind,omitempty\"" }"#,
            ),
        ] {
            let error = type_meta(json.as_bytes()).expect_err(json).to_string();
            let full = format!("couldn't get version/kind; json parse error: {expected}");
            assert_eq!(error, full);
        }
    }
}
