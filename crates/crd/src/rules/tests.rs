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

#[test]
fn a_rule_that_costs_too_much_is_ended() {
    let doubled = format!(
        "['xxxxxxxxxxxxxxxx']{}.size() == 1",
        ".map(a, a + a)".repeat(40)
    );
    let lists = format!("[[1, 2]]{}.size() == 1", ".map(a, a + a)".repeat(40));
    let replaced = format!(
        "'xx'{}.size() == 1",
        ".replace('x', 'xxxxxxxxxx')".repeat(20)
    );
    let range = "lists.range(2000000).size() == 1".to_owned();
    for rule in [doubled, lists, replaced, range] {
        let why = "'operation cancelled: actual cost limit exceeded': no further validation rules will be run due to call cost exceeds limit for rule";
        let said = format!("spec: Invalid value: \"object\": {why}: {rule}");
        assert_eq!(run(&rule, json!({})), [said]);
    }
}

#[test]
fn all_rules_of_an_object_share_a_budget() {
    let dear = "self.all(a, self.all(b, a + b > -1))";
    let schema = json!({"type": "object", "properties": {"lists": {"type": "array", "items": {
        "type": "array", "items": {"type": "integer"},
        "x-kubernetes-validations": [{"rule": dear}]}}}});
    let list: Vec<i64> = (0..300).collect();
    let few = json!({"lists": vec![list.clone(); 3]});
    assert!(validate(&schema, &few, None).is_empty());
    let many = json!({"lists": vec![list; 40]});
    let errors = validate(&schema, &many, None);
    let errors: Vec<String> = errors.iter().map(ToString::to_string).collect();
    assert_eq!(errors.len(), 1, "{errors:?}");
    assert!(errors[0].ends_with(OUT_OF_BUDGET), "{errors:?}");
}

#[test]
fn conversions_that_can_only_fail_are_refused() {
    let said = |rule: &str| refused(rule).join(" ");
    let failed = "program instantiation failed: type conversion error from 'string' to 'int'";
    assert!(said("true || int('x') == 1").contains(failed));
    assert!(said("[1, int('x')].size() == 2").contains(failed));
    let duration = "compilation failed: ERROR: invalid duration argument";
    assert!(said("duration('1x') > duration('1s')").contains(duration));
    assert!(refused("int('1') == 1 && int(string(self)) > 0").is_empty());
}

/// What is said of a rule when a definition is checked.
fn refused(rule: &str) -> Vec<String> {
    let schema = json!({"type": "object", RULES: [{"rule": rule}]});
    let errors = check(&schema, &Path::new("s"));
    errors.iter().map(|e| e.detail.clone()).collect()
}

#[test]
fn no_rule_is_too_deep_for_the_stack() {
    let nests = "compilation failed: ERROR: <input>:-1:0: expression recursion limit exceeded: 250";
    let deep = "compilation failed: ERROR: <input>:-1:0: max recursion depth exceeded";
    let wrap = |open: &str, inner: &str, close: &str, n: usize| {
        format!("{}{inner}{}", open.repeat(n), close.repeat(n))
    };
    for (rule, why) in [
        (
            wrap("!", "true", "", 200_000),
            "compilation failed: ERROR: <input>:-1:0: expression code point size exceeds limit: size: 200004, limit 100000",
        ),
        (wrap("", "1", "+1", 40_000) + " > 0", deep),
        (wrap("", "1", "+1", 250) + " > 0", deep),
        (wrap("", "self", ".b", 40_000) + " == 1", deep),
        (wrap("", "self", "[0]", 30_000), deep),
        (wrap("", "'a'", ".trim()", 10_000) + " == ''", deep),
        (wrap("", "true", " == true", 12_000), deep),
        (wrap("(", "true", ")", 40_000), nests),
        (wrap("(", "true", ")", 250), nests),
        (wrap("[", "", "]", 40_000), nests),
        (wrap("f(", "", ")", 30_000), nests),
        (wrap("{1:", "1", "}", 20_000), nests),
        (wrap("true ? true : ", "true", "", 7_000), nests),
        (wrap("1+(", "1", ")", 125) + " > 0", nests),
    ] {
        assert_eq!(refused(&rule), [why], "{:.20}", rule);
        // An object that such a rule is run for comes to no harm either.
        assert_eq!(run(&rule, json!({})).len(), 1, "{:.20}", rule);
    }
}

#[test]
fn rules_may_nest_as_deep_as_upstream_reads_them() {
    let wrap = |open: &str, inner: &str, close: &str, n: usize| {
        format!("{}{inner}{}", open.repeat(n), close.repeat(n))
    };
    let macros = wrap("[true].all(a, !!(", "true", "))", 110);
    for rule in [
        wrap("!", "true", "", 99_996),
        wrap("", "true", "&&true", 16_000),
        wrap("", "1", "+1", 249) + " > 0",
        wrap("(", "true", ")", 249),
        wrap("[", "", "]", 240) + ".size() < 2",
        wrap("true ? true : ", "true", "", 240),
        macros,
    ] {
        assert_eq!(refused(&rule), Vec::<String>::new(), "{:.20}", rule);
        assert_eq!(run(&rule, json!({})), Vec::<String>::new(), "{:.20}", rule);
    }
    let signs = "!!true && --1 == 1 && -(-1) == 1 && - 1 == -1 && !(-1 > 0)";
    assert_eq!(run(signs, json!({})), Vec::<String>::new());
}

#[test]
fn a_message_that_costs_too_much_is_told_where_the_rule_points() {
    let rule = json!({"rule": "false", "fieldPath": ".name",
        "messageExpression": "string(lists.range(2000000).size())"});
    let errors = run_change(rule, json!({"name": "x"}), None);
    assert_eq!(errors.len(), 1);
    assert!(
        errors[0].starts_with("spec.name: Invalid value: \"object\": "),
        "{errors:?}"
    );
}
