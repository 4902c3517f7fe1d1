//! `cargo run --release -p stowplan-oracle -- FILE…`: compares recorded decisions with ours.

use anyhow::{Result, bail};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::ExitCode;
use stowplan_engine::fast::Path;
use stowplan_oracle::{BOTH_PATHS, cases, run_case};

const USAGE: &str = "\
Compares recorded decisions of kube-scheduler v1.36.4 with the engine's.

Usage: stowplan-oracle [--case NAME] [--path PATH] FILE...

  FILE         cases, one JSON object per line (.jsonl or .jsonl.zst)
  --case NAME  run this case only and print its differences
  --path PATH  how the engine decides: plain (every attempt looks at every node), fast (from what
               is kept about pods that are alike, first cold, then warm) or both (default)

Prints one line per family and a total; exits with 1 if anything differs.";

/// What the command line asks for.
struct Arguments {
    files: Vec<PathBuf>,
    case: Option<String>,
    paths: Vec<Path>,
}

fn arguments() -> Result<Option<Arguments>> {
    let mut parsed = Arguments {
        files: Vec::new(),
        case: None,
        paths: BOTH_PATHS.to_vec(),
    };
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        match word.as_str() {
            "-h" | "--help" => return Ok(None),
            "--case" => match words.next() {
                Some(name) => parsed.case = Some(name),
                None => bail!("--case needs the NAME of a case"),
            },
            "--path" => parsed.paths = paths(words.next().as_deref())?,
            flag if flag.starts_with('-') => bail!("unknown option {flag}\n\n{USAGE}"),
            file => parsed.files.push(file.into()),
        }
    }
    if parsed.files.is_empty() {
        bail!("no FILE given\n\n{USAGE}");
    }
    Ok(Some(parsed))
}

fn paths(name: Option<&str>) -> Result<Vec<Path>> {
    Ok(match name {
        Some("plain") => vec![Path::Plain],
        Some("fast") => vec![Path::Fast],
        Some("both") => BOTH_PATHS.to_vec(),
        Some(other) => bail!("--path must be plain, fast or both, not {other}"),
        None => bail!("--path needs plain, fast or both"),
    })
}

/// How many cases of a family ran, and how many differed.
#[derive(Default)]
struct Tally {
    cases: usize,
    mismatches: usize,
}

fn main() -> Result<ExitCode> {
    let Some(arguments) = arguments()? else {
        println!("{USAGE}");
        return Ok(ExitCode::SUCCESS);
    };
    let mut families: BTreeMap<String, Tally> = BTreeMap::new();
    for file in &arguments.files {
        for case in cases::read(file)? {
            let case = case?;
            let name = case["name"].as_str().unwrap_or("(no name)");
            if arguments.case.as_ref().is_some_and(|wanted| wanted != name) {
                continue;
            }
            let family = case["family"].as_str().unwrap_or("(no family)");
            let tally = families.entry(family.to_owned()).or_default();
            let differences = run_case(&case, &arguments.paths);
            tally.cases += 1;
            tally.mismatches += usize::from(!differences.is_empty());
            report(name, &differences, arguments.case.is_some());
        }
    }
    let total = families
        .values()
        .fold(Tally::default(), |sum, tally| Tally {
            cases: sum.cases + tally.cases,
            mismatches: sum.mismatches + tally.mismatches,
        });
    for (family, tally) in &families {
        println!(
            "{family} cases={} mismatches={}",
            tally.cases, tally.mismatches
        );
    }
    println!(
        "TOTAL cases={} mismatches={}",
        total.cases, total.mismatches
    );
    if total.cases == 0 {
        bail!("no case was run");
    }
    Ok(if total.mismatches == 0 {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

/// All differences of the case that was asked for, otherwise the first one.
fn report(name: &str, differences: &[String], all: bool) {
    match differences {
        [] if all => eprintln!("{name}: equal"),
        [] => {}
        [first, rest @ ..] if !all => eprintln!("{name}: {first} (and {} more)", rest.len()),
        _ => {
            eprintln!("{name}:");
            for line in differences {
                eprintln!("  {line}");
            }
        }
    }
}
