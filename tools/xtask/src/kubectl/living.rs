//! The same on clusters that live: a real Kubernetes with kube-controller-manager and kube-scheduler,
//! and `stowplan up`. Both have the nodes of `stowplan nodes`, so that what differs is the control
//! plane.
//!
//! Each section has a namespace of its own, so that several run at a time.

use super::known::Known;
use super::script::{self, Outcome, Section, Side, Step};
use super::{Arguments, report};
use crate::kubernetes::{self, Cluster, Options, Process, Stowplan};
use anyhow::{Context, Result, anyhow};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// How many sections run at a time, on each side.
const AT_A_TIME: usize = 4;

/// What the nodes are like.
const NODES: [&str; 6] = [
    "--zones=a,b,c",
    "--cpu=8",
    "--start-after",
    "300ms",
    "--max-pods",
    "110",
];

/// The class that `stowplan up` has by itself.
const STORAGE: &str = r#"
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata:
  name: standard
  annotations: {storageclass.kubernetes.io/is-default-class: "true"}
provisioner: simulated.stowplan.dev
volumeBindingMode: WaitForFirstConsumer
"#;

/// Runs the script on both sides. True if no step differs unexpectedly.
pub(super) fn compare(arguments: &Arguments) -> Result<bool> {
    let home = crate::tidy::workspace().join("e2e/kubectl");
    let mut sections = script::sections(&home.join("living"))?;
    sections.retain(|section| section.is_wanted(&arguments.sections));
    let known = Known::read(&home.join("known-differences-living.txt"))?;
    let programs = kubernetes::build()?;
    let binary = Stowplan::build()?;
    let folder = std::env::temp_dir().join(format!("stowplan-living-{}", std::process::id()));
    let kubectl = match &arguments.kubectl {
        Some(kubectl) => kubectl.clone(),
        None => programs.join("kubectl"),
    };
    let (real, ours) = std::thread::scope(|scope| {
        let real = scope.spawn(|| Real::start(&programs, &binary, &folder.join("real")));
        let ours = [&["--nodes=3"], NODES.as_slice()].concat();
        let ours = Stowplan::start_living(&binary, &folder.join("ours"), &ours);
        (real.join(), ours)
    });
    let real = real.map_err(|_| anyhow!("the real Kubernetes panicked"))??;
    let ours = ours?;
    let run = |name: &str, kubeconfig: PathBuf| Run {
        folder: folder.join(name),
        files: home.join("files"),
        kubectl: kubectl.clone(),
        kubeconfig,
    };
    let expected = run("run-real", real.cluster.kubeconfig());
    let actual = run("run-ours", ours.kubeconfig().to_owned());
    let (expected, actual) = std::thread::scope(|scope| {
        let expected = scope.spawn(|| expected.all(&sections));
        let actual = actual.all(&sections);
        (expected.join(), actual)
    });
    let expected = expected.map_err(|_| anyhow!("the run against the real cluster panicked"))??;
    let actual = actual?;
    drop((real, ours));
    let steps: Vec<&Step> = sections.iter().flat_map(|section| &section.steps).collect();
    let same = report(&steps, &expected, &actual, &known, arguments, &folder)?;
    fs::remove_dir_all(&folder).context("cannot clean up")?;
    Ok(same)
}

/// A real cluster with simulated nodes and storage.
struct Real {
    cluster: Cluster,
    _nodes: Process,
    _storage: Process,
}

impl Real {
    fn start(programs: &Path, binary: &Path, folder: &Path) -> Result<Self> {
        let options = Options {
            controller_manager: true,
            living: true,
            scheduler: true,
            scheduler_config: None,
        };
        let cluster = Cluster::start(programs, folder, &options)?;
        super::repairs::silence(&cluster)?;
        anyhow::ensure!(
            super::repairs::apply(&cluster, &["create"], STORAGE)?,
            "the storage class is refused"
        );
        let stowplan = |arguments: &[&str], log: &str| {
            let mut command = Command::new(binary);
            command.args(arguments);
            command.arg("--kubeconfig").arg(cluster.kubeconfig());
            Process::start(&command, &folder.join(log))
        };
        let nodes = stowplan(
            &[&["nodes", "--count=3"], NODES.as_slice()].concat(),
            "nodes.log",
        )?;
        let provisioner = "--controllers=stowplan-provisioner-controller";
        let storage = stowplan(&["controllers", provisioner], "storage.log")?;
        Ok(Self {
            cluster,
            _nodes: nodes,
            _storage: storage,
        })
    }
}

/// One side, and where it works.
struct Run {
    folder: PathBuf,
    files: PathBuf,
    kubectl: PathBuf,
    kubeconfig: PathBuf,
}

impl Run {
    /// All sections, several at a time, then those that are alone. In their order.
    fn all(&self, sections: &[Section]) -> Result<Vec<Outcome>> {
        self.step(
            &self.side("nodes")?,
            "kubectl wait --for=condition=Ready nodes --all",
        )?;
        let outcomes: Vec<_> = sections.iter().map(|_| Mutex::new(None)).collect();
        let together: Vec<usize> = (0..sections.len())
            .filter(|&i| sections.get(i).is_some_and(|one| !one.is_alone))
            .collect();
        let next = AtomicUsize::new(0);
        let run = |i: usize| {
            if let (Some(section), Some(outcome)) = (sections.get(i), outcomes.get(i))
                && let Ok(mut outcome) = outcome.lock()
            {
                *outcome = Some(self.section(section));
            }
        };
        std::thread::scope(|scope| {
            for _ in 0..AT_A_TIME {
                scope.spawn(|| {
                    while let Some(&i) = together.get(next.fetch_add(1, Ordering::Relaxed)) {
                        run(i);
                    }
                });
            }
        });
        (0..sections.len())
            .filter(|i| !together.contains(i))
            .for_each(run);
        let mut all = Vec::new();
        for outcome in outcomes {
            let outcome = outcome
                .into_inner()
                .map_err(|_| anyhow!("a step panicked"))?;
            all.extend(outcome.context("a section was not run")??);
        }
        Ok(all)
    }

    fn section(&self, section: &Section) -> Result<Vec<Outcome>> {
        let side = self.side(&section.name)?;
        let name = section
            .name
            .trim_start_matches(|c: char| c.is_ascii_digit() || c == '-');
        self.step(
            &side,
            &format!(
                "kubectl create namespace {name}
                kubectl config set-context --current --namespace={name}
                kubectl wait serviceaccount/default --for=create --timeout=30s
                kubectl wait configmap/kube-root-ca.crt --for=create --timeout=30s"
            ),
        )?;
        let outcomes = side.run(&section.steps.iter().collect::<Vec<_>>())?;
        // Nothing is left on the nodes for those that look at them.
        self.step(
            &side,
            &format!("kubectl delete namespace {name} --timeout=80s"),
        )?;
        Ok(outcomes)
    }

    fn side(&self, name: &str) -> Result<Side> {
        let folder = self.folder.join(name);
        let side = Side::new(&folder, &self.files, &self.kubectl, &self.kubeconfig)?;
        Ok(side.living())
    }

    /// What comes before the steps.
    fn step(&self, side: &Side, text: &str) -> Result<()> {
        let step = Step {
            section: String::new(),
            text: text.to_owned(),
        };
        side.run(&[&step])?;
        Ok(())
    }
}
