//! Repository chores: `cargo xtask` lists them.

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
        Some("kubernetes") => match kubernetes() {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => {
                eprintln!("no Kubernetes: {error:#}");
                ExitCode::FAILURE
            }
        },
        // What is measured has to be what is shipped.
        Some("adversary") => program("stowplan-adversary", &["--release"], None),
        Some("apicases") => program("stowplan-apicases", &[], None),
        Some(command @ ("e2e" | "specs")) => program("stowplan-e2e", &[], Some(command)),
        // A slow client would be what is measured.
        Some(command @ ("versus" | "footprint" | "scale")) => {
            program("stowplan-e2e", &["--release"], Some(command))
        }
        Some("cluster-file") => match xtask::cluster_file::write(&mut std::io::stdout().lock()) {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => {
                eprintln!("not written: {error}");
                ExitCode::FAILURE
            }
        },
        Some("clients") => match xtask::clients::run() {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => {
                eprintln!("a client failed: {error:#}");
                ExitCode::FAILURE
            }
        },
        Some("kubectl") => kubectl(),
        _ => {
            eprintln!(
                "Usage: cargo xtask COMMAND\n\n  adversary   attacks the API server with requests that grow, and with floods\n  apicases    replays recorded API conversations and compares every answer\n  clients     runs the Python client and client-go against stowplan up\n  cluster-file  prints a large cluster as JSON, to measure stowplan simulate with\n  e2e         runs the scheduler on a real Kubernetes and on stowplan up, and checks\n  footprint   measures the scheduler's memory, start and latency\n  kubectl     runs kubectl commands against a real server and ours, and compares\n  kubernetes  builds the real Kubernetes to compare with; --start runs it\n  scale       measures stowplan up with 5,000 nodes and 50,000 pods, and checks\n  schema      generates the tables of crates/schema with Go from the module proxy\n  specs       runs Kubernetes' own specs of scheduling on a real Kubernetes\n  tidy        checks crate boundaries, licences, duplicate versions and sources\n  versus      measures the scheduler side by side with kube-scheduler"
            );
            ExitCode::from(2)
        }
    }
}

/// Builds the real Kubernetes; with `--start` also runs it until standard input ends, with
/// `--controllers` and `--scheduler` on request, or `--living` for kubelets that report to it.
fn kubernetes() -> anyhow::Result<()> {
    let flags: Vec<String> = std::env::args().skip(2).collect();
    let known = ["--start", "--controllers", "--scheduler", "--living"];
    if let Some(flag) = flags.iter().find(|flag| !known.contains(&flag.as_str())) {
        anyhow::bail!("there is no {flag}");
    }
    let has = |flag: &str| flags.iter().any(|other| other == flag);
    let programs = xtask::kubernetes::build()?;
    if !has("--start") {
        println!("{}", programs.display());
        return Ok(());
    }
    let options = xtask::kubernetes::Options {
        controller_manager: has("--controllers") || has("--living"),
        living: has("--living"),
        scheduler: has("--scheduler") || has("--living"),
        scheduler_config: None,
    };
    let folder = std::env::temp_dir().join(format!("kubernetes-{}", std::process::id()));
    let cluster = xtask::kubernetes::Cluster::start(&programs, &folder, &options)?;
    println!("kubeconfig: {}", cluster.kubeconfig().display());
    std::io::copy(&mut std::io::stdin(), &mut std::io::sink())?;
    drop(cluster);
    Ok(std::fs::remove_dir_all(&folder)?)
}

/// Runs a program that is a crate of its own: chores need not build the server.
fn program(package: &str, how: &[&str], command: Option<&str>) -> ExitCode {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let status = std::process::Command::new(cargo)
        .args(["run", "--quiet", "--package", package])
        .args(how)
        .arg("--")
        .args(command)
        .args(std::env::args_os().skip(2))
        .status();
    match status {
        Ok(status) if status.success() => ExitCode::SUCCESS,
        Ok(_) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("cannot run cargo: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Compares what kubectl prints: `kubectl [--living] [SECTION…] [--kubectl PROGRAM] [--verbose]`.
fn kubectl() -> ExitCode {
    let arguments = xtask::kubectl::Arguments::read(std::env::args().skip(2));
    match arguments.and_then(|arguments| xtask::kubectl::compare(&arguments)) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("kubectl could not be compared: {error:#}");
            ExitCode::from(2)
        }
    }
}
