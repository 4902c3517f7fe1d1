//! The twin: rules multiplied out, as upstream does.

use super::*;
use crate::rule::url_matches;
use stowplan_base::Rng;

fn has(list: &[String], element: &str) -> bool {
    list.iter().any(|e| e == element)
}

/// Whether a held rule has one permission. Upstream: `ruleCovers`.
fn covers(held: &Rule, single: &Single<'_>) -> bool {
    let any = |list: &[String], word: &str| has(list, "*") || has(list, word);
    if !any(&held.verbs, single.verb) {
        return false;
    }
    match single.what {
        What::Url(url) => {
            let mut urls = held.non_resource_urls.iter();
            held.resource_names.is_empty() && urls.any(|pattern| url_matches(pattern, url))
        }
        What::Resource {
            group,
            resource,
            name,
        } => {
            let below = resource.split_once('/').map(|(_, sub)| format!("*/{sub}"));
            let all_names = held.resource_names.is_empty();
            any(&held.api_groups, group)
                && (any(&held.resources, resource)
                    || below.is_some_and(|below| has(&held.resources, &below)))
                && (all_names || name.is_some_and(|name| has(&held.resource_names, name)))
        }
    }
}

fn multiplied_out<'a>(held: &[Rule], wanted: &'a [Rule]) -> Vec<Single<'a>> {
    let mut all = Vec::new();
    for rule in wanted {
        let names = rule.resource_names.iter().map(|name| Some(name.as_str()));
        let mut names: Vec<Option<&str>> = names.collect();
        if names.is_empty() {
            names.push(None);
        }
        for group in &rule.api_groups {
            for resource in &rule.resources {
                for verb in &rule.verbs {
                    all.extend(names.iter().map(|name| Single {
                        what: What::Resource {
                            group,
                            resource,
                            name: *name,
                        },
                        verb,
                    }));
                }
            }
        }
        for url in &rule.non_resource_urls {
            let what = What::Url(url);
            all.extend(rule.verbs.iter().map(|verb| Single { what, verb }));
        }
    }
    all.retain(|single| !held.iter().any(|rule| covers(rule, single)));
    all
}

fn some(rng: &mut Rng, words: &[&str], at_most: usize) -> Vec<String> {
    let count = rng.below(at_most + 1);
    let word = |_| words[rng.below(words.len())].to_owned();
    (0..count).map(word).collect()
}

fn by_chance(rng: &mut Rng, longest: usize) -> Rule {
    // Words mean different things in different lists.
    Rule {
        api_groups: some(rng, &["", "a", "b", "*", "*/s", "x/s"], longest),
        resources: some(
            rng,
            &[
                "p", "q", "p/s", "q/s", "p/s/t", "*/s", "*/s/t", "*", "p/*", "x/s",
            ],
            longest,
        ),
        resource_names: match rng.below(2) {
            0 => Vec::new(),
            _ => some(rng, &["m", "n", "*", "*/s", "x/s"], longest),
        },
        non_resource_urls: match rng.below(3) {
            0 => some(rng, &["/", "/a", "/a/*", "/a/b", "/a*", "*", "/b"], longest),
            _ => Vec::new(),
        },
        verbs: some(rng, &["get", "list", "*", "x/s", "*/s"], longest),
    }
}

fn plenty() -> Budget {
    Budget(limits::ESCALATION_STEPS)
}

#[test]
fn what_is_missing_is_what_multiplying_out_finds() {
    let mut rng = Rng::new(1);
    let (mut nothing, mut something) = (0, 0);
    for _ in 0..20_000 {
        let held_count = rng.below(9);
        let held: Vec<Rule> = (0..held_count).map(|_| by_chance(&mut rng, 4)).collect();
        let wanted_count = 1 + rng.below(3);
        let wanted: Vec<Rule> = (0..wanted_count).map(|_| by_chance(&mut rng, 3)).collect();
        let found = missing(&held, &wanted, &mut plenty()).expect("few");
        assert_eq!(
            found.told,
            multiplied_out(&held, &wanted),
            "{held:?} {wanted:?}"
        );
        assert_eq!(found.untold, 0);
        match found.told.is_empty() {
            true => nothing += 1,
            false => something += 1,
        }
    }
    assert!(
        nothing > 2_000 && something > 2_000,
        "{nothing} {something}"
    );
}

fn numbered(prefix: &str, range: std::ops::Range<usize>) -> Vec<String> {
    range.map(|i| format!("{prefix}{i}")).collect()
}

fn cube(from: usize, to: usize) -> Rule {
    Rule {
        api_groups: numbered("g", from..to),
        resources: numbered("r", from..to),
        verbs: numbered("v", from..to),
        ..Rule::default()
    }
}

/// Steps that it took, and what is missing.
fn steps(held: &[Rule], wanted: &[Rule]) -> (u64, u64) {
    let mut budget = plenty();
    let found = missing(held, wanted, &mut budget).expect("few steps");
    let count = found.told.len() as u64 + found.untold;
    (limits::ESCALATION_STEPS - budget.0, count)
}

#[test]
fn large_rules_are_not_multiplied_out() {
    let wanted = [cube(0, 290)];
    let all = 290_u64.pow(3);
    for (held, left) in [
        (vec![], all),
        (vec![cube(0, 145)], all - 145_u64.pow(3)),
        (vec![cube(0, 290)], 0),
        (
            vec![cube(0, 200), cube(100, 290)],
            all - 200_u64.pow(3) - 190_u64.pow(3) + 100_u64.pow(3),
        ),
        // Each group in a rule of its own.
        (
            (0..290)
                .map(|i| Rule {
                    api_groups: numbered("g", i..i + 1),
                    ..cube(0, 290)
                })
                .collect(),
            0,
        ),
    ] {
        let (steps, count) = steps(&held, &wanted);
        assert_eq!(count, left);
        assert!(steps < 500_000, "{steps}");
    }
}

#[test]
fn what_is_told_is_bounded() {
    let found = |wanted: &[Rule]| {
        let found = missing(&[], wanted, &mut plenty()).expect("few steps");
        (found.told.len(), found.untold)
    };
    let told = limits::MISSING_PERMISSIONS;
    assert_eq!(found(&[cube(0, 290)]), (told, 290_u64.pow(3) - told as u64));
    let long = Rule {
        verbs: vec!["v".repeat(limits::MISSING_PERMISSION_BYTES)],
        ..cube(0, 290)
    };
    assert_eq!(found(&[long]), (1, 290_u64.pow(2) - 1));
    // Elements that repeat are compared once.
    let often = Rule {
        resource_names: vec!["n".to_owned(); 100_000],
        ..cube(0, 3)
    };
    let held = Rule {
        resource_names: vec!["n".to_owned()],
        ..cube(0, 3)
    };
    assert_eq!(steps(&[held], &[often]).1, 0);
}

#[test]
fn who_cannot_be_compared_is_refused() {
    let mut rng = Rng::new(7);
    let mut half = |list: Vec<String>| -> Vec<String> {
        list.into_iter().filter(|_| rng.below(2) == 0).collect()
    };
    let held: Vec<Rule> = (0..30)
        .map(|_| Rule {
            api_groups: half(numbered("g", 0..290)),
            resources: half(numbered("r", 0..290)),
            verbs: half(numbered("v", 0..290)),
            ..Rule::default()
        })
        .collect();
    let wanted = [cube(0, 290)];
    assert_eq!(missing(&held, &wanted, &mut plenty()), Err(TooMany));
    // Many rules against many.
    let single = |i: usize| cube(i, i + 1);
    let many: Vec<Rule> = (0..6_000).map(single).collect();
    assert_eq!(missing(&many, &many, &mut plenty()), Err(TooMany));
    let urls = Rule {
        non_resource_urls: numbered("/", 0..20_000),
        verbs: vec!["get".to_owned()],
        ..Rule::default()
    };
    let (held, wanted) = ([urls.clone()], [urls]);
    assert_eq!(missing(&held, &wanted, &mut plenty()), Err(TooMany));
}
