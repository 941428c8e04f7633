//! The members of the set join of a run on disk.
//!
//! A run may have as many members as texts, so a member takes little memory: the place of its text and its measure, 13
//! bytes. Its item is found by its place among the members.

use twinprint_cluster::JoinRole;

use super::bits::{ItemRoles, Places};
use super::job::StagedJob;
use super::tables::measure_of;
use crate::corpus::item_texts::{ItemTexts, TextTable};
use crate::corpus::shingle_sets::SetCache;
use crate::error::DedupError;
use crate::ids::{Id, IdVec, ItemId};

/// The bytes of a member while it is joined: the place of its text, its measure, its size and its roles.
pub(crate) const MEMBER_BYTES: u64 = 20;

/// The members of the set join, numbered in the order of their items.
pub(super) struct Members<'r> {
    items: Places<'r>,
    texts: TextTable,
}

impl<'r> Members<'r> {
    /// Reads the texts of the items that have a role.
    pub(super) fn load(job: &StagedJob<'_>, roles: &'r ItemRoles) -> Result<Self, DedupError> {
        let items = roles.member_places();
        let mut texts = TextTable::with_capacity(items.count() as usize);
        let mut rows = job.items()?.cursor();
        for (number, item) in (0..).zip(roles.members()) {
            job.check_at(number)?;
            let row = rows.get(item)?;
            texts.push(row.text(), measure_of(row.measure));
        }
        Ok(Self { items, texts })
    }

    /// The memory of the members and of their roles, in bytes.
    pub(super) fn bytes(&self) -> u64 {
        self.items.count() * MEMBER_BYTES
    }

    pub(super) fn is_empty(&self) -> bool {
        self.items.count() == 0
    }

    /// The item of a member.
    pub(super) fn item(&self, member: ItemId) -> u64 {
        let item = self.items.number(member.get().into());
        item.expect("a member is numbered by its place among the members")
    }

    /// The roles of the members.
    pub(super) fn roles(&self, roles: &ItemRoles) -> IdVec<ItemId, JoinRole> {
        let mut of_members = Vec::with_capacity(self.items.count() as usize);
        of_members.extend(roles.members().map(|item| roles.of(item)));
        of_members.into()
    }

    /// The cache of the shingle sets of the members.
    pub(super) fn sets<'t>(&'t self, job: &'t StagedJob<'_>) -> Result<SetCache<'t>, DedupError> {
        job.sets_of(ItemTexts::Table(&self.texts))
    }
}
