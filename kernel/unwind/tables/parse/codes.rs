// SPDX-License-Identifier: GPL-2.0

//! Enumerations that user space sees.

/// Defines an enumeration of which each value has a number, a name and a text.
///
/// User space sees the numbers and names: they are ABI. A number or a name never gets another
/// meaning.
macro_rules! codes {
    (
        $(#[doc = $about:literal])+
        pub(crate) enum $Codes:ident;

        $($(#[doc = $doc:literal])+ $value:ident = $code:literal, $name:literal: $text:literal,)+
    ) => {
        $(#[doc = $about])+
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(u8)]
        pub(crate) enum $Codes {
            $($(#[doc = $doc])+ $value = $code,)+
        }

        impl $Codes {
            /// All of them.
            pub(crate) const ALL: &'static [Self] = &[$(Self::$value,)+];

            /// Its name, for programs to read.
            pub(crate) fn name(self) -> &'static core::ffi::CStr {
                match self {
                    $(Self::$value => $name,)+
                }
            }

            /// What is wrong, for people to read.
            pub(crate) fn text(self) -> &'static str {
                match self {
                    $(Self::$value => $text,)+
                }
            }
        }
    };
}

pub(super) use codes;
