//! Settings that are a flag and a key of a file at once, each written once.
//!
//! One struct with the derives of clap and of serde would not do: a file has tables where flags have none, a key has to be
//! told what it was meant to be, and neither derive knows which of the two wins. So clap has the flags,
//! [`Fields`](super::fields::Fields) reads the keys, and [`settings`] writes what is between them.

/// A flag, which may have been left out.
pub trait Flag {
    /// What it says.
    type Value;
    /// That, where the flag was given.
    fn given(&self) -> Option<Self::Value>;
}

impl<T: Clone> Flag for Option<T> {
    type Value = T;
    fn given(&self) -> Self {
        self.clone()
    }
}

impl Flag for bool {
    type Value = Self;
    fn given(&self) -> Option<Self> {
        self.then_some(true)
    }
}

/// The flags of a configuration. One with `= table.key => field` is a setting: a key of a file that means the same, and the
/// field of the configuration that both set; `by` names who reads a value that TOML has no type for. Settings that only a
/// file has stand below.
///
/// The flags get `over`, which puts those that were given over a configuration, and the configuration gets `take`, which
/// takes the keys of a file.
macro_rules! settings {
    (
        $(#[$outer:meta])*
        pub struct $flags:ident over $config:ident {
            $($(#[$attribute:meta])* $visible:vis $flag:ident: $kind:ty
                $(= $table:ident.$key:ident $(by $read:expr)? => $($field:ident).+)?,)*
        }
        keys of $file:ident {
            $($only_table:ident.$only_key:ident $(by $only_read:expr)? => $($only_field:ident).+: $only_kind:ty,)*
        }
    ) => {
        $(#[$outer])*
        pub struct $flags {
            $($(#[$attribute])* $visible $flag: $kind,)*
        }

        impl $flags {
            fn over(&self, config: &mut $config) {
                $($(if let Some(value) = $crate::config::settings::Flag::given(&self.$flag) {
                    config.$($field).+ = value.into();
                })?)*
            }
        }

        impl $config {
            pub(super) fn take(&mut self, file: &mut $file) -> anyhow::Result<()> {
                $($(
                    let value: Option<<$kind as $crate::config::settings::Flag>::Value> =
                        settings!(@read file.$table, $key $(, $read)?)?;
                    if let Some(value) = value {
                        self.$($field).+ = value.into();
                    }
                )?)*
                $(
                    let value: Option<$only_kind> =
                        settings!(@read file.$only_table, $only_key $(, $only_read)?)?;
                    if let Some(value) = value {
                        self.$($only_field).+ = value.into();
                    }
                )*
                Ok(())
            }
        }
    };
    (@read $fields:expr, $key:ident) => {
        $fields.optional(stringify!($key))
    };
    (@read $fields:expr, $key:ident, $read:expr) => {
        ($read)(&mut $fields, stringify!($key))
    };
}

pub(super) use settings;
