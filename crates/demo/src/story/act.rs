//! What can happen.

use std::fmt;

/// What happens.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Act {
    /// A Deployment of the shop gets a new version.
    Release {
        /// Its name.
        app: &'static str,
        /// The minor version.
        version: u32,
    },
    /// A new version whose pods never get ready.
    BadRelease {
        /// Its name.
        app: &'static str,
        /// The minor version.
        version: u32,
    },
    /// The version before is put back.
    RollBack {
        /// Its name.
        app: &'static str,
        /// The minor version that works.
        version: u32,
    },
    /// Jobs are made.
    Queue(Vec<Batch>),
    /// A node dies.
    FailNode(&'static str),
    /// It is back.
    RecoverNode(&'static str),
}

/// A Job to be made.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Batch {
    /// What it does.
    pub kind: Kind,
    /// Its name.
    pub name: String,
    /// How many pods it has.
    pub pods: u32,
    /// How long these run, in seconds.
    pub run_s: u32,
}

/// What a Job does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// Plenty of work that can wait.
    Thumbnails,
    /// What somebody waits for.
    Invoices,
    /// A run on two GPUs.
    Train,
    /// Another one, which comes before those.
    Deadline,
}

impl Kind {
    /// All of them.
    pub const ALL: [Self; 4] = [
        Self::Thumbnails,
        Self::Invoices,
        Self::Train,
        Self::Deadline,
    ];

    /// What names of its Jobs begin with.
    pub fn name(self) -> &'static str {
        match self {
            Self::Thumbnails => "thumbnails",
            Self::Invoices => "invoices",
            Self::Train => "train",
            Self::Deadline => "deadline",
        }
    }

    /// Whose it is.
    pub fn namespace(self) -> &'static str {
        match self {
            Self::Thumbnails | Self::Invoices => "data",
            Self::Train | Self::Deadline => "research",
        }
    }
}

impl fmt::Display for Act {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Release { app, version } => write!(f, "shop/{app} is updated to 1.{version}.0"),
            Self::BadRelease { app, version } => write!(
                f,
                "shop/{app} is updated to 1.{version}.0, which never gets ready"
            ),
            Self::RollBack { app, version } => {
                write!(f, "shop/{app} is rolled back to 1.{version}.0")
            }
            Self::Queue(queue) => tell_queue(queue, f),
            Self::FailNode(node) => write!(f, "{node} fails"),
            Self::RecoverNode(node) => write!(f, "{node} is back"),
        }
    }
}

fn tell_queue(queue: &[Batch], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    for (i, kind) in Kind::ALL.into_iter().enumerate() {
        let of_kind = || queue.iter().filter(|batch| batch.kind == kind);
        let jobs = of_kind().count();
        if jobs == 0 {
            continue;
        }
        if queue[0].kind != Kind::ALL[i] {
            f.write_str(", ")?;
        }
        let pods: u32 = of_kind().map(|batch| batch.pods).sum();
        let plural = |number: u32| if number == 1 { "" } else { "s" };
        write!(
            f,
            "{}/{}: {jobs} Job{} with {pods} pod{}",
            kind.namespace(),
            kind.name(),
            plural(jobs as u32),
            plural(pods)
        )?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn acts_are_told_in_words() {
        let batch = |kind: Kind, pods| Batch {
            kind,
            name: kind.name().to_owned(),
            pods,
            run_s: 1,
        };
        let queue = [
            batch(Kind::Thumbnails, 2),
            batch(Kind::Thumbnails, 3),
            batch(Kind::Invoices, 1),
        ];
        for (act, told) in [
            (
                Act::Queue(queue.to_vec()),
                "data/thumbnails: 2 Jobs with 5 pods, data/invoices: 1 Job with 1 pod",
            ),
            (
                Act::Queue(vec![batch(Kind::Deadline, 1)]),
                "research/deadline: 1 Job with 1 pod",
            ),
            (
                Act::RollBack {
                    app: "search",
                    version: 3,
                },
                "shop/search is rolled back to 1.3.0",
            ),
            (Act::FailNode("node-a-2"), "node-a-2 fails"),
        ] {
            assert_eq!(act.to_string(), told);
        }
    }
}
