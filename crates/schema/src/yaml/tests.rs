use super::*;

const EXCESSIVE: &str = "yaml: document contains excessive aliasing";

fn error(text: &str) -> String {
    to_json(text.as_bytes()).expect_err("refused")
}

#[test]
fn aliases_may_repeat_few_bytes() {
    let long = "x".repeat(1_000_000);
    let aliases = |count: usize| format!("a: &a {long}\nb: [{}]\n", "*a,".repeat(count));
    assert!(to_json(aliases(20).as_bytes()).is_ok());
    assert_eq!(error(&aliases(200)), EXCESSIVE);
    let block = format!("a: &a |\n  {long}\nb: [{}]\n", "*a,".repeat(4_000));
    assert_eq!(error(&block), EXCESSIVE);
    let nulls = format!(
        "a: &a [{}]\nb: [{}]\n",
        "~,".repeat(1_000),
        "*a,".repeat(10_000)
    );
    assert_eq!(error(&nulls), EXCESSIVE);
}

#[test]
fn what_takes_too_much_memory_is_refused() {
    let maps = "- a: b\n".repeat(200_000);
    let full = "yaml: exceeded max memory of 167772160 bytes";
    assert_eq!(error(&maps), full);
    assert!(to_json("- a: b\n".repeat(157_000).as_bytes()).is_ok());
}

#[test]
fn aliases_may_repeat_few_values() {
    let mut laughs = "a: &a [lol, lol, lol, lol, lol, lol, lol, lol, lol]\n".to_owned();
    for (this, last) in ["b", "c", "d", "e", "f", "g"]
        .iter()
        .zip(["a", "b", "c", "d", "e", "f"])
    {
        let many = vec![format!("*{last}"); 9].join(", ");
        laughs.push_str(&format!("{this}: &{this} [{many}]\n"));
    }
    assert_eq!(error(&laughs), EXCESSIVE);
}

#[test]
fn maps_are_merged_only_so_often() {
    let keys: String = (0..2_000).map(|i| format!("k{i}: 1, ")).collect();
    let text = format!("a: &a {{{keys}}}\nb:\n{}", "  <<: *a\n".repeat(2_000));
    assert_eq!(error(&text), EXCESSIVE);
}

#[test]
fn lines_are_told_of_many_keys() {
    let keys: String = (0..60_000).map(|i| format!("k{i}: v\nk{i}: w\n")).collect();
    let converted = to_json(keys.as_bytes()).expect("YAML");
    let problems = converted.problems.concat();
    assert!(problems.ends_with("line 120000: key \"k59999\" already set in map"));
}

#[test]
fn a_tag_is_looked_for_nearby() {
    let spaces = " ".repeat(500_000);
    let text = format!(
        "a: &a [{spaces}{}]\nb: [{}]\n",
        "1,".repeat(50),
        "*a,".repeat(5_000)
    );
    assert!(to_json(text.as_bytes()).is_ok());
    assert_eq!(to_json(b"a: !!str 1").expect("YAML").json, b"{\"a\":\"1\"}");
}
