//! `all`, `exists`, `map` and their kin: macros that run an expression for every element.
//!
//! Costs are those of what cel-go makes of a macro: looking at the accumulator, and changing it.

use crate::eval::{Outcome, Scope, eval, overload};
use crate::expr::Expr;
use crate::lists::sorted_by;
use crate::meter;
use crate::value::{Entries, Val};

/// The variables and the other arguments of a macro; `None` if the call is none.
pub(crate) fn signature<'a>(name: &str, with: &'a [Expr]) -> Option<(Vec<&'a str>, &'a [Expr])> {
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
    match with {
        [Expr::Name(name), rest @ ..] if one => Some((vec![name], rest)),
        [Expr::Name(first), Expr::Name(second), rest @ ..] if !one => {
            Some((vec![first, second], rest))
        }
        _ => None,
    }
}

/// Runs a macro; `None` if the call is none.
pub(crate) fn run(of: &Expr, name: &str, with: &[Expr], scope: &Scope<'_>) -> Option<Outcome> {
    let (names, rest) = signature(name, with)?;
    let run = || {
        let before = scope.meter.spent();
        let of = eval(of, scope)?;
        if name.starts_with("opt") {
            // Upstream asks whether there is a value, and then for the value of the same expression.
            let again = scope.meter.spent() - before;
            scope.meter.spend(1)?;
            if let Val::Optional(Some(_)) = of {
                scope.meter.spend(again + 1 + u64::from(name == "optMap"))?;
            }
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
        fold.run(name, &of)
    };
    Some(run())
}

/// How many rounds there are.
fn rounds(of: &Val) -> Result<usize, String> {
    match of {
        Val::List(list) => Ok(list.len()),
        Val::Map(entries) => Ok(entries.len()),
        _ => overload(),
    }
}

/// What the variables stand for in a round.
fn round(of: &Val, i: usize, both: bool) -> Result<[Val; 2], String> {
    let (key, value) = match of {
        Val::List(list) => {
            let place = i64::try_from(i).unwrap_or(i64::MAX);
            (Val::Int(place), list.get(i).cloned())
        }
        Val::Map(entries) => match entries.at(i) {
            Some((key, value)) if both => (key.clone(), Some(value.clone())),
            Some((key, _)) => (Val::Null, Some(key.clone())),
            None => (Val::Null, None),
        },
        _ => return overload(),
    };
    let value = value.unwrap_or(Val::Null);
    Ok(match both {
        true => [key, value],
        false => [value, Val::Null],
    })
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
    fn eval(&self, expr: Option<&Expr>, round: &[Val; 2]) -> Outcome {
        let Some(expr) = expr else {
            return overload();
        };
        let names = self.names.iter().copied().zip(round.iter().cloned());
        eval(expr, &self.scope.with(names.collect()))
    }

    fn holds(&self, round: &[Val; 2]) -> Result<bool, String> {
        match self.test {
            None => Ok(true),
            test => match self.eval(test, round)? {
                Val::Bool(b) => Ok(b),
                _ => overload(),
            },
        }
    }

    fn run(&self, name: &str, of: &Val) -> Outcome {
        let count = rounds(of)?;
        let both = self.names.len() == 2;
        let rounds = (0..count).map(|i| round(of, i, both));
        match name {
            "all" => self.decide(rounds, false, 3),
            "exists" => self.decide(rounds, true, 4),
            "exists_one" | "existsOne" => self.one(rounds),
            "transformMap" | "transformMapEntry" => self.to_map(name, rounds),
            "sortBy" => self.sort(rounds),
            _ => self.to_list(name == "filter", rounds),
        }
    }

    fn one(&self, rounds: impl Iterator<Item = Round>) -> Outcome {
        let mut count = 0_usize;
        for round in rounds {
            let holds = self.holds(&round?)?;
            self.scope.meter.spend(2 * u64::from(holds))?;
            count += usize::from(holds);
        }
        self.scope.meter.spend(2)?;
        Ok(Val::Bool(count == 1))
    }

    fn to_map(&self, name: &str, rounds: impl Iterator<Item = Round>) -> Outcome {
        self.scope.meter.spend(1)?;
        let mut entries = Entries::default();
        for round in rounds {
            let round = round?;
            if !self.holds(&round)? {
                continue;
            }
            let made = self.eval(self.make, &round)?;
            let [key, _] = round;
            match (name, made) {
                ("transformMap", made) => {
                    self.scope.meter.spend(3)?;
                    insert(&mut entries, &key, &made)?;
                }
                (_, Val::Map(made)) => {
                    self.scope.meter.spend(2 + made.len() as u64 / 10)?;
                    for (key, value) in made.iter() {
                        insert(&mut entries, key, value)?;
                    }
                }
                _ => return overload(),
            }
        }
        Ok(entries.into())
    }

    fn to_list(&self, filter: bool, rounds: impl Iterator<Item = Round>) -> Outcome {
        self.scope.meter.spend(1)?;
        let mut made = Vec::new();
        for round in rounds {
            let round = round?;
            if self.holds(&round)? {
                made.push(match filter {
                    true => {
                        let [value, _] = round;
                        value
                    }
                    false => self.eval(self.make, &round)?,
                });
                self.scope
                    .meter
                    .spend(meter::LIST + 2 + u64::from(filter))?;
            }
        }
        Ok(made.into())
    }

    /// Looks for an element that decides. What is wrong with others does not matter then.
    fn decide(&self, rounds: impl Iterator<Item = Round>, decides: bool, cost: u64) -> Outcome {
        let mut fault = None;
        let mut rounds = rounds.peekable();
        while let Some(round) = rounds.next() {
            self.scope.meter.spend(cost)?;
            match self.holds(&round?) {
                Ok(b) if b == decides => {
                    // The accumulator is looked at before the next round, and at the end.
                    let next = u64::from(rounds.peek().is_some());
                    self.scope.meter.spend(next * (cost - 1) + 1)?;
                    return Ok(Val::Bool(decides));
                }
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

    fn sort(&self, rounds: impl Iterator<Item = Round>) -> Outcome {
        self.scope.meter.spend(3)?;
        let (mut keys, mut values) = (Vec::new(), Vec::new());
        for round in rounds {
            let round = round?;
            keys.push(self.eval(self.make, &round)?);
            self.scope.meter.spend(meter::LIST + 2)?;
            let [value, _] = round;
            values.push(value);
        }
        self.scope.meter.spend(meter::self_compare(&keys))?;
        sorted_by(keys, values)
    }
}

type Round = Result<[Val; 2], String>;

/// Adds an entry, whose key must be new.
fn insert(entries: &mut Entries, key: &Val, value: &Val) -> Result<(), String> {
    if !key.is_key() {
        return Err(crate::eval::no_key(key));
    }
    match entries.insert(key.clone(), value.clone()) {
        true => Ok(()),
        false => {
            let key = crate::functions::shown(key);
            Err(format!("insert failed: key {key} already exists"))
        }
    }
}
