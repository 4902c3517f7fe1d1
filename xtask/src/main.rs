//! Repository chores: `cargo xtask tidy`, `cargo xtask schema`.

use std::process::ExitCode;

fn main() -> ExitCode {
    match std::env::args().nth(1).as_deref() {
        Some("tidy") => match xtask::tidy::problems() {
            Ok(problems) if problems.is_empty() => {
                println!("tidy");
                ExitCode::SUCCESS
            }
            Ok(problems) => {
                for problem in &problems {
                    eprintln!("{problem}");
                }
                ExitCode::FAILURE
            }
            Err(error) => {
                eprintln!("tidy could not look: {error:#}");
                ExitCode::FAILURE
            }
        },
        Some("schema") => match xtask::schema::generate() {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => {
                eprintln!("the schema table was not written: {error:#}");
                ExitCode::FAILURE
            }
        },
        Some("kubernetes") => match xtask::kubernetes::build() {
            Ok(folder) => {
                println!("{}", folder.display());
                ExitCode::SUCCESS
            }
            Err(error) => {
                eprintln!("Kubernetes was not built: {error:#}");
                ExitCode::FAILURE
            }
        },
        _ => {
            eprintln!(
                "Usage: cargo xtask COMMAND\n\n  kubernetes  builds the real Kubernetes to compare with, and prints its folder\n  schema      generates the tables of crates/schema with Go from the module proxy\n  tidy        checks crate boundaries, licences, duplicate versions and sources"
            );
            ExitCode::from(2)
        }
    }
}
