//! Without the feature `collections` there is nothing to append to.

use std::path::Path;

use crate::against::{Against, AskedInput, KnownClasses};
use crate::corpus::Documents;
use crate::error::DedupError;
use crate::input_digest::DigestKey;
use crate::keep::KeepOrder;
use crate::options::DedupOptions;
use crate::progress::Progress;
use crate::read::Refuses;
use crate::sink::{Begun, Existing, OpenClaim, OutputDir};
use crate::source::{SourceOptions, Sources};

/// Counts of the documents that a run kept; there are none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Appended {}

/// There is none.
pub(crate) enum Append {}

impl Append {
    pub(crate) fn new(
        _: &Against,
        _: &Path,
        _: &[String],
        _: &SourceOptions,
        _: &DedupOptions,
    ) -> Result<Self, DedupError> {
        Err(DedupError::Option(
            "--append: built without collections".to_owned(),
        ))
    }

    pub(crate) fn begin(&self, _: &Path, _: Existing) -> Result<Begun, DedupError> {
        match *self {}
    }

    pub(crate) fn begin_again(&self, _: &Path, _: Existing) -> Result<OutputDir, DedupError> {
        match *self {}
    }

    pub(crate) fn is_same(&self, _: &OpenClaim, _: u128) -> bool {
        match *self {}
    }

    pub(crate) fn ended(&self, _: u128) -> Result<Option<Appended>, DedupError> {
        match *self {}
    }

    pub(crate) fn refuses(&self) -> Box<Refuses<'_>> {
        match *self {}
    }

    pub(crate) fn digest_key(&self) -> DigestKey {
        match *self {}
    }

    pub(crate) fn known(
        &mut self,
        _: &AskedInput<'_>,
        _: &mut KeepOrder,
        _: &dyn Progress,
        _: impl FnOnce() -> Result<KnownClasses, DedupError>,
    ) -> Result<KnownClasses, DedupError> {
        match *self {}
    }

    pub(crate) fn add(
        &mut self,
        _: &Sources,
        _: &Documents,
        _: &dyn Fn(u32) -> bool,
        _: &dyn Progress,
    ) -> Result<Appended, DedupError> {
        match *self {}
    }

    pub(crate) fn conclude(self, _: u128, _: &OutputDir) -> Result<(), DedupError> {
        match self {}
    }
}
