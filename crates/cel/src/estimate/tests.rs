use crate::{Program, schema};
use serde_json::{Value, json};

fn schema_of_all() -> Value {
    let text = json!({"type": "string", "maxLength": 100});
    let number = json!({"type": "integer"});
    let texts = json!({"type": "array", "maxItems": 10,
        "items": {"type": "string", "maxLength": 50}});
    let nested = json!({"type": "array", "maxItems": 10,
        "items": {"type": "array", "maxItems": 5, "items": number}});
    json!({"type": "object", "properties": {"text": text, "texts": texts, "nested": nested,
        "list": {"type": "array", "maxItems": 10, "items": number},
        "map": {"type": "object", "maxProperties": 7, "additionalProperties": number}}})
}

/// Expressions, what they are taken to cost at the most, and what they cost when they are run, as
/// `cel-go` v0.26.0 says in the environment of Kubernetes 1.36. What has no bound is `u64::MAX`.
#[test]
fn costs_are_upstreams() {
    let schema = schema_of_all();
    let object = json!({"text": "0123456789abc", "texts": ["bb", "a"], "nested": [[1, 2], [3]],
        "list": [1, 2, 3], "map": {"a": 1, "b": 2}});
    let own = schema::value(&object, &schema);
    let mut wrong = Vec::new();
    for (rule, most, spent) in [
        ("self.text == 'x'", 3, 3),
        ("self.list.all(x, x > 0)", 53, 18),
        ("self.list.exists(x, x > 5)", 63, 21),
        ("self.list.exists_one(x, x == 1)", 34, 12),
        ("self.list.map(x, x) == []", 153, 42),
        ("self.list.filter(x, x > 1) == []", 173, 35),
        ("self.list.map(x, x > 1, x) == []", 173, 35),
        ("self.list.transformList(i, v, v) == []", 153, 42),
        ("self.list.transformList(i, v, v > 1, v) == []", 173, 35),
        ("self.map.transformMap(k, v, v) == {}", 91, 11),
        ("self.map.transformMapEntry(k, v, {k: v}) == {}", 301, 71),
        ("self.list.sortBy(x, -x) == []", 386, 76),
        ("self.texts.sortBy(x, x) == []", 386, 50),
        ("self.texts.sort() == []", 233, 21),
        ("self.list.sort() == []", 223, 31),
        ("self.list.distinct() == []", 223, 31),
        ("self.texts.distinct() == []", 223, 21),
        ("self.list.slice(0, 2) == []", 25, 15),
        ("self.list.reverse() == []", 33, 16),
        ("lists.range(5) == []", 26, 16),
        ("self.nested.flatten() == []", 33, 15),
        ("self.nested.flatten(1) == []", 33, 15),
        ("[self.nested].flatten(2) == []", 35, 25),
        ("self.list.first().hasValue()", 4, 4),
        ("isURL(self.text)", 3, 3),
        ("url('/a').getHost() == ''", 2, 2),
        ("self.texts.join(',') == ''", 203, 3),
        ("self.text.split('1') == []", 92, 5),
        ("self.text.split('1').size() == 1", 84, 7),
        ("self.text.split('1').all(x, x == '1')", 1_683, 13),
        ("self.text.findAll('[0-9]').all(x, x == '1')", 1_685, 14),
        ("self.text.replace('0', '1') == ''", 82, 5),
        ("self.text.replace('', self.text) == ''", 84, 7),
        ("self.text.lowerAscii() == ''", 42, 4),
        ("self.text.matches('^[0-9a-z]+$')", 125, 8),
        ("self.text.contains('abc')", 42, 4),
        ("self.text.startsWith('abc')", 3, 4),
        ("self.text.size() == 1", 4, 4),
        ("size(self.list) == 1", 4, 4),
        ("self.list.existsOne(i, v, v == 1)", 34, 12),
        ("self.list.all(i, v, v > i)", 63, 21),
        ("self.map.exists(k, v, v == 1)", 38, 12),
        ("self.text + self.text == ''", 84, 7),
        ("self.list.isSorted()", 12, 5),
        ("self.texts.isSorted()", 212, 2),
        ("self.list.sum() == 1", 13, 6),
        ("self.texts.indexOf('a') == 1", 213, 3),
        ("self.text.indexOf('a') == 1", 43, 4),
        ("self.list.max() == 1", 13, 6),
        ("1 in self.list", 12, 5),
        ("'a' in self.map", 3, 3),
        ("self.map['a'] == 1", 3, 4),
        ("self.list[0] == 1", 3, 4),
        ("self.?text.orValue('') == ''", 3, 2),
        ("self.?text.hasValue()", 3, 3),
        ("has(self.text)", 1, 1),
        ("self.text == 'a' ? true : false", 3, 3),
        ("sets.contains(self.list, [1])", 23, 6),
        ("sets.intersects(self.list, [1])", 23, 6),
        ("sets.equivalent(self.list, [1])", 33, 9),
        ("'%s'.format([self.text]) == ''", 13, 13),
        ("strings.quote(self.text) == ''", 42, 4),
        ("self == self", 2, 3),
        ("self.list.map(x, self.list.map(y, y)) == []", 1_573, 165),
        ("self.list.map(x, [x, x]).flatten() == []", 284, 89),
        ("lists.range(self.list[0]).all(x, x > 0)", u64::MAX, 21),
        ("lists.range(10).all(x, x > 0)", 72, 29),
        ("self.text.split('').map(x, x).size() == 1", 5_295, 177),
        (
            "self.texts.map(x, x + 'a').join('').size() == 1",
            u64::MAX,
            34,
        ),
        ("optional.of(self.text).hasValue()", 4, 4),
        ("self.?text.optMap(x, x + 'a').hasValue()", u64::MAX, 11),
        ("string(self.list[0]) == ''", 4, 4),
        ("self.list == self.list", 5, 5),
        ("self.nested == self.nested", 5, 5),
        ("{'a': 1}['a'] == 1", 32, 3),
        ("[1, 2, 3].all(x, x > 0)", 26, 16),
        ("[1, 2, 3].map(x, x).size() == 1", 62, 42),
        ("-self.list[0] == 1", 5, 5),
        ("!has(self.text)", 2, 2),
        ("self.text < 'a'", 3, 3),
        ("self.text in ['a', 'b']", 14, 2),
        ("self.text in self.texts", 14, 6),
        ("isIP(self.text)", 42, 4),
        ("cidr('10.0.0.0/8').containsIP(self.text)", 47, 6),
        (
            "format.dns1123Label().validate(self.text).hasValue()",
            1_284,
            20,
        ),
        ("self.list.exists(x, x == 1) && self.text == 'a'", 56, 15),
        ("self.text == 'a' || self.text == 'b'", 6, 6),
        ("self.list.filter(x, x > 1).size() == 1", 165, 37),
        ("self.texts.filter(x, x == '').all(y, y == '')", 194, 6),
        ("self.text.substring(1, 2) == ''", 42, 4),
        ("self.text.charAt(1) == ''", 3, 3),
        ("self.text.trim() == ''", 42, 4),
        ("self.list.lastIndexOf(1) == 1", 13, 6),
        ("self.texts.min() == ''", 212, 2),
        ("type(self.text) == string", 4, 4),
        ("timestamp('2026-01-02T03:04:05Z').getHours() == 3", 3, 2),
        ("self.?text.optMap(x, x == 'a').hasValue()", 20, 10),
        ("self.?text.optFlatMap(x, optional.of(x)).hasValue()", 19, 9),
        (
            "self.?texts2.optFlatMap(x, optional.of(x)).hasValue()",
            19,
            4,
        ),
        ("[1, 2][1] == 1", 12, 3),
        ("[self.text][0] == 'a'", 14, 15),
        ("self.list.first().value() == 1", 5, 5),
        ("self.list.map(x, {'a': x})[0].a == 1", 446, 136),
        ("{'a': self.text}.a == 'a'", 33, 35),
        ("type(1) == int", 2, 1),
        ("self.list.all(x, x > 1)", 53, 10),
        ("self.list.exists(x, x == 3)", 53, 21),
        ("self.list.all(x, x < 3)", 53, 18),
        ("{'a': {'b': 1}}.a.b == 1", 63, 4),
    ] {
        let program = Program::parse(rule).unwrap();
        let estimate = match program.cost_max(&[("self", &schema)]) {
            cost if cost > u64::MAX / 20 => u64::MAX,
            cost => cost,
        };
        let ran = program.run(&[("self", own.clone())]).cost;
        if (estimate, ran) != (most, spent) {
            wrong.push(format!("{rule}: {estimate} not {most}, {ran} not {spent}"));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}
