//! Queries for groups of duplicates.

use redb::{ReadTransaction, ReadableTable as _};
use serde::{Deserialize, Serialize};

use super::collection::Collection;
use super::database::{GROUPS, GroupRecord, MEMBERS};
use super::document::DocumentRef;
use super::error::CollectionError;
use super::limits::MAX_LIST_ROWS;
use super::seal::unseal;
use super::shared::Shared;

/// The largest number of groups that one call of [`Collection::groups`] reads while it searches for groups of the
/// minimum size.
const MAX_GROUPS_READ: usize = 100 * MAX_LIST_ROWS;

/// A group of duplicates.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Group {
    /// The number of the group.
    pub group_id: u64,
    /// The number of documents in the group.
    pub size: u64,
    /// The document that the other members were verified against.
    pub leader: DocumentRef,
    /// The member that represents the group, chosen by the setting `canonical`.
    pub canonical: DocumentRef,
    /// A page of the members, ascending by document number. Empty in a list of groups.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub members: Vec<DocumentRef>,
    /// The value of `after` that continues this page of members; `None` if no members follow.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_after: Option<u64>,
}

/// A page of the list of groups.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct GroupList {
    /// The groups of this page, ascending by number.
    pub groups: Vec<Group>,
    /// The value of `after` that continues this list; `None` if no groups follow.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_after: Option<u64>,
}

/// Selects a page of the members of a group.
#[derive(Clone, Copy)]
struct MemberRange {
    /// Only members with document numbers above this one are selected.
    after: u64,
    /// The largest number of members to return.
    limit: usize,
}

impl Collection {
    /// Returns at most `limit` groups with numbers above `after` that have at least `min_size` documents. The members
    /// are not included. A call that would have to skip very many smaller groups returns early, possibly with no group.
    /// The caller continues with `next_after`.
    ///
    /// # Errors
    /// [`CollectionError::Damaged`].
    ///
    /// # Examples
    ///
    /// ```
    /// # use twinprint_collection::{Collection, CollectionError, Content, Details, Durability, NewDocument, Settings};
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let dir = tempfile::tempdir()?;
    /// # let collection = Collection::create(&dir.path().join("seen"), Settings::default())?;
    /// # let page = |id: &str, text: &str| NewDocument {
    /// #     id: id.to_owned(),
    /// #     content: Content::Text(text.to_owned()),
    /// #     details: Details::default(),
    /// #     ttl: None,
    /// # };
    /// let pages = vec![page("a", "Rain fell all day"), page("b", "rain fell all day!"), page("c", "Snow is expected")];
    /// collection.add(pages, false, Durability::Synced)?;
    ///
    /// let list = collection.groups(0, 2, 100)?;
    /// assert_eq!(list.groups.len(), 1);
    /// let group = collection.group(list.groups[0].group_id, 0, 100)?;
    /// let members: Vec<&str> = group.members.iter().map(|member| member.id.as_str()).collect();
    /// assert_eq!(members, ["a", "b"]);
    /// # Ok(())
    /// # }
    /// ```
    pub fn groups(&self, after: u64, min_size: u64, limit: usize) -> Result<GroupList, CollectionError> {
        let shared = &*self.shared;
        shared.consistent(|_, transaction| {
            let table = shared.store.table(transaction, GROUPS)?;
            let range = table
                .range(after.saturating_add(1)..)
                .map_err(|error| shared.store.unreadable(error))?;
            let limit = limit.clamp(1, MAX_LIST_ROWS);
            let mut groups = Vec::new();
            let mut next_after = None;
            for (read, entry) in range.enumerate() {
                let (key, value) = entry.map_err(|error| shared.store.unreadable(error))?;
                // This bounds the time of one call. The caller continues with `next_after`.
                if groups.len() == limit || read == MAX_GROUPS_READ {
                    break;
                }
                let number = key.value();
                let record = unseal("groups", &number.to_le_bytes(), value.value())
                    .and_then(GroupRecord::decode)
                    .ok_or_else(|| shared.store.wrong_checksum("groups", number))?;
                next_after = Some(number);
                if record.size >= min_size {
                    groups.push(shared.group(transaction, number, record, None)?);
                }
            }
            let end = table.last().map_err(|error| shared.store.unreadable(error))?;
            let end = end.map(|(key, _)| key.value());
            Ok(GroupList {
                groups,
                next_after: next_after.filter(|&last| Some(last) != end),
            })
        })
    }

    /// Returns a group with at most `limit` of its members, those with document numbers above `after`. The time does
    /// not depend on the size of the group, because only the returned members are read.
    ///
    /// # Errors
    /// [`CollectionError::NoGroup`] if no group has the number, [`CollectionError::Damaged`].
    pub fn group(&self, number: u64, after: u64, limit: usize) -> Result<Group, CollectionError> {
        let shared = &*self.shared;
        shared.consistent(
            |_, transaction| match shared.store.read_group(transaction, number)? {
                Some(record) => {
                    let members = MemberRange {
                        after,
                        limit: limit.clamp(1, MAX_LIST_ROWS),
                    };
                    shared.group(transaction, number, record, Some(members))
                }
                None => Err(CollectionError::NoGroup(number)),
            },
        )
    }
}

impl Shared {
    /// Completes the stored record of a group with ids and URLs. Includes a page of members if `members` selects one.
    fn group(
        &self,
        transaction: &ReadTransaction,
        number: u64,
        record: GroupRecord,
        members: Option<MemberRange>,
    ) -> Result<Group, CollectionError> {
        let (mut numbers, mut next_after) = (Vec::new(), None);
        if let Some(MemberRange { after, limit }) = members {
            let table = self.store.table(transaction, MEMBERS)?;
            let range = table
                .range((number, after.saturating_add(1))..=(number, u64::MAX))
                .map_err(|error| self.store.unreadable(error))?;
            for entry in range.take(limit + 1) {
                let (key, _) = entry.map_err(|error| self.store.unreadable(error))?;
                if numbers.len() == limit {
                    next_after = numbers.last().copied();
                    break;
                }
                numbers.push(key.value().1);
            }
        }
        let members = numbers
            .iter()
            .map(|&number| self.document_ref(transaction, number));
        Ok(Group {
            group_id: number,
            size: record.size,
            leader: self.document_ref(transaction, record.leader)?,
            canonical: self.document_ref(transaction, record.canonical)?,
            members: members.collect::<Result<_, CollectionError>>()?,
            next_after,
        })
    }
}
