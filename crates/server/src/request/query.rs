//! The part of a URL after the question mark, as Go reads it.

/// Parameters in the order in which they came; one name may come several times.
#[derive(Clone, Debug, Default)]
pub(crate) struct Query(Vec<(String, String)>);

impl Query {
    /// Reads `a=b&c=d`. What cannot be read is left out, as in Go's `URL.Query`.
    pub(crate) fn parse(text: &str) -> Self {
        let pairs = text.split('&').filter(|pair| !pair.is_empty());
        let pairs = pairs.filter(|pair| !pair.contains(';')).filter_map(|pair| {
            let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
            Some((unescape(key, true)?, unescape(value, true)?))
        });
        Self(pairs.collect())
    }

    /// The first value of a parameter.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        let found = self.0.iter().find(|(key, _)| key == name);
        found.map(|(_, value)| value.as_str())
    }

    /// How long it is.
    pub(crate) fn bytes(&self) -> usize {
        let pairs = self.0.iter();
        pairs.map(|(key, value)| key.len() + value.len() + 2).sum()
    }

    /// All values of a parameter.
    pub(crate) fn all(&self, name: &str) -> Vec<String> {
        let found = self.0.iter().filter(|(key, _)| key == name);
        found.map(|(_, value)| value.clone()).collect()
    }

    /// A flag: there, and neither `0` nor `false`. Upstream: `Convert_Slice_string_To_bool`.
    pub(crate) fn flag(&self, name: &str) -> Option<bool> {
        self.get(name)
            .map(|value| value != "0" && !value.eq_ignore_ascii_case("false"))
    }

    /// A number; the error is Go's.
    pub(crate) fn number(&self, name: &str) -> Result<Option<i64>, String> {
        self.get(name).map(parse_int).transpose()
    }
}

/// `strconv.ParseInt(text, 10, 64)` with its errors.
pub(crate) fn parse_int(text: &str) -> Result<i64, String> {
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    let plain = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
    let why = match text.parse() {
        Ok(number) if plain => return Ok(number),
        _ if plain => "value out of range",
        _ => "invalid syntax",
    };
    let quoted = stowplan_apimachinery::go::quote(text);
    Err(format!("strconv.ParseInt: parsing {quoted}: {why}"))
}

/// Undoes `%41`, and `+` for a space if `plus`. `None` if an escape is broken.
pub(crate) fn unescape(text: &str, plus: bool) -> Option<String> {
    if !text.contains(['%', '+']) {
        return Some(text.to_owned());
    }
    let mut out = Vec::with_capacity(text.len());
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        match byte {
            b'%' => {
                let digit = |b: u8| char::from(b).to_digit(16);
                let (high, low) = (digit(bytes.next()?)?, digit(bytes.next()?)?);
                out.push(u8::try_from(high * 16 + low).ok()?);
            }
            b'+' if plus => out.push(b' '),
            byte => out.push(byte),
        }
    }
    Some(String::from_utf8_lossy(&out).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_read_as_in_go() {
        let query = Query::parse("a=1&a=2&b&c=x%3D+y&d=%zz&watch=0&limit=5x");
        assert_eq!(query.all("a"), ["1", "2"]);
        assert_eq!(query.get("b"), Some(""));
        assert_eq!(query.get("c"), Some("x= y"));
        assert_eq!(query.get("d"), None);
        assert_eq!(query.flag("watch"), Some(false));
        assert_eq!(query.flag("b"), Some(true));
        assert_eq!(query.number("a"), Ok(Some(1)));
        assert_eq!(
            query.number("limit"),
            Err(r#"strconv.ParseInt: parsing "5x": invalid syntax"#.to_owned())
        );
    }
}
