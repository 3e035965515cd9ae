// SPDX-License-Identifier: GPL-2.0

//! Enumerations that user space sees.

/// Defines an enumeration of which each value has a name and a text.
///
/// User space sees the names: a name never gets another meaning.
macro_rules! codes {
    (
        $(#[doc = $about:literal])+
        pub(crate) enum $Codes:ident;

        $($(#[doc = $doc:literal])+ $value:ident = $name:literal: $text:literal,)+
    ) => {
        $(#[doc = $about])+
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(crate) enum $Codes {
            $($(#[doc = $doc])+ $value,)+
        }

        impl $Codes {
            /// All values.
            pub(crate) const ALL: &'static [Self] = &[$(Self::$value,)+];

            /// Returns the name, for programs to read.
            pub(crate) fn name(self) -> &'static core::ffi::CStr {
                match self {
                    $(Self::$value => $name,)+
                }
            }

            /// Describes the value, for people to read.
            #[allow(dead_code, reason = "tools show it")]
            pub(crate) fn text(self) -> &'static str {
                match self {
                    $(Self::$value => $text,)+
                }
            }
        }
    };
}

pub(super) use codes;
