use crate::eval::{Scope, eval};
use crate::expr::Expr;
use crate::meter::Meter;
use crate::{EvalError, Program, Run, Val, parse, schema};
use serde_json::{Value, json};

/// What an expression about an object comes to.
fn run(expression: &str, object: Value) -> Run {
    let texts = json!({"type": "array", "items": {"type": "string"}});
    let schema = json!({"type": "object", "properties": {"min": {"type": "integer"},
        "max": {"type": "integer"}, "name": {"type": "string"}, "wait": {"type": "string"},
        "ratio": {"type": "number"}, "tags": texts, "text": {"type": "string"}, "texts": texts}});
    let program = Program::parse(expression).unwrap();
    program.run(&[("self", schema::value(&object, &schema))])
}

/// Expressions without an object that are true.
fn holds(expressions: &[&str]) {
    for expression in expressions {
        let outcome = run(expression, json!({})).outcome;
        assert_eq!(outcome, Ok(Val::Bool(true)), "{expression}");
    }
}

fn fails(expression: &str, why: &str) {
    let why = EvalError::Other(why.to_owned());
    assert_eq!(run(expression, json!({})).outcome, Err(why), "{expression}");
}

/// An expression about a text and a list of texts ends for its cost, and soon.
fn too_dear(expression: &str, object: Value) {
    let outcome = run(expression, object).outcome;
    assert_eq!(outcome, Err(EvalError::CostLimit), "{expression:.80}");
}

/// A device selector of dynamic resource allocation: variables that no schema of an object describes.
#[test]
fn variables_are_whatever_the_caller_declares() {
    let device = json!({"type": "object", "properties": {
        "driver": {"type": "string", "maxLength": 63},
        "attributes": {"type": "object", "maxProperties": 32, "additionalProperties": {
            "type": "object", "maxProperties": 32, "additionalProperties": {}}},
        "capacity": {"type": "object", "maxProperties": 32, "additionalProperties": {
            "type": "object", "maxProperties": 32, "additionalProperties": {}}}}});
    let selector = "device.driver == 'gpu.example.com' \
        && device.attributes['gpu.example.com'].model in ['a100', 'h100'] \
        && device.capacity['gpu.example.com'].memory.compareTo(quantity('40Gi')) >= 0";
    let program = Program::parse(selector).unwrap();
    assert!(program.uses("device") && !program.uses("self"));
    assert_eq!(program.fault(), None);
    assert_eq!(program.cost_max(&[("device", &device)]), 27);
    let map = |key: &str, value: Val| [(key.into(), value)].into_iter().collect::<Val>();
    for (model, memory, fits) in [
        ("h100", "80Gi", true),
        ("h100", "16Gi", false),
        ("t4", "80Gi", false),
    ] {
        let memory = stowplan_apimachinery::quantity::Quantity::parse(memory).unwrap();
        let domain = "gpu.example.com";
        let device: Val = [
            ("driver".into(), domain.into()),
            ("attributes".into(), map(domain, map("model", model.into()))),
            ("capacity".into(), map(domain, map("memory", memory.into()))),
        ]
        .into_iter()
        .collect();
        let run = program.run(&[("device", device)]);
        assert_eq!(run.outcome, Ok(Val::Bool(fits)), "{model}");
        assert!(run.cost <= 27, "{}", run.cost);
    }
    let nothing = program.run(&[]).outcome.unwrap_err();
    assert_eq!(
        nothing.to_string(),
        "undeclared reference to 'device' (in container '')"
    );
}

#[test]
fn expressions_hold_or_not() {
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
        "[1, 3].max() == 3 && sets.contains([1, 2], [1])",
        "self.?none.orValue('d') == 'd' && int('5') == 5 && type(1) == int",
    ] {
        let opposite = format!("!({rule})");
        for (rule, holds) in [(rule, true), (&opposite, false)] {
            let outcome = run(rule, value.clone()).outcome;
            assert_eq!(outcome, Ok(Val::Bool(holds)), "{rule}");
        }
    }
}

#[test]
fn texts_and_lists_have_their_libraries() {
    holds(&[
        "'tacocat'.indexOf('a', 3) == 5 && 'tacocat'.lastIndexOf('a', 3) == 1",
        "'a,b,c'.split(',', 2) == ['a', 'b,c'] && 'ab'.split('') == ['a', 'b']",
        "'abc'.split(',', 0) == [] && 'abc'.charAt(3) == '' && 'héllo'.indexOf('l') == 2",
        "'%s is %d, %.2f, %e, %x'.format(['a', 1, 1234.5, 150.0, 255]) == 'a is 1, 1,234.50, 1.500000×10⁰², ff'",
        "'%s %s %%'.format([[1, 'b'], {'k': true}]) == '[1, \"b\"] {\"k\":true} %'",
        "'abc'.indexOf('c', 9) == -1 && 'abc'.lastIndexOf('c', 9) == -1 && 'abc'.indexOf('', 2) == 2",
        "optional.of(1).orValue(1 / 0) == 1",
        "strings.quote('a\\n\"') == '\"a\\\\n\\\\\"\"'",
        "'abc 123'.find('[0-9]+') == '123' && '1 2 3'.findAll('[0-9]', 2) == ['1', '2']",
        "[1, 2, 3].sum() == 6 && [1.5, 2.0].sum() == 3.5 && [2, 1].isSorted() == false",
        "['b', 'a'].sort() == ['a', 'b'] && [[1], [2, [3]]].flatten() == [1, 2, [3]]",
        "[1, 1, 2].distinct() == [1, 2] && [1, 2, 3].slice(1, 2) == [2] && lists.range(3) == [0, 1, 2]",
        "['bb', 'a'].sortBy(x, size(x)) == ['a', 'bb'] && [1, 2].reverse() == [2, 1]",
        "[1, 2].first().value() == 1 && ![].last().hasValue()",
        "[optional.of(1), optional.none()].unwrapOpt() == [1]",
        "optional.ofNonZeroValue('').orValue('x') == 'x'",
    ]);
    fails("'abc'.substring(2, 9) == ''", "index out of range: 9");
    fails(
        "[1].slice(0, 3) == []",
        "cannot slice(0, 3), list is length 1",
    );
    fails("[].max() == 1", "max called on empty list");
}

#[test]
fn macros_may_have_two_variables() {
    holds(&[
        "[5, 6].all(i, v, v == i + 5) && {'a': 1}.exists(k, v, k == 'a' && v == 1)",
        "[5, 6].existsOne(i, v, v == 6)",
        "[1, 2, 3].transformList(i, v, i > 0, v * 2) == [4, 6]",
        "{'a': 1, 'b': 2}.transformMap(k, v, v + 1) == {'a': 2, 'b': 3}",
        "['x', 'y'].transformMapEntry(i, v, {v: i}) == {'x': 0, 'y': 1}",
    ]);
    let twice = "['x', 'x'].transformMapEntry(i, v, {v: i}) == {}";
    fails(twice, "insert failed: key x already exists");
}

#[test]
fn quantities_addresses_urls_and_versions_are_values() {
    holds(&[
        "quantity('1.5Gi').isGreaterThan(quantity('1500Mi')) && isQuantity('10k') && !isQuantity('x')",
        "quantity('50k').add(quantity('20k')) == quantity('70k') && quantity('50k').sub(20).asInteger() == 49980",
        "quantity('200M').compareTo(quantity('0.2G')) == 0 && sign(quantity('-1')) == -1",
        "!quantity('1500m').isInteger() && quantity('2.5').asApproximateFloat() == 2.5",
        "ip('127.0.0.1').isLoopback() && ip('::1').family() == 6 && !isIP('1.2.3') && !isIP('::ffff:1.2.3.4')",
        "ip('10.0.0.1').isGlobalUnicast() && ip('169.254.1.1').isLinkLocalUnicast() && ip('224.0.0.1').isLinkLocalMulticast()",
        "ip.isCanonical('2001:db8::abcd') && !ip.isCanonical('2001:DB8::ABCD') && string(ip('1.2.3.4')) == '1.2.3.4'",
        "cidr('192.168.0.0/24').containsIP('192.168.0.1') && !cidr('192.168.0.0/24').containsIP(ip('192.168.1.1'))",
        "cidr('192.168.0.0/16').containsCIDR('192.168.10.0/24') && !cidr('192.168.0.0/24').containsCIDR(cidr('192.168.0.0/23'))",
        "cidr('192.168.1.7/24').masked() == cidr('192.168.1.0/24') && cidr('::1/128').prefixLength() == 128",
        "isCIDR('10.0.0.0/8') && !isCIDR('10.0.0.0/33') && !isCIDR('10.0.0.0/08') && cidr('10.0.0.0/8').ip() == ip('10.0.0.0')",
        "url('https://user@example.com:80/a%20b?x=1&x=2#f').getHost() == 'example.com:80'",
        "url('https://[::1]:8080/').getHostname() == '::1' && url('https://[::1]:8080/').getPort() == '8080'",
        "url('https://e.com/a b').getEscapedPath() == '/a%20b' && url('/p').getScheme() == ''",
        "url('https://e.com/?k=a&k=b%20c').getQuery() == {'k': ['a', 'b c']} && isURL('/x') && !isURL('x') && !isURL('https://a:b/')",
        "semver('1.2.3').isLessThan(semver('1.10.0')) && semver('1.0.0-alpha.2').compareTo(semver('1.0.0-alpha.10')) == -1",
        "semver('1.2.3-rc.1').isLessThan(semver('1.2.3')) && semver('v01.2', true).minor() == 2 && !isSemver('1.2')",
        "!format.dns1123Label().validate('ok').hasValue() && format.dns1123Label().validate('No!').value().size() == 1",
        "format.named('uuid').value().validate('x').value() == ['does not match the UUID format'] && !format.named('z').hasValue()",
    ]);
    fails(
        "ip('x') == ip('y')",
        "IP Address \"x\" parse error during conversion from string: ParseAddr(\"x\"): unable to parse IP",
    );
    fails(
        "quantity('x') == quantity('y')",
        "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
    );
    fails(
        "semver('1') == semver('2')",
        "No Major.Minor.Patch elements found",
    );
}

#[test]
fn costs_are_upstreams() {
    let cost = |rule: &str| {
        let own = schema::value(
            &json!({"list": [1, 2, 3], "text": "0123456789abc"}),
            &json!({"properties": {"list": {"items": {}}, "text": {}}}),
        );
        let run = Program::parse(rule).unwrap().run(&[("self", own)]);
        run.outcome.unwrap();
        run.cost
    };
    // As `cel-go` v0.26.0 counts them in the environment of Kubernetes 1.36.
    for (rule, expected) in [
        ("true", 0),
        ("self.text == 'x'", 3),
        ("self.list.size() == 3", 4),
        ("has(self.text)", 1),
        ("self.text.startsWith('0')", 4),
        ("self.text.matches('^[0-9a-z]+$')", 8),
        // The list, then for each element: looking at the accumulator twice, the condition's two
        // operands and the operator.
        ("self.list.all(x, x > 0)", 2 + 3 * (3 + 2) + 1),
        ("self.list.exists(x, x > 5)", 2 + 3 * (4 + 2) + 1),
        ("self.list.map(x, x)", 42),
        ("self.list.filter(x, x > 1)", 35),
        ("self.list.map(x, x > 1, x)", 35),
        ("self.list.exists_one(x, x == 1)", 12),
        ("self.list.transformList(i, v, v)", 42),
        ("self.list.transformMap(i, v, v)", 15),
        (
            "['x', 'y'].transformMapEntry(i, v, {v: i}) == {'x': 0, 'y': 1}",
            70,
        ),
        ("self.list.sortBy(x, -x)", 76),
        ("self.list.distinct()", 31),
        ("self.list.flatten()", 16),
        ("lists.range(5)", 16),
        ("[1, 2].reverse()", 13),
        ("self.text in ['a', 'b']", 2),
        // Constants are made when the rule is read.
        ("self.text in []", 0),
        ("self.text in dyn(['a'])", 3),
        ("self.text in [double('NaN')]", 2),
        ("self.text in {'a': 1}", 3),
        ("self.list.size() in [int('3'), 4]", 3),
        ("self.list.all(x, x in [1, 2, 3])", 15),
        ("[int('1'), 2].size() == 2", 2),
        ("[duration('1h')] == [duration('1h')]", 1),
        ("duration('1h') in [duration('1h')]", 1),
        ("b'a' in [b'a', b'b']", 2),
        ("null in [null]", 1),
        ("double('NaN') in [double('NaN')]", 0),
        ("{'a': int('1')}['a'] == 1", 3),
        ("[[1], [2]][0] == [1]", 3),
        ("dyn(2.0) in [1, 2]", 0),
        ("[self.text] == ['a']", 13),
        ("{'a': self.text} == {}", 32),
        ("self.text == 'x' ? 1 : 2", 3),
        ("self.text.split('1')", 5),
        ("self.text.replace('0', '1')", 5),
        ("self.text.contains('abc')", 4),
        ("self.text.find('[0-9]')", 6),
        ("sets.contains(self.list, [1])", 6),
        ("duration('1h') < duration('2h')", 1),
        ("string(self.list[0])", 4),
        ("cidr('10.0.0.0/8').containsIP('10.1.1.1')", 3),
        ("cidr('10.0.0.0/8').containsCIDR('10.1.1.0/24')", 6),
        ("quantity('1').add(quantity('2'))", 3),
        ("format.dns1123Label().validate('abc')", 9),
        ("format.uri().validate('x')", 278),
    ] {
        assert_eq!(cost(rule), expected, "{rule}");
    }
}

#[test]
fn elements_of_constant_lists_are_found_by_value() {
    let many: Vec<String> = (0..40).map(|n| n.to_string()).collect();
    let many = many.join(", ");
    holds(&[
        "2u in [1, 2] && dyn(2.0) in [1, 2] && !(3 in [1, 2])",
        "'b' in ['a', 'b'] && !('c' in ['a', 'b']) && !('a' in [])",
        "!(double('NaN') in [double('NaN')]) && true in [1, true]",
        "!(dyn([1]) in [1, 2]) && [1] in [[1], [2]] && null in [null]",
        &format!("dyn(17.0) in [{many}] && 39u in [{many}] && !(40 in [{many}])"),
        // No number is as large.
        &format!("!(1e300 in [1e299, {many}]) && 1e299 in [1e299, {many}]"),
    ]);
    let why = "type conversion error from 'string' to 'int'";
    fails("1 in [1, int('x')]", why);
}

#[test]
fn constants_are_made_once() {
    let read = |text: &str| parse::parse(text).unwrap().expr;
    let Expr::Constant(list) = read("[1, {'a': duration('1h')}]") else {
        panic!("a constant")
    };
    let run = || {
        let meter = Meter::default();
        let outcome = eval(
            &Expr::Constant(list.clone()),
            &Scope::new(Vec::new(), &meter),
        );
        match outcome {
            Ok(Val::List(made)) => made,
            other => panic!("{other:?}"),
        }
    };
    assert!(std::sync::Arc::ptr_eq(&run(), &run()));
    assert!(matches!(read("self in ['a']"), Expr::Member(..)));
    assert!(matches!(read("self in [self]"), Expr::Binary(..)));
    assert!(matches!(read("[self]"), Expr::List(_)));
}

#[test]
fn a_run_that_was_ended_decides_nothing() {
    let dear = "lists.range(2000000).size() == 1 || true";
    too_dear(dear, json!({}));
    let dear = "[1].all(x, lists.range(2000000).size() == 1) || true";
    too_dear(dear, json!({}));
}

#[test]
fn what_shared_values_hold_is_paid_for() {
    // Little in memory, and a million million elements.
    let large = format!(
        "[1]{}",
        ".map(a, [a, a, a, a, a, a, a, a, a, a])".repeat(12)
    );
    for end in [
        ".flatten(20).size() > 0",
        ".isSorted()",
        ".indexOf([1]) == 2",
        ".all(x, x == x)",
        ".all(x, x in [x])",
        ".all(x, [x, x].distinct().size() == 1)",
        ".all(x, sets.contains([x], [x]))",
        ".all(x, '%s'.format([x]) == '')",
        ".all(x, [[x]] == [[x]])",
        ".all(x, {1: x} == {1: x})",
        ".all(x, optional.of(x) == optional.of(x))",
    ] {
        too_dear(&format!("{large}{end}"), json!({}));
    }
    // To hand them on costs no more than upstream asks for.
    let handed = format!("{large}.all(x, dyn(x).size() == 10 && [x].first().hasValue())");
    holds(&[&handed]);
}

#[test]
fn macros_look_at_one_element_at_a_time() {
    // Were the list copied for every element, this would not end.
    for inner in ["l.exists(y, true)", "l.exists(i, y, true)"] {
        let rule = format!("[self.name.split(',')].all(l, l.all(x, {inner}))");
        let object = json!({"name": "a,".repeat(40_000)});
        assert_eq!(run(&rule, object).outcome, Ok(Val::Bool(true)));
    }
}

#[test]
fn what_a_function_makes_is_paid_for_before_it_is_made() {
    let text = json!({"text": "a".repeat(1_000_000)});
    for rule in [
        "self.text.replace('', self.text).size() > 0",
        "self.text.replace('a', self.text, 900000).size() > 0",
        "self.text.split('').map(x, self.text).join(self.text).size() > 0",
        "self.text.findAll('').all(x, true)",
        "'%s%s'.format([self.text.findAll('', 900).map(x, self.text), 1]).size() > 0",
    ] {
        too_dear(rule, text.clone());
    }
    let texts: Vec<&str> = vec!["abcdefgh"; 5_000];
    let rule = "self.texts.all(x, self.texts.join(self.text).size() > 0)";
    too_dear(rule, json!({"texts": texts, "text": "b".repeat(2_000)}));
}

#[test]
fn expressions_that_data_holds_are_paid_for() {
    let texts: Vec<String> = (0..2_000).map(|i| format!("\\pL{{{i}}}")).collect();
    for rule in [
        "self.texts.all(x, 'a'.matches(x) || true)",
        "self.texts.all(x, matches('a', x) || true)",
        "self.texts.all(x, 'a'.findAll(x, 1).size() >= 0)",
    ] {
        too_dear(rule, json!({"texts": texts}));
    }
    // One that is used often is paid for once, one of the rule never.
    let texts = json!({"texts": vec!["[a-z]+"; 2_000]});
    for rule in [
        "self.texts.all(x, 'a'.matches(x))",
        "self.texts.all(x, 'a'.find('[a-z]+') == 'a')",
        "self.texts.all(x, 'a'.findAll('[a-z]+', size(x)) == ['a'])",
    ] {
        assert_eq!(
            run(rule, texts.clone()).outcome,
            Ok(Val::Bool(true)),
            "{rule}"
        );
    }
}

#[test]
fn the_last_place_is_found_without_trying_all() {
    // Were every place compared, this would not end.
    let rule = "self.name.lastIndexOf(self.name.substring(0, 200000), 200000) == 200000";
    let object = json!({"name": "a".repeat(400_000)});
    assert_eq!(run(rule, object).outcome, Ok(Val::Bool(true)));
    holds(&[
        "'aäaä'.lastIndexOf('ä', 2) == 1 && 'aäaä'.lastIndexOf('äa', 1) == 1",
        "'aaa'.lastIndexOf('aa', 0) == 0 && 'aaa'.lastIndexOf('aa', 2) == 1",
        "'aä'.lastIndexOf('aa', 1) == -1",
    ]);
}

#[test]
fn values_may_not_nest_without_end() {
    let step = format!(".map(a, {}a{})", "[".repeat(100), "]".repeat(100));
    let rule = format!("[1]{}.size() == 1", step.repeat(200));
    fails(&rule, "value nests too deep");
}

#[test]
fn what_is_sorted_is_of_one_type() {
    let why = "list elements must have the same type";
    fails("[dyn(1), dyn(2.0)].sortBy(x, x) == []", why);
    fails("[dyn(1), dyn(2.0)].sort() == []", why);
    holds(&[
        "[2.0, -1.0, 0.0].sort() == [-1.0, 0.0, 2.0] && [2, 1, 3].sortBy(x, -x) == [3, 2, 1]",
        "[1.0, 0.0/0.0, -1.0].sort().size() == 3",
    ]);
}

#[test]
fn keys_of_maps_are_found_by_value() {
    let entries: Vec<String> = (0..20).map(|i| format!("{i}: {i}")).collect();
    let map = format!("{{{}}}", entries.join(", "));
    holds(&[
        &format!("{map}[7] == 7 && {map}[dyn(7u)] == 7 && {map}[dyn(7.0)] == 7"),
        &format!("!(21 in {map}) && 19 in {map} && !(dyn('7') in {map})"),
        "{1: 2, 1: 3} == {1: 3} && {true: 1}[true] == 1",
        &format!("{map} == {map}.transformMap(k, v, v)"),
    ]);
    fails("{[1]: 2}.size() == 1", "unsupported key type: list");
}

#[test]
fn urls_are_what_go_takes_them_for() {
    holds(&[
        "!isURL('http://a b@h/') && !isURL('http://%41/') && isURL('*') && !isURL('http://h/%zz')",
        "url('*').getEscapedPath() == '*' && url('http://%E4%BD%A0/').getHost() == '你'",
        "url('http://h/?a=1&b=2&a=3').getQuery() == {'a': ['1', '3'], 'b': ['2']}",
    ]);
    let said = |url: &str, why: &str| {
        format!("URL parse error during conversion from string: parse \"{url}\": {why}")
    };
    fails(
        "url('http://a b@h/').getHost() == ''",
        &said("http://a b@h/", "net/url: invalid userinfo"),
    );
    fails(
        "url('http://%41/').getHost() == ''",
        &said("http://%41/", "invalid URL escape \"%41\""),
    );
}

#[test]
fn an_address_that_is_none_is_in_no_network() {
    let rule = "cidr('10.0.0.0/8').containsIP('bad')";
    let outcome = run(rule, json!({})).outcome;
    assert_eq!(outcome, Err(EvalError::NoSuchOverload));
    fails(
        "cidr('10.0.0.0/8').containsCIDR('bad')",
        "network address parse error during conversion from string: network address parse error during conversion from string: netip.ParsePrefix(\"bad\"): no '/'",
    );
}

#[test]
fn durations_beyond_all_bounds_are_none() {
    let wait = format!("1h{}h", "9".repeat(400));
    let rule = "duration(self.wait) > duration('1h')";
    let why = run(rule, json!({"wait": wait})).outcome.unwrap_err();
    assert!(why.to_string().contains("type conversion error"), "{why}");
}

#[test]
fn literals_that_cel_go_does_not_read_are_refused() {
    let refused = [
        "'a\nb'",
        r"b'\u00e9'",
        "rb'a'",
        r"'\400'",
        r"'\8'",
        r"'\xg1'",
        r"'\ud800'",
        r"b'\x1'",
        "'a",
    ];
    for text in refused {
        assert!(Program::parse(text).is_err(), "{text}");
    }
    holds(&[
        r"br'\n' == b'\\n' && B'\377' == b'\xFF' && '\101' == 'A'",
        "'''a\nb''' == 'a\\nb'",
    ]);
}
