//! YAML bodies. A self review needs no rights, so that anybody can send these.

use crate::attack::{Attack, Request, Sender};

const REVIEW: &str = "/apis/authentication.k8s.io/v1/selfsubjectreviews";

pub(super) fn attacks() -> Vec<Attack> {
    let lines = |n: usize, line: &dyn Fn(usize) -> String| {
        (0..n).map(|i| line(i) + "\n").collect::<String>()
    };
    vec![
        of("plain keys", move |n| lines(n, &|i| format!("k{i}: v"))),
        of("quoted keys", move |n| {
            lines(n, &|i| format!("\"k{i}\": 'v'"))
        }),
        of("keys with values of many lines", move |n| {
            lines(n, &|i| format!("k{i}: |\n  a\n  b"))
        }),
        of("items", move |n| {
            "a:\n".to_owned() + &lines(n, &|i| format!("- {i}"))
        }),
        of("the same key", move |n| lines(n, &|_| "k: v".to_owned())),
        of("comments", move |n| {
            lines(n, &|i| format!("# {i}")) + "a: b\n"
        }),
        of("blank lines", |n| "\n".repeat(16 * n) + "a: b\n"),
        of("spaces", |n| " ".repeat(16 * n) + "a: b\n"),
        of("spaces before values", move |n| {
            lines(n / 16, &|i| format!("k{i}:{}v", " ".repeat(128)))
        }),
        of("documents", move |n| lines(n, &|_| "---\na: b".to_owned())),
        of("a long plain text", |n| {
            format!("a: {}\n", "x ".repeat(8 * n))
        }),
        of("a long quoted text", |n| {
            format!("a: \"{}\"\n", "\\n".repeat(8 * n))
        }),
        of("a folded text", |n| {
            format!("a: >\n{}", "  x\n".repeat(4 * n))
        }),
        of("tags", move |n| lines(n, &|i| format!("k{i}: !!str v"))),
        of("tags of one's own", move |n| {
            lines(n, &|i| format!("k{i}: !mine v"))
        }),
        of("anchors", move |n| lines(n, &|i| format!("k{i}: &a{i} v"))),
        of("anchors and their aliases", move |n| {
            lines(n, &|i| format!("k{i}: &a{i} v\nl{i}: *a{i}"))
        }),
        of("one short anchor and aliases", move |n| {
            "a: &a x\n".to_owned() + &lines(n, &|i| format!("k{i}: *a"))
        }),
        of("one long anchor and aliases", move |n| {
            format!("a: &a {}\n", "x".repeat(16 * n)) + &lines(n, &|i| format!("k{i}: *a"))
        }),
        of("one long list and aliases", move |n| {
            format!("a: &a [{}]\n", "1,".repeat(n)) + &lines(n, &|i| format!("k{i}: *a"))
        }),
        of("aliases of aliases", |n| {
            let more: String = (1..n.ilog2() + 2)
                .map(|i| format!("a{i}: &a{i} [{}]\n", format!("*a{},", i - 1).repeat(9)))
                .collect();
            format!("# {}\na0: &a0 x\n{more}", "x".repeat(n))
        }),
        of("merge keys of many keys", |n| {
            let side = n.isqrt();
            let map: String = (0..side).map(|i| format!("k{i}: v, ")).collect();
            let uses = "- {<<: *a}\n".repeat(side);
            format!("a: &a {{{map}}}\nb:\n{uses}")
        }),
        of("merge keys in one map", |n| {
            let side = n.isqrt();
            let map: String = (0..side).map(|i| format!("k{i}: v, ")).collect();
            format!("a: &a {{{map}}}\nb:\n  <<: [{}]\n", "*a, ".repeat(side))
        }),
        of("nested brackets", |n| {
            format!("a: {}{}\n", "[".repeat(4 * n), "]".repeat(4 * n))
        }),
        of("nested blocks", |n| {
            let depth = (2 * n).isqrt();
            (0..depth)
                .map(|i| format!("{}a:\n", " ".repeat(i)))
                .collect()
        }),
        of("nested items in one line", |n| {
            format!("{}x\n", "- ".repeat(4 * n))
        }),
        of("nested questions", |n| format!("{}x\n", "? ".repeat(4 * n))),
        of("open quotes", |n| format!("a: '{}", "x\n ".repeat(4 * n))),
        of("numbers", move |n| lines(n, &|i| format!("k{i}: {i}.5e3"))),
        of("timestamps", move |n| {
            lines(n, &|i| format!("k{i}: 2026-01-02 03:04:{:02}", i % 60))
        }),
    ]
}

fn of(name: &str, make: impl Fn(usize) -> String + Send + 'static) -> Attack {
    Attack::single(format!("yaml: {name}"), move |n| {
        let review = Request::new("POST", REVIEW).by(Sender::Weak);
        review.body("application/yaml", make(n))
    })
}
