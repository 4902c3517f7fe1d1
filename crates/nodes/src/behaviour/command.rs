//! Commands that are plain enough to be understood: what guides and tests use to let a container take
//! some time, or fail.

use super::Exit;
use k8s_openapi::api::core::v1::Container;
use stowplan_base::Duration;

/// What becomes of a process.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Outcome {
    /// It ends.
    Exits(Exit),
    /// It never ends by itself.
    RunsOn,
}

/// What becomes of a container by its command; `None` if that is not understood.
pub(super) fn outcome(container: &Container) -> Option<Outcome> {
    let command = container.command.as_deref().unwrap_or_default();
    let args = container.args.as_deref().unwrap_or_default();
    match (command.is_empty(), args.is_empty()) {
        (true, true) if is_pause(container) => Some(Outcome::RunsOn),
        (_, true) => of_words(command),
        // Arguments alone are those of an entry point that nobody knows, but most often a shell's.
        _ => of_words(&[command, args].concat()),
    }
}

/// Whether the image is the one that does nothing until it is told to stop.
fn is_pause(container: &Container) -> bool {
    let image = container.image.as_deref().unwrap_or_default();
    let name = base(image.split('@').next().unwrap_or_default());
    name.split(':').next() == Some("pause")
}

/// What becomes of a command with its arguments.
pub(crate) fn of_words(words: &[String]) -> Option<Outcome> {
    let (program, rest) = words.split_first()?;
    let rest: Vec<&str> = rest.iter().map(String::as_str).collect();
    match (base(program), &rest[..]) {
        ("sh" | "bash" | "ash" | "dash", [option, script]) if is_script_option(option) => {
            of_script(script)
        }
        _ => {
            let words: Vec<&str> = words.iter().map(String::as_str).collect();
            of_statement(&words)
        }
    }
}

/// `-c`, `-ec`, `-xec`, …
fn is_script_option(option: &str) -> bool {
    let letters = option.strip_prefix('-').unwrap_or_default();
    letters.ends_with('c') && letters.bytes().all(|letter| letter.is_ascii_lowercase())
}

fn base(program: &str) -> &str {
    program.rsplit('/').next().unwrap_or(program)
}

/// A sequence of plain statements.
fn of_script(script: &str) -> Option<Outcome> {
    let mut total = Exit {
        after: Duration::ZERO,
        code: 0,
    };
    let (statements, is_whole) = statements(script);
    for (statement, is_chained) in statements {
        let words: Vec<&str> = statement.iter().map(String::as_str).collect();
        match of_statement(&words)? {
            Outcome::RunsOn => return Some(Outcome::RunsOn),
            Outcome::Exits(exit) => {
                let nanos = total.after.as_nanos().saturating_add(exit.after.as_nanos());
                total.after = Duration::from_nanos(nanos);
                total.code = exit.code;
            }
        }
        if words.first() == Some(&"exit") || (is_chained && total.code != 0) {
            return Some(Outcome::Exits(total));
        }
    }
    is_whole.then_some(Outcome::Exits(total))
}

/// The words of a statement, and whether the next one is only reached if it succeeds.
type Statement = (Vec<String>, bool);

/// The statements up to the first that has anything beyond plain words, and whether these are all.
fn statements(script: &str) -> (Vec<Statement>, bool) {
    let mut all = Vec::new();
    let is_whole = split(script, &mut all).is_some();
    (all, is_whole)
}

fn split(script: &str, all: &mut Vec<Statement>) -> Option<()> {
    let mut words: Vec<String> = Vec::new();
    let mut word: Option<String> = None;
    let mut letters = script.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '\'' | '"' => {
                let text = word.get_or_insert_default();
                loop {
                    match letters.next()? {
                        end if end == letter => break,
                        '`' if letter == '"' => return None,
                        other => text.push(other),
                    }
                }
            }
            ' ' | '\t' => words.extend(word.take()),
            ';' | '\n' | '&' => {
                let is_chained = letter == '&';
                if is_chained && letters.next_if_eq(&'&').is_none() {
                    return None;
                }
                words.extend(word.take());
                if !words.is_empty() {
                    all.push((std::mem::take(&mut words), is_chained));
                }
            }
            '|' | '<' | '`' | '(' | ')' | '{' | '}' | '\\' => return None,
            other => word.get_or_insert_default().push(other),
        }
    }
    words.extend(word.take());
    if !words.is_empty() {
        all.push((words, false));
    }
    (!all.is_empty()).then_some(())
}

fn of_statement(words: &[&str]) -> Option<Outcome> {
    let (program, rest) = words.split_first()?;
    let exits = |after, code| Some(Outcome::Exits(Exit { after, code }));
    match (base(program), rest) {
        ("sleep", [span]) => match *span {
            "inf" | "infinity" => Some(Outcome::RunsOn),
            span => exits(seconds(span)?, 0),
        },
        ("while", ["true" | ":" | "sleep", ..]) | ("until", ["false"]) => Some(Outcome::RunsOn),
        ("tail", ["-f" | "-F", ..]) | ("pause", []) => Some(Outcome::RunsOn),
        ("exit", []) => exits(Duration::ZERO, 0),
        ("exit", [code]) => exits(Duration::ZERO, code.parse::<i32>().ok()? & 0xff),
        ("true" | ":", _) => exits(Duration::ZERO, 0),
        ("false", _) => exits(Duration::ZERO, 1),
        // Says something, in no time.
        ("echo" | "printf" | "date" | "hostname", _) => exits(Duration::ZERO, 0),
        _ => None,
    }
}

/// `30`, `0.5`, `5m`, `1d`: as coreutils reads it.
fn seconds(span: &str) -> Option<Duration> {
    let (number, unit) = match span.char_indices().last()? {
        (at, 's') => (&span[..at], 1.0),
        (at, 'm') => (&span[..at], 60.0),
        (at, 'h') => (&span[..at], 3_600.0),
        (at, 'd') => (&span[..at], 86_400.0),
        _ => (span, 1.0),
    };
    let number: f64 = number.parse().ok()?;
    let nanos = number * unit * 1e9;
    (nanos >= 0.0).then_some(Duration::from_nanos(nanos as i64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_image_that_does_nothing_runs_on() {
        let container = |image: &str, command: &[&str]| Container {
            image: Some(image.to_owned()),
            command: Some(command.iter().map(|word| (*word).to_owned()).collect()),
            ..Container::default()
        };
        let runs_on = Some(Outcome::RunsOn);
        for image in [
            "pause",
            "registry.k8s.io/pause:3.10",
            "a:5000/pause@sha256:0",
        ] {
            assert_eq!(outcome(&container(image, &[])), runs_on, "{image}");
        }
        assert_eq!(outcome(&container("pausebox", &[])), None);
        assert_ne!(outcome(&container("pause", &["true"])), runs_on);
    }

    #[test]
    fn plain_commands_are_understood_and_others_are_not() {
        let exits = |millis, code| {
            let after = Duration::from_millis(millis);
            Some(Outcome::Exits(Exit { after, code }))
        };
        let rows: [(&[&str], Option<Outcome>); 26] = [
            (&["sleep", "30"], exits(30_000, 0)),
            (&["/bin/sleep", "0.5"], exits(500, 0)),
            (&["sleep", "2m"], exits(120_000, 0)),
            (&["sleep", "infinity"], Some(Outcome::RunsOn)),
            (&["sh", "-c", "sleep 3"], exits(3_000, 0)),
            (&["/bin/bash", "-ec", "exit 42"], exits(0, 42)),
            (
                &["sh", "-c", "echo 'a; b' && sleep 5; exit 3"],
                exits(5_000, 3),
            ),
            (&["sh", "-c", "false && sleep 5"], exits(0, 1)),
            (&["sh", "-c", "false; sleep 5"], exits(5_000, 0)),
            (&["sh", "-c", "echo hi\nsleep 1\n"], exits(1_000, 0)),
            (&["sh", "-c", "exit 1; sleep 5"], exits(0, 1)),
            (&["true"], exits(0, 0)),
            (&["false"], exits(0, 1)),
            (&["/bin/false"], exits(0, 1)),
            (&["exit", "7"], exits(0, 7)),
            (
                &[
                    "sh",
                    "-c",
                    "while true; do date | tee -a log; sleep 1; done",
                ],
                Some(Outcome::RunsOn),
            ),
            (&["tail", "-f", "/dev/null"], Some(Outcome::RunsOn)),
            (&["sh", "-c", "exit 2; ls | wc"], exits(0, 2)),
            (&["sh", "-c", "if true; then exit 0; fi"], None),
            (&["sh", "-c", "sleep 5 & wait"], None),
            (&["sh", "-c", "sleep $N"], None),
            (&["sh", "-c", "ls | wc"], None),
            (&["sh", "-c", "echo 'open"], None),
            (&["sh", "-c", ""], None),
            (&["nginx", "-g", "daemon off;"], None),
            (&[], None),
        ];
        for (words, expected) in rows {
            let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
            assert_eq!(of_words(&words), expected, "{words:?}");
        }
    }
}
