//! The part of JSONPath that columns and field selectors use.
//!
//! Upstream: `k8s.io/client-go/util/jsonpath`, with missing keys allowed.

use serde_json::Value;

/// A path, read. The empty one finds the object itself.
#[derive(Clone, Default, PartialEq, Debug)]
pub(crate) struct JsonPath(Vec<Step>);

#[derive(Clone, PartialEq, Debug)]
enum Step {
    Field(String),
    Every,
    Below,
    /// `[from:to:step]`, or one element.
    Range(Option<i64>, Option<i64>, i64),
    Filter(Vec<Step>, String, Value),
}

impl JsonPath {
    /// Reads `.spec.list[0].name`; the error says what is wrong, in upstream's words as far as they
    /// are known.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        steps(text).map(Self)
    }

    /// All values at the path.
    pub(crate) fn find<'a>(&self, object: &'a Value) -> Vec<&'a Value> {
        find(&self.0, vec![object])
    }
}

fn steps(text: &str) -> Result<Vec<Step>, String> {
    let mut steps = Vec::new();
    let mut rest = text.trim();
    rest = rest.strip_prefix(['$', '@']).unwrap_or(rest);
    while let Some(first) = rest.chars().next() {
        match first {
            '.' if rest.starts_with("..") => {
                steps.push(Step::Below);
                rest = &rest[1..];
            }
            '.' => {
                rest = &rest[1..];
                let end = rest.find(['.', '[']).unwrap_or(rest.len());
                let (name, after) = rest.split_at(end);
                match name {
                    "" => {}
                    "*" => steps.push(Step::Every),
                    name => steps.push(Step::Field(name.replace('\\', ""))),
                }
                rest = after;
            }
            '[' => {
                let end = closing(rest).ok_or("unterminated array")?;
                steps.push(bracket(&rest[1..end])?);
                rest = &rest[end + 1..];
            }
            other => return Err(format!("unrecognized character in action: {other:?}")),
        }
    }
    Ok(steps)
}

/// Where the bracket that opens the text closes.
fn closing(text: &str) -> Option<usize> {
    let (mut depth, mut quoted) = (0usize, None);
    for (i, c) in text.char_indices() {
        match (quoted, c) {
            (Some(q), c) if c == q => quoted = None,
            (Some(_), _) => {}
            (None, '\'' | '"') => quoted = Some(c),
            (None, '[') => depth += 1,
            (None, ']') => {
                depth = depth.checked_sub(1)?;
                if depth == 0 {
                    return Some(i);
                }
            }
            _ => {}
        }
    }
    None
}

fn bracket(inside: &str) -> Result<Step, String> {
    let inside = inside.trim();
    let bad = || format!("invalid array index {inside}");
    if inside == "*" {
        return Ok(Step::Every);
    }
    if let Some(name) = inside.strip_prefix('\'').and_then(|t| t.strip_suffix('\'')) {
        return Ok(Step::Field(name.to_owned()));
    }
    if let Some(filter) = inside.strip_prefix("?(").and_then(|t| t.strip_suffix(')')) {
        for operator in ["==", "!=", "<=", ">=", "<", ">"] {
            if let Some((left, right)) = filter.split_once(operator) {
                let right = right.trim().replace('\'', "\"");
                let value = serde_json::from_str(&right).map_err(|_| bad())?;
                return Ok(Step::Filter(
                    steps(left.trim())?,
                    operator.to_owned(),
                    value,
                ));
            }
        }
        return Ok(Step::Filter(
            steps(filter)?,
            "exists".to_owned(),
            Value::Null,
        ));
    }
    let number = |text: &str| match text.trim() {
        "" => Ok(None),
        text => text.parse::<i64>().map(Some).map_err(|_| bad()),
    };
    match inside.split(':').collect::<Vec<_>>().as_slice() {
        [one] => {
            let index = number(one)?.ok_or_else(bad)?;
            let end = (index != -1).then_some(index + 1);
            Ok(Step::Range(Some(index), end, 1))
        }
        [from, to] => Ok(Step::Range(number(from)?, number(to)?, 1)),
        [from, to, by] => {
            let by = number(by)?.unwrap_or(1).max(1);
            Ok(Step::Range(number(from)?, number(to)?, by))
        }
        _ => Err(bad()),
    }
}

fn find<'a>(steps: &[Step], mut here: Vec<&'a Value>) -> Vec<&'a Value> {
    for step in steps {
        here = here
            .into_iter()
            .flat_map(|value| take(step, value))
            .collect();
    }
    here
}

fn take<'a>(step: &Step, value: &'a Value) -> Vec<&'a Value> {
    match step {
        Step::Field(name) => value.get(name).into_iter().collect(),
        Step::Every => children(value),
        Step::Below => {
            let mut all = vec![value];
            for child in children(value) {
                all.extend(take(step, child));
            }
            all
        }
        Step::Range(from, to, by) => {
            let list = value.as_array().map(Vec::as_slice).unwrap_or_default();
            let size = list.len() as i64;
            let place = |n: i64| if n < 0 { n + size } else { n };
            let from = place(from.unwrap_or(0)).max(0);
            let to = place(to.unwrap_or(size)).min(size);
            let by = usize::try_from(*by).unwrap_or(1);
            let indices = (from..to).step_by(by);
            let at = |i: i64| list.get(usize::try_from(i).ok()?);
            indices.filter_map(at).collect()
        }
        Step::Filter(path, operator, wanted) => {
            let holds = |element: &&Value| {
                let found = find(path, vec![element]);
                match found.first() {
                    None => false,
                    Some(_) if operator == "exists" => true,
                    Some(found) => compare(found, operator, wanted),
                }
            };
            let list = value.as_array().map(Vec::as_slice).unwrap_or_default();
            list.iter().filter(holds).collect()
        }
    }
}

fn children(value: &Value) -> Vec<&Value> {
    match value {
        Value::Array(list) => list.iter().collect(),
        Value::Object(map) => map.values().collect(),
        _ => Vec::new(),
    }
}

fn compare(a: &Value, operator: &str, b: &Value) -> bool {
    let order = match (a, b) {
        (Value::Number(a), Value::Number(b)) => a.as_f64().partial_cmp(&b.as_f64()),
        (Value::String(a), Value::String(b)) => Some(a.cmp(b)),
        (a, b) if a == b => Some(std::cmp::Ordering::Equal),
        _ => None,
    };
    match (operator, order) {
        ("!=", order) => order.is_none_or(|o| o.is_ne()),
        (_, None) => false,
        ("==", Some(o)) => o.is_eq(),
        ("<", Some(o)) => o.is_lt(),
        ("<=", Some(o)) => o.is_le(),
        (">", Some(o)) => o.is_gt(),
        (_, Some(o)) => o.is_ge(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn paths_find_values() {
        let object = json!({"spec": {"list": [{"n": 1, "t": "a"}, {"n": 2, "t": "b"}], "m": {"k": 5}},
            "metadata": {"annotations": {"a/b.c": "x"}}});
        for (path, expected) in [
            (".spec.list[*].n", json!([1, 2])),
            (".spec.list[0].t", json!(["a"])),
            (".spec.list[-1].t", json!(["b"])),
            (".spec.list[?(@.t==\"b\")].n", json!([2])),
            (".spec.list[?(@.n>1)].t", json!(["b"])),
            (".spec.m.*", json!([5])),
            (".metadata.annotations['a/b.c']", json!(["x"])),
            (".spec.none.x", json!([])),
            ("..k", json!([5])),
        ] {
            let parsed = JsonPath::parse(path).expect(path);
            assert_eq!(json!(parsed.find(&object)), expected, "{path}");
        }
        assert!(JsonPath::parse(".a[x]").is_err());
        assert!(JsonPath::parse("a").is_err());
        assert!(JsonPath::parse(".a[").is_err());
    }
}
