//! What Go prints of a value when it is hashed: `k8s.io/utils/dump.ForHash`, which is go-spew's `%#v`.
//!
//! Names that controllers make up contain hashes of this text. It has all fields of all structs, set or
//! not, in the order of their declaration, and the Go type of each.

mod quantity;

use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::LazyLock;

/// The structs of the generated table, by their names in OpenAPI.
static STRUCTS: LazyLock<BTreeMap<&'static str, Struct>> = LazyLock::new(read);

/// A struct as Go declares it.
struct Struct {
    /// Its name in Go: `v1.Container`.
    go_type: &'static str,
    fields: Vec<Field>,
}

/// A field of a struct, or an embedded struct.
struct Field {
    /// Its name in JSON; empty for an embedded struct, whose fields lie among the others.
    json: &'static str,
    /// Its name in Go.
    go: &'static str,
    /// Its type, as the table writes it.
    ty: &'static str,
}

fn read() -> BTreeMap<&'static str, Struct> {
    let mut structs = BTreeMap::new();
    let mut last: Option<(&'static str, Struct)> = None;
    for line in crate::table::TEXT.lines() {
        let mut columns = line.split('\t');
        let (kind, first, second) = (columns.next(), columns.next(), columns.next());
        let (first, second) = (first.unwrap_or_default(), second.unwrap_or_default());
        match (kind, &mut last) {
            (Some("T"), _) => {
                let next = Struct {
                    go_type: second,
                    fields: Vec::new(),
                };
                structs.extend(last.replace((first, next)));
            }
            (Some("F" | "I"), Some((_, of))) => of.fields.push(Field {
                json: first,
                go: second,
                ty: columns.next().unwrap_or_default(),
            }),
            _ => {}
        }
    }
    structs.extend(last);
    structs
}

/// What Go prints of a value of a built-in struct, such as `io.k8s.api.core.v1.PodTemplateSpec`; nothing if
/// there is no such struct. Lists and maps that are empty count as absent, since that is how they are stored.
pub fn dump_for_hash(name: &str, value: &Value) -> Option<String> {
    let of = STRUCTS.get(name)?;
    let mut dump = Dump(String::with_capacity(8 * 1024));
    dump.0.push('(');
    dump.0.push_str(of.go_type);
    dump.0.push(')');
    dump.fields(of, Some(value));
    Some(dump.0)
}

/// The name of a type in Go.
fn go_type(ty: &str) -> String {
    if let Some(inner) = ty.strip_prefix('*') {
        return format!("*{}", go_type(inner));
    }
    if let Some((name, inner)) = list(ty) {
        return match name {
            "" => format!("[]{}", go_type(inner)),
            name => name.to_owned(),
        };
    }
    if let Some((name, inner)) = map(ty) {
        return match name {
            "" => format!("map[string]{}", go_type(inner)),
            name => name.to_owned(),
        };
    }
    if let Some(name) = ty.strip_prefix('@') {
        let of = STRUCTS.get(name);
        return of.map_or_else(String::new, |of| of.go_type.to_owned());
    }
    let name = match ty {
        "!Quantity" => "resource.Quantity",
        "!IntOrString" => "intstr.IntOrString",
        "!Time" => "v1.Time",
        "!MicroTime" => "v1.MicroTime",
        "!FieldsV1" => "v1.FieldsV1",
        "!RawExtension" => "runtime.RawExtension",
        basic => basic.split_once('=').map_or(basic, |(_, name)| name),
    };
    name.to_owned()
}

/// The name and the elements of a list.
fn list(ty: &str) -> Option<(&str, &str)> {
    let (name, inner) = ty.strip_prefix('[')?.split_once(']')?;
    Some((name.trim_end_matches('!'), inner))
}

/// The name and the values of a map.
fn map(ty: &str) -> Option<(&str, &str)> {
    let (name, inner) = ty.strip_prefix('{')?.split_once('}')?;
    Some((name.trim_end_matches('!'), inner))
}

/// The text so far.
struct Dump(String);

impl Dump {
    fn push(&mut self, text: &str) {
        self.0.push_str(text);
    }

    /// A value with its type.
    fn typed(&mut self, ty: &str, value: Option<&Value>) {
        let value = value.filter(|value| !value.is_null());
        self.push("(");
        self.push(&go_type(ty));
        self.push(")");
        match (ty.strip_prefix('*'), value) {
            (Some(_), None) => self.push("<nil>"),
            (Some(inner), value) => self.bare(inner, value),
            (None, value) => self.bare(ty, value),
        }
    }

    /// A value whose type has been told, or is that of its neighbours.
    fn bare(&mut self, ty: &str, value: Option<&Value>) {
        if let Some((_, inner)) = list(ty) {
            return self.list(inner, value);
        }
        if let Some((_, inner)) = map(ty) {
            return self.map(inner, value);
        }
        if let Some(of) = ty.strip_prefix('@').and_then(|name| STRUCTS.get(name)) {
            return self.fields(of, value);
        }
        match (ty, value) {
            ("!Quantity", value) => {
                let text = value.and_then(Value::as_str).unwrap_or_default();
                quantity::dump(&mut self.0, text);
            }
            ("!IntOrString", value) => self.int_or_string(value),
            // A template has no time of its own.
            ("!Time" | "!MicroTime", _) => self
                .push("{Time:(time.Time){wall:(uint64)0 ext:(int64)0 loc:(*time.Location)<nil>}}"),
            (_, Some(Value::String(text))) => self.push(text),
            (_, Some(Value::Bool(is_true))) => self.push(if *is_true { "true" } else { "false" }),
            (_, Some(Value::Number(number))) => self.push(&number.to_string()),
            ("bool", _) => self.push("false"),
            (basic, _) if basic.starts_with("string") => {}
            _ => self.push("0"),
        }
    }

    fn list(&mut self, inner: &str, value: Option<&Value>) {
        let items = value.and_then(Value::as_array);
        let Some(items) = items.filter(|items| !items.is_empty()) else {
            return self.push("<nil>");
        };
        self.push("[");
        for (at, item) in items.iter().enumerate() {
            self.push(if at > 0 { " " } else { "" });
            self.bare(inner, Some(item));
        }
        self.push("]");
    }

    fn map(&mut self, inner: &str, value: Option<&Value>) {
        let entries = value.and_then(Value::as_object);
        let Some(entries) = entries.filter(|entries| !entries.is_empty()) else {
            return self.push("<nil>");
        };
        self.push("map[");
        let sorted: BTreeMap<_, _> = entries.iter().collect();
        for (at, (key, value)) in sorted.into_iter().enumerate() {
            self.push(if at > 0 { " " } else { "" });
            self.push(key);
            self.push(":");
            self.bare(inner, Some(value));
        }
        self.push("]");
    }

    fn fields(&mut self, of: &Struct, value: Option<&Value>) {
        self.push("{");
        for (at, field) in of.fields.iter().enumerate() {
            self.push(if at > 0 { " " } else { "" });
            self.push(field.go);
            self.push(":");
            let value = match field.json {
                "" => value,
                json => value.and_then(|value| value.get(json)),
            };
            self.typed(field.ty, value);
        }
        self.push("}");
    }

    fn int_or_string(&mut self, value: Option<&Value>) {
        let (kind, number, text) = match value {
            Some(Value::String(text)) => (1, 0, text.as_str()),
            Some(value) => (0, value.as_i64().unwrap_or(0), ""),
            None => (0, 0, ""),
        };
        let fields =
            format!("{{Type:(intstr.Type){kind} IntVal:(int32){number} StrVal:(string){text}}}");
        self.push(&fields);
    }
}

#[cfg(test)]
mod tests;
