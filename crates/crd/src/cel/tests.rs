use super::*;
use serde_json::json;

fn run(rule: &str, value: Value) -> Vec<String> {
    run_change(json!({"rule": rule}), value, None)
}

fn run_change(rule: Value, value: Value, old: Option<Value>) -> Vec<String> {
    let schema = json!({"type": "object", "properties": {"spec": {"type": "object",
        "properties": {"min": {"type": "integer"}, "max": {"type": "integer"},
            "name": {"type": "string"}, "wait": {"type": "string"},
            "ratio": {"type": "number"},
            "tags": {"type": "array", "items": {"type": "string"}}},
        "x-kubernetes-validations": [rule]}}});
    let old = old.map(|old| json!({"spec": old}));
    let errors = validate(&schema, &json!({"spec": value}), old.as_ref());
    errors.iter().map(ToString::to_string).collect()
}

#[test]
fn rules_hold_or_not() {
    let value = json!({"min": 2, "max": 7, "name": "w1", "wait": "90m", "ratio": 1,
        "tags": ["x", "y"]});
    for rule in [
        "self.min <= self.max && self.max % 2 == 1",
        "size(self.tags) < 3 && self.tags.size() == 2",
        "self.name.matches('^w[0-9]$') && self.name in ['w1', 'w2']",
        "duration(self.wait) < duration('2h')",
        "self.tags.exists_one(t, t == 'x') && self.tags.all(t, size(t) == 1)",
        "!has(self.none) || self.none == 1",
        "self.name.startsWith('w') ? true : false",
        "self.ratio > 0.5 && self.ratio * 2.0 == 2.0",
        "self.tags.map(t, t + '!').join(',') == 'x!,y!'",
        "self.tags.filter(t, t > 'x') == ['y']",
        "{'a': 1}['a'] == 1 && [1, 2][1] == 2 && -(1) == -1",
        "'abc'.substring(1, 2) == 'b' && \"a\\n\".size() == 2 && r'\\d'.size() == 2",
        "timestamp('2026-01-02T03:04:05Z').getHours() == 3",
        "self.none > 1 || true",
        "math.greatest(1, 3) == 3 && sets.contains([1, 2], [1])",
        "self.?none.orValue('d') == 'd' && int('5') == 5 && type(1) == int",
    ] {
        assert_eq!(run(rule, value.clone()), Vec::<String>::new(), "{rule}");
        let opposite = format!("!({rule})");
        let failed = format!("spec: Invalid value: failed rule: {opposite}");
        assert_eq!(run(&opposite, value.clone()), [failed], "{opposite}");
    }
}

#[test]
fn what_goes_wrong_is_said() {
    let value = json!({"min": 0, "max": 7, "wait": "bad"});
    for (rule, why) in [
        ("self.name == 'x'", "no such key: name"),
        ("self.max / self.min > 1", "division by zero"),
        ("self.max % self.min > 1", "modulus by zero"),
        (
            "duration(self.wait) < duration('1h')",
            "type conversion error from 'string' to 'google.protobuf.Duration'",
        ),
        ("[1][3] == 1", "index out of bounds: 3"),
    ] {
        let said = format!("spec: Invalid value: \"object\": {why} evaluating rule: {rule}");
        assert_eq!(run(rule, value.clone()), [said]);
    }
}

#[test]
fn rules_choose_their_words_and_place() {
    let value = json!({"name": "bad"});
    let rule = json!({"rule": "self.name == 'x'", "fieldPath": ".name",
        "reason": "FieldValueForbidden", "message": " no "});
    assert_eq!(
        run_change(rule, value.clone(), None),
        ["spec.name: Forbidden: no"]
    );
    let rule = json!({"rule": "self.name == 'x'", "messageExpression": "'not ' + self.name"});
    assert_eq!(
        run_change(rule, value, None),
        ["spec: Invalid value: not bad"]
    );
}

#[test]
fn transition_rules_need_something_to_compare_with() {
    let rule = json!({"rule": "self.name == oldSelf.name"});
    let (a, b) = (json!({"name": "a"}), json!({"name": "b"}));
    assert!(run_change(rule.clone(), a.clone(), None).is_empty());
    assert!(run_change(rule.clone(), a.clone(), Some(a.clone())).is_empty());
    assert_eq!(run_change(rule, a.clone(), Some(b.clone())).len(), 1);
    let optional =
        json!({"rule": "oldSelf.hasValue() || self.name == 'a'", "optionalOldSelf": true});
    assert!(run_change(optional.clone(), a.clone(), None).is_empty());
    assert_eq!(run_change(optional, b.clone(), None).len(), 1);
    // What was wrong before and did not change is forgiven.
    let rule = json!({"rule": "self.name == 'x'"});
    assert!(run_change(rule.clone(), a.clone(), Some(a.clone())).is_empty());
    assert_eq!(run_change(rule, a, Some(b)).len(), 1);
}

#[test]
fn rules_over_long_lists_of_long_texts_cost_too_much() {
    let schema = json!({"type": "object", "properties": {"spec": {"type": "array", "items":
        {"type": "string", "x-kubernetes-validations": [{"rule": "self.matches('^(a+)+$')"}]}}}});
    let errors = check(&schema, &Path::new("s"));
    assert_eq!(errors.len(), 3);
    assert!(errors[0].to_string().starts_with(
        "s.properties[spec].items.x-kubernetes-validations[0].rule: Forbidden: estimated rule cost exceeds budget by factor of more than 100x"
    ));
    let bounded = json!({"type": "object", "properties": {"spec": {"type": "array", "maxItems": 5,
        "items": {"type": "string", "maxLength": 20,
            "x-kubernetes-validations": [{"rule": "self.matches('^a+$')"}]}}}});
    assert!(check(&bounded, &Path::new("s")).is_empty());
}
