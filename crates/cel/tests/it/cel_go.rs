//! What cel-go says, the implementation that Kubernetes uses: recorded, and live.
//!
//! `cel-go.jsonl` holds expressions and what `tests/cel-go` made of them. With that program
//! (`go build -o /tmp/cel-go .` in its folder) named by `STOWPLAN_CEL_GO`, the table and expressions by
//! chance are compared with it as it runs; `STOWPLAN_RECORD=1` writes the recording anew.

use crate::differential::{Answer, Case, our_answer, variable};
use crate::grammar::Grammar;
use crate::known::{self, OF_CEL_GO};
use crate::table::TABLE;
use std::io::Write;
use std::process::{Command, Stdio};
use stowplan_base::Rng;
use stowplan_cel::Program;

const RECORDED: &str = include_str!("cel-go.jsonl");
/// How cel-go answers what it does not read.
const UNREAD: &str = "unread";

/// An expression of a line that the program printed, and what we and cel-go say; nothing for what cel-go
/// does not read.
fn case(line: &str) -> Option<(String, Answer, Answer)> {
    let (text, theirs): (String, String) = serde_json::from_str(line).expect(line);
    if theirs == UNREAD {
        return None;
    }
    let ours = match Program::parse(&text) {
        // Of an expression that can only fail in a part, cel-go makes no program.
        Ok(program) => match program.fault() {
            Some(why) => Answer::Fails(why),
            None => our_answer(&program),
        },
        Err(why) => Answer::Value(format!("not read: {why}")),
    };
    let theirs = match theirs.strip_prefix("fails: ") {
        Some(why) => Answer::Fails(why.to_owned()),
        None => Answer::Value(theirs),
    };
    Some((text, ours, theirs))
}

/// Cases of the lines that the program prints that do not agree.
fn wrong(lines: &str) -> Vec<String> {
    let mut wrong = Vec::new();
    for line in lines.lines() {
        let Some((text, ours, theirs)) = case(line) else {
            continue;
        };
        let case = Case {
            text: &text,
            ours,
            theirs,
        };
        if !case.agrees() && known::of(OF_CEL_GO, &case).is_none() {
            wrong.push((text.len(), case.to_string()));
        }
    }
    wrong.sort();
    wrong.into_iter().map(|(_, told)| told).collect()
}

#[track_caller]
fn check(lines: &str) {
    let wrong = wrong(lines);
    let (count, of) = (wrong.len(), lines.lines().count());
    let shortest = wrong
        .iter()
        .take(40)
        .cloned()
        .collect::<Vec<_>>()
        .join("\n");
    assert!(wrong.is_empty(), "{count} of {of}:\n{shortest}");
}

#[test]
fn recorded_expressions_come_to_the_same() {
    assert!(RECORDED.lines().count() > TABLE.len());
    check(RECORDED);
}

/// Nothing stays on the list of differences that is none.
#[test]
fn what_is_known_to_differ_does() {
    for known in OF_CEL_GO {
        let line = RECORDED
            .lines()
            .find(|line| case(line).is_some_and(|(text, ..)| text == known.example));
        let (text, ours, theirs) = line.and_then(case).expect(known.example);
        let case = Case {
            text: &text,
            ours,
            theirs,
        };
        let (right, why) = (known.right, known.why);
        assert!(
            !case.agrees() && known.is(&case),
            "{right:?}, {why}:\n{case}"
        );
    }
}

#[test]
fn expressions_come_to_the_same_live() {
    let Some(program) = std::env::var_os("STOWPLAN_CEL_GO") else {
        return;
    };
    let mut rng = Rng::new(variable("STOWPLAN_SEED", 1));
    let mut texts: Vec<String> = TABLE.iter().map(|text| (*text).to_owned()).collect();
    for _ in 0..variable("STOWPLAN_COMPARISONS", 1_000) {
        let depth = 1 + rng.below(4);
        texts.push(Grammar::new(&mut rng).any(depth));
    }
    texts.extend(OF_CEL_GO.iter().map(|known| known.example.to_owned()));
    texts.sort();
    texts.dedup();
    let mut child = Command::new(program)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("cel-go");
    let mut input = child.stdin.take().expect("its input");
    let writer = std::thread::spawn(move || {
        for text in texts {
            let line = serde_json::Value::from(text);
            writeln!(input, "{line}").expect("cel-go reads");
        }
    });
    let output = child.wait_with_output().expect("cel-go ends");
    writer.join().expect("all is written");
    let lines = String::from_utf8(output.stdout).expect("UTF-8");
    if std::env::var_os("STOWPLAN_RECORD").is_some() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/cel-go.jsonl");
        std::fs::write(path, &lines).expect(path);
    }
    check(&lines);
}
