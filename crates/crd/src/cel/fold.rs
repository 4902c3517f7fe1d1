//! `all`, `exists`, `map` and their kin: macros that run an expression for every element.
//!
//! Costs are those of what cel-go makes of a macro: looking at the accumulator, and changing it.

use super::eval::{Outcome, Scope, eval, overload};
use super::expr::Expr;
use super::meter;
use super::value::Val;

/// Runs a macro; `None` if the call is none.
pub(super) fn run(of: &Expr, name: &str, with: &[Expr], scope: &Scope<'_>) -> Option<Outcome> {
    let one = match (name, with.len()) {
        (
            "all" | "exists" | "exists_one" | "existsOne" | "filter" | "map" | "sortBy" | "optMap"
            | "optFlatMap",
            2,
        )
        | ("map", 3) => true,
        ("all" | "exists" | "existsOne", 3)
        | ("transformList" | "transformMap" | "transformMapEntry", 3 | 4) => false,
        _ => return None,
    };
    let (names, rest): (Vec<&str>, &[Expr]) = match with {
        [Expr::Name(name), rest @ ..] if one => (vec![name], rest),
        [Expr::Name(first), Expr::Name(second), rest @ ..] if !one => (vec![first, second], rest),
        _ => return None,
    };
    let run = || {
        let of = eval(of, scope)?;
        if name.starts_with("opt") {
            return of_optional(&of, name, &names, rest, scope);
        }
        let fold = Fold {
            scope,
            names: &names,
            test: match rest {
                [_] if matches!(name, "map") || name.starts_with("transform") => None,
                rest => rest.first(),
            },
            make: rest.last(),
        };
        let rounds = rounds(&of, names.len() == 2)?;
        fold.run(name, rounds)
    };
    Some(run())
}

/// What the variables stand for, round by round.
fn rounds(of: &Val, both: bool) -> Result<Vec<Vec<Val>>, String> {
    Ok(match (of, both) {
        (Val::List(list), false) => list.iter().map(|v| vec![v.clone()]).collect(),
        (Val::Map(entries), false) => entries.iter().map(|(k, _)| vec![k.clone()]).collect(),
        (Val::List(list), true) => (0..).zip(list.iter()).map(pair).collect(),
        (Val::Map(entries), true) => entries
            .iter()
            .map(|(k, v)| vec![k.clone(), v.clone()])
            .collect(),
        _ => return overload(),
    })
}

fn pair((i, value): (i64, &Val)) -> Vec<Val> {
    vec![Val::Int(i), value.clone()]
}

fn of_optional(of: &Val, name: &str, names: &[&str], rest: &[Expr], scope: &Scope<'_>) -> Outcome {
    match (of, names, rest) {
        (Val::Optional(None), ..) => Ok(Val::Optional(None)),
        (Val::Optional(Some(inner)), [variable], [make]) => {
            let inner = Val::clone(inner);
            let made = eval(make, &scope.with(vec![(variable, inner)]))?;
            Ok(match name {
                "optMap" => Val::optional(Some(made)),
                _ => made,
            })
        }
        _ => overload(),
    }
}

struct Fold<'a> {
    scope: &'a Scope<'a>,
    names: &'a [&'a str],
    /// Which elements count.
    test: Option<&'a Expr>,
    /// What is made of one.
    make: Option<&'a Expr>,
}

impl Fold<'_> {
    fn eval(&self, expr: Option<&Expr>, round: &[Val]) -> Outcome {
        let Some(expr) = expr else {
            return overload();
        };
        let names = self.names.iter().copied().zip(round.iter().cloned());
        eval(expr, &self.scope.with(names.collect()))
    }

    fn holds(&self, round: &[Val]) -> Result<bool, String> {
        match self.test {
            None => Ok(true),
            test => match self.eval(test, round)? {
                Val::Bool(b) => Ok(b),
                _ => overload(),
            },
        }
    }

    fn run(&self, name: &str, rounds: Vec<Vec<Val>>) -> Outcome {
        let spend = |cost| self.scope.meter.spend(cost);
        match name {
            "all" => self.decide(&rounds, false, 3),
            "exists" => self.decide(&rounds, true, 4),
            "exists_one" | "existsOne" => {
                let mut count = 0_usize;
                for round in &rounds {
                    let holds = self.holds(round)?;
                    spend(2 * u64::from(holds))?;
                    count += usize::from(holds);
                }
                spend(2)?;
                Ok(Val::Bool(count == 1))
            }
            "transformMap" | "transformMapEntry" => {
                spend(1)?;
                let mut entries: Vec<(Val, Val)> = Vec::new();
                for round in &rounds {
                    if self.holds(round)? {
                        let made = self.eval(self.make, round)?;
                        spend(2 + u64::from(name == "transformMap"))?;
                        match (name, made, round.first()) {
                            ("transformMap", made, Some(key)) => entries.push((key.clone(), made)),
                            ("transformMapEntry", Val::Map(made), _) => {
                                // Its keys are looked for among all that are there.
                                spend(entries.len() as u64 / 100)?;
                                insert(&mut entries, &made)?
                            }
                            _ => return overload(),
                        }
                    }
                }
                Ok(entries.into())
            }
            "sortBy" => self.sort(rounds),
            _ => {
                spend(1)?;
                let mut made = Vec::new();
                for round in rounds {
                    if self.holds(&round)? {
                        let filter = name == "filter";
                        made.push(match filter {
                            true => round.into_iter().next().unwrap_or(Val::Null),
                            false => self.eval(self.make, &round)?,
                        });
                        spend(meter::LIST + 2 + u64::from(filter))?;
                    }
                }
                Ok(made.into())
            }
        }
    }

    /// Looks for an element that decides. What is wrong with others does not matter then.
    fn decide(&self, rounds: &[Vec<Val>], decides: bool, cost: u64) -> Outcome {
        let mut fault = None;
        for round in rounds {
            self.scope.meter.spend(cost)?;
            match self.holds(round) {
                Ok(b) if b == decides => return Ok(Val::Bool(decides)),
                Ok(_) => {}
                // Nothing is decided by a run that was ended.
                Err(why) if why == meter::CANCELLED => return Err(why),
                Err(why) => fault = fault.or(Some(why)),
            }
        }
        self.scope.meter.spend(1)?;
        match fault {
            Some(why) => Err(why),
            None => Ok(Val::Bool(!decides)),
        }
    }

    fn sort(&self, rounds: Vec<Vec<Val>>) -> Outcome {
        self.scope.meter.spend(4)?;
        let mut keyed = Vec::new();
        for round in rounds {
            let key = self.eval(self.make, &round)?;
            self.scope.meter.spend(meter::LIST + 2)?;
            keyed.push((key, round.into_iter().next().unwrap_or(Val::Null)));
        }
        let comparable = |pair: &[(Val, Val)]| match pair {
            [(a, _), (b, _)] => a.order(b).is_some(),
            _ => true,
        };
        if !keyed.windows(2).all(comparable) {
            return overload();
        }
        keyed.sort_by(|(a, _), (b, _)| a.order(b).unwrap_or(std::cmp::Ordering::Equal));
        let sorted: Vec<Val> = keyed.into_iter().map(|(_, value)| value).collect();
        Ok(sorted.into())
    }
}

/// Adds the entries of a map, whose keys must be new.
fn insert(entries: &mut Vec<(Val, Val)>, made: &super::value::Entries) -> Result<(), String> {
    for (key, value) in made.iter() {
        if entries.iter().any(|(known, _)| known == key) {
            let key = super::functions::shown(key);
            return Err(format!("insert failed: key {key} already exists"));
        }
        entries.push((key.clone(), value.clone()));
    }
    Ok(())
}
