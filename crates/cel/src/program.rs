//! An expression that was read: what it looks at, what it may cost, what it comes to.

use crate::estimate::Names;
use crate::eval::{self, Scope};
use crate::expr::Expr;
use crate::meter::{self, Meter};
use crate::room::roomy;
use crate::value::Val;
use crate::{constants, parse};
use serde_json::Value;
use std::collections::BTreeSet;
use std::sync::{Arc, LazyLock};
use stowplan_apimachinery::kept::Kept;

/// An expression that can be run.
#[derive(Debug)]
pub struct Program {
    pub(crate) expr: Expr,
    /// All names that occur in it.
    pub(crate) names: BTreeSet<String>,
    /// Whether what walks through it needs a larger stack.
    pub(crate) deep: bool,
}

/// What came of running an expression.
#[derive(Debug)]
pub struct Run {
    /// The value, or why there is none.
    pub outcome: Result<Val, EvalError>,
    /// What it cost, in upstream's units.
    pub cost: u64,
}

/// Why an expression has no value.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum EvalError {
    /// It would have cost more than one run may.
    #[error("{}", meter::CANCELLED)]
    CostLimit,
    /// A function or an operator does not know values of these types.
    #[error("{}", eval::NO_OVERLOAD)]
    NoSuchOverload,
    /// Something else, in cel-go's words where it has some.
    #[error("{0}")]
    Other(String),
}

impl EvalError {
    fn of(why: String) -> Self {
        match why.as_str() {
            meter::CANCELLED => Self::CostLimit,
            eval::NO_OVERLOAD => Self::NoSuchOverload,
            _ => Self::Other(why),
        }
    }
}

static KEPT: LazyLock<Kept<Result<Arc<Program>, String>>> = LazyLock::new(Kept::default);

impl Program {
    /// Reads an expression.
    pub fn parse(text: &str) -> Result<Self, String> {
        parse::parse(text)
    }

    /// The expression, read now or earlier in this process.
    pub fn shared(text: &str) -> Result<Arc<Self>, String> {
        /// About what a character of an expression takes up in the tree.
        const BYTES: usize = 128;
        KEPT.get(text, |text| {
            let bytes = text.len().saturating_mul(BYTES);
            Ok::<_, String>((parse::parse(text).map(Arc::new), bytes))
        })?
    }

    /// Whether a name occurs.
    pub fn uses(&self, name: &str) -> bool {
        self.names.contains(name)
    }

    /// What is wrong with a part that fails in every run. Upstream makes no program of such an
    /// expression.
    pub fn fault(&self) -> Option<String> {
        self.walk(constants::hopeless).unwrap_or_else(Some)
    }

    /// The most that a run can cost, given the schemas of its variables. The first one is taken for the
    /// largest of what nothing is known about.
    pub fn cost_max(&self, declared: &[(&str, &Value)]) -> u64 {
        let estimate = self.walk(|expr| Names::new(declared).cost(expr));
        estimate.unwrap_or(u64::MAX)
    }

    /// Runs the expression.
    pub fn run(&self, variables: &[(&str, Val)]) -> Run {
        let ran = self.walk(|expr| {
            let meter = Meter::default();
            let scope = Scope::new(variables.to_vec(), &meter);
            let outcome = eval::eval(expr, &scope);
            (outcome, meter.spent())
        });
        let (outcome, cost) = ran.unwrap_or_else(|why| (Err(why), 0));
        let outcome = outcome.map_err(EvalError::of);
        Run { outcome, cost }
    }

    /// Does something that calls itself for every level of the expression.
    fn walk<T: Send>(&self, work: impl FnOnce(&Expr) -> T + Send) -> Result<T, String> {
        match self.deep {
            false => Ok(work(&self.expr)),
            true => roomy(|| work(&self.expr)),
        }
    }
}
