//! Which plugins there are, by name.

use super::AnyPlugin;
use super::args::{ArgErrors, ArgNames, ArgValue, Args, FieldPath, Fields};
use std::any::Any;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::rc::Rc;

/// The plugins that a profile can enable. Upstream's `runtime.Registry`.
#[derive(Default)]
pub struct Registry {
    plugins: Vec<(&'static str, Factory)>,
}

/// How a plugin is made.
struct Factory {
    build: Build,
    /// How its arguments are read, if it takes some.
    decode: Option<Decode>,
    #[cfg(test)]
    default: fn() -> Option<TypedArgs>,
}

type Build = Box<dyn Fn(Option<&dyn Any>) -> AnyPlugin>;
type Decode = fn(ArgValue, &FieldPath, &mut ArgErrors, ArgNames<'_>) -> Option<DecodedArgs>;

/// Arguments as their plugin reads them.
pub struct DecodedArgs {
    args: TypedArgs,
    /// The arguments with their defaults.
    pub completed: ArgValue,
}

#[derive(Clone)]
struct TypedArgs {
    value: Rc<dyn Any>,
    debug: Rc<str>,
}

impl TypedArgs {
    fn of<A: Args>(args: A) -> Self {
        Self {
            debug: format!("{args:?}").into(),
            value: Rc::new(args),
        }
    }
}

/// A profile's `pluginConfig`: the arguments of plugins, by the plugins' names. Those that are absent
/// are at their defaults.
#[derive(Clone, Default)]
pub struct PluginArgs(BTreeMap<String, TypedArgs>);

impl PluginArgs {
    /// Gives a plugin its arguments.
    pub fn set<A: Args>(&mut self, plugin: &str, args: A) {
        self.0.insert(plugin.to_owned(), TypedArgs::of(args));
    }

    /// Gives a plugin the arguments that it read.
    pub fn insert(&mut self, plugin: &str, args: DecodedArgs) {
        self.0.insert(plugin.to_owned(), args.args);
    }

    /// The arguments of a plugin, if it has any of this type.
    pub fn get<A: Args>(&self, plugin: &str) -> Option<&A> {
        self.0.get(plugin)?.value.downcast_ref()
    }

    /// The arguments of a plugin, to be changed; at first the default.
    pub fn entry<A: Args>(&mut self, plugin: &str, change: impl FnOnce(&mut A)) {
        let mut args = self.get::<A>(plugin).cloned().unwrap_or_default();
        change(&mut args);
        self.set(plugin, args);
    }
}

impl fmt::Debug for PluginArgs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let entries = self.0.iter().map(|(name, args)| (name, &args.debug));
        f.debug_map().entries(entries).finish()
    }
}

impl Registry {
    /// The registry with one plugin more; a plugin of the same name is replaced.
    ///
    /// A name that is made at run time is kept for as long as the process lives.
    #[must_use]
    pub fn with(
        self,
        name: impl Into<Cow<'static, str>>,
        build: impl Fn() -> AnyPlugin + 'static,
    ) -> Self {
        let factory = Factory {
            build: Box::new(move |_| build()),
            decode: None,
            #[cfg(test)]
            default: || None,
        };
        self.register(name.into(), factory)
    }

    /// The same with a plugin that takes arguments.
    #[must_use]
    pub fn with_args<A: Args>(
        self,
        name: impl Into<Cow<'static, str>>,
        build: impl Fn(A) -> AnyPlugin + 'static,
    ) -> Self {
        let factory = Factory {
            build: Box::new(move |args| {
                let args = args.and_then(|args| args.downcast_ref::<A>());
                build(args.cloned().unwrap_or_default())
            }),
            decode: Some(decode::<A>),
            #[cfg(test)]
            default: || Some(TypedArgs::of(A::default())),
        };
        self.register(name.into(), factory)
    }

    fn register(mut self, name: Cow<'static, str>, factory: Factory) -> Self {
        let name = match name {
            Cow::Borrowed(name) => name,
            Cow::Owned(name) => name.leak(),
        };
        self.plugins.retain(|(known, _)| *known != name);
        self.plugins.push((name, factory));
        self
    }

    /// The names of all plugins.
    pub fn names(&self) -> impl Iterator<Item = &'static str> {
        self.plugins.iter().map(|(name, _)| *name)
    }

    /// Whether there is a plugin of this name that takes arguments.
    pub fn takes_args(&self, plugin: &str) -> bool {
        self.find(plugin)
            .is_some_and(|(_, factory)| factory.decode.is_some())
    }

    /// Reads the arguments of a plugin; `None` if they cannot be read, or it takes none.
    pub fn decode(
        &self,
        plugin: &str,
        value: ArgValue,
        path: &FieldPath,
        errors: &mut ArgErrors,
        names: ArgNames<'_>,
    ) -> Option<DecodedArgs> {
        let (_, factory) = self.find(plugin)?;
        factory.decode?(value, path, errors, names)
    }

    /// A new plugin, if there is one of this name.
    pub fn build(&self, plugin: &str, args: &PluginArgs) -> Option<AnyPlugin> {
        let (name, factory) = self.find(plugin)?;
        let args = args.0.get(plugin).map(|args| &*args.value);
        Some((factory.build)(args).named(name))
    }

    /// The default arguments of a plugin.
    #[cfg(test)]
    pub(crate) fn default_args(&self, plugin: &str) -> PluginArgs {
        let default = self
            .find(plugin)
            .and_then(|(_, factory)| (factory.default)());
        PluginArgs(
            default
                .map(|args| (plugin.to_owned(), args))
                .into_iter()
                .collect(),
        )
    }

    fn find(&self, plugin: &str) -> Option<&(&'static str, Factory)> {
        self.plugins.iter().find(|(known, _)| *known == plugin)
    }
}

fn decode<A: Args>(
    value: ArgValue,
    path: &FieldPath,
    errors: &mut ArgErrors,
    names: ArgNames<'_>,
) -> Option<DecodedArgs> {
    let (args, completed) = Fields::read(value, path, errors, names, A::decode)?;
    let args = TypedArgs::of(args);
    Some(DecodedArgs { args, completed })
}

#[cfg(test)]
mod tests;
