//! Changes of groups in a batch of writes: members are added and removed, and members that lost their leader are
//! assigned to groups again.
//!
//! **Removal of a leader.** If another member has the same text as the removed leader, the latest such member becomes
//! the leader, and nothing changes for the other members. Otherwise the group is disbanded: its members are placed one
//! after the other as if they were added now, the latest first. Each member joins the leader of highest Jaccard, or
//! leads a new group whose number is the member's own. So a group number always refers to the text of one document and
//! does not drift from leader to leader. **Change of a leader's text.** The document with the new text is placed first,
//! and then the members. So a page that changes a little keeps leading its copies. A member that is placed again stays
//! in its story. Each placement is recorded as a change.
//!
//! **Cost.** One text is read per member. The [`MAX_SEARCHING_MEMBERS`] latest members search all leaders of the
//! collection, as new documents do, and are compared with at most `max_texts` of them. The remaining members are
//! compared only with a few near leaders of the groups that the latest members are in: among very many similar texts, a
//! search of all leaders would take milliseconds per member. Members are placed in chunks, so that memory does not grow
//! with the group.
//!
//! The latest member becomes the leader because it will probably stay longest: documents usually expire, or are fetched
//! again, in the order in which they were added. So while all n pages of a group expire or change, the group is placed
//! again once. If the earliest member became the leader, the group would be placed again n times. If the text of a
//! leader changes often, the members are placed again at each change. If one request deletes several documents, all of
//! them are removed before their members are placed again.

use std::collections::BTreeSet;

use rayon::prelude::*;

use super::Commit;
use crate::database::GroupRecord;
use crate::document::BestMatch;
use crate::error::CollectionError;
use crate::record::{ChangeKind, DocumentRecord};
use crate::row::Row;
use crate::settings::CanonicalBy;
use crate::verify::{Asked, Found, Match, Rule, Shingles, find, find_nearest};

/// The largest number of members from which a new canonical document is chosen when a group has lost its own.
const MAX_COMPARED_MEMBERS: usize = 1000;
/// When a group is disbanded, at most this many of its members search all leaders of the collection for a new group.
const MAX_SEARCHING_MEMBERS: usize = 1000;
/// The number of members of a disbanded group that are searched at a time. It bounds the texts in memory.
const CHUNK_MEMBERS: usize = 256;

impl<S: Shingles> Commit<'_, '_, S> {
    /// Adds a document to the group that its row names. If the document is a leader, the group is created.
    pub(super) fn enter_group(&mut self, row: &Row, record: &DocumentRecord) -> Result<(), CollectionError> {
        let ordinal = row.ordinal;
        self.tables.add_member(row.group, ordinal)?;
        if row.leads {
            let record = GroupRecord {
                leader: ordinal,
                canonical: ordinal,
                size: 1,
                story: row.story,
            };
            return self.tables.put_group(row.group, record);
        }
        let group = self.tables.group(row.group)?;
        let present = self.tables.document(group.canonical)?;
        let new = Candidate {
            number: ordinal,
            record,
        };
        let present = Candidate {
            number: group.canonical,
            record: &present,
        };
        let better = new.is_preferred_to(present, self.settings.canonical);
        let canonical = if better { ordinal } else { group.canonical };
        let size = group.size + 1;
        self.tables.put_group(
            row.group,
            GroupRecord {
                canonical,
                size,
                ..group
            },
        )
    }

    /// Records the story of a document as the story of its group, so that later members of the group join that story.
    pub(super) fn set_group_story(&mut self, row: &Row) -> Result<(), CollectionError> {
        let story = row.story;
        if story == 0 {
            return Ok(());
        }
        let group = self.tables.group(row.group)?;
        if group.story == story {
            return Ok(());
        }
        self.tables.put_group(row.group, GroupRecord { story, ..group })
    }

    /// Removes a document from its group. If the document was the leader, the group is added to
    /// [`orphans`](Self::orphans).
    pub(super) fn leave_group(&mut self, row: &Row) -> Result<(), CollectionError> {
        let (number, ordinal) = (row.group, row.ordinal);
        self.tables.remove_member(number, ordinal)?;
        let mut group = self.tables.group(number)?;
        group.size = group.size.saturating_sub(1);
        if group.size == 0 {
            self.drop_pending_changes(number);
            return self.tables.remove_group(number);
        }
        self.tables.put_group(number, group)?;
        if group.leader == ordinal {
            self.orphans.insert(number, row.text);
        }
        if group.canonical == ordinal {
            self.without_canonical.insert(number);
        }
        Ok(())
    }

    fn drop_pending_changes(&mut self, number: u64) {
        self.orphans.remove(&number);
        self.without_canonical.remove(&number);
    }

    /// Chooses a new canonical document for every group that lost it. Chooses a new leader for every group that lost
    /// it, or disbands the group.
    pub(crate) fn place_orphans(&mut self) -> Result<(), CollectionError> {
        while let Some(number) = self.without_canonical.pop_first() {
            self.choose_canonical(number)?;
        }
        while let Some((number, text)) = self.orphans.pop_first() {
            let heir = self.latest_of_text(text).filter(|row| row.group == number);
            if let Some(heir) = heir.cloned() {
                self.inherit(heir)?;
            } else {
                let members = self.disband(number)?;
                self.place_again(&members)?;
            }
        }
        Ok(())
    }

    /// The latest document whose text has this hash.
    fn latest_of_text(&self, text: u128) -> Option<&Row> {
        let copies = self.by_text(text).into_iter();
        let latest = copies.filter_map(|mut copies| copies.next_back());
        latest.max_by_key(|row| row.ordinal)
    }

    /// Makes the member `heir` the leader of its group. The removed leader had the same text.
    fn inherit(&mut self, heir: Row) -> Result<(), CollectionError> {
        let group = self.tables.group(heir.group)?;
        let leader = heir.ordinal;
        self.tables
            .put_group(heir.group, GroupRecord { leader, ..group })?;
        self.note_placement(&heir, None)?;
        self.replace(Row { leads: true, ..heir })
    }

    /// Removes a group and takes its members out of the search until they are placed again. Returns the members, the
    /// latest first.
    pub(super) fn disband(&mut self, number: u64) -> Result<Vec<Row>, CollectionError> {
        let mut members = Vec::new();
        for ordinal in self.tables.members(number, usize::MAX)? {
            let Some(row) = self.row(ordinal).cloned() else {
                return Err(self.tables.lost(ordinal));
            };
            self.tables.remove_member(number, ordinal)?;
            self.withdraw(ordinal);
            members.push(row);
        }
        self.drop_pending_changes(number);
        self.tables.remove_group(number)?;
        members.reverse();
        Ok(members)
    }

    /// Finds a group for each member of a disbanded group, in the given order.
    pub(super) fn place_again(&mut self, members: &[Row]) -> Result<(), CollectionError> {
        let (searching, others) = members.split_at(members.len().min(MAX_SEARCHING_MEMBERS));
        for members in searching.chunks(CHUNK_MEMBERS) {
            let found = self.find_settled(members)?;
            for (row, found) in members.iter().zip(found) {
                let (decided, _) = {
                    let shingles = self.shingles();
                    self.decide(Asked::stored(row, &shingles, self.settings), &found)?
                };
                self.place(row, decided)?;
            }
        }
        if others.is_empty() {
            return Ok(());
        }
        let leaders = self.leaders_of(searching)?;
        for members in others.chunks(CHUNK_MEMBERS) {
            let found = self.find_near(members, &leaders)?;
            for (row, found) in members.iter().zip(found) {
                let copy = self.copy_of(Asked::stored(row, &self.shingles(), self.settings));
                self.place(row, copy.or(found.best()))?;
            }
        }
        Ok(())
    }

    /// The leaders of the groups that the given documents are in. Each leader is returned once.
    fn leaders_of(&self, documents: &[Row]) -> Result<Vec<Row>, CollectionError> {
        let groups = documents.iter().filter_map(|document| self.row(document.ordinal));
        let groups: BTreeSet<u64> = groups.map(|row| row.group).collect();
        let mut leaders = Vec::with_capacity(groups.len());
        for group in groups {
            let leader = self.tables.group(group)?.leader;
            leaders.extend(self.row(leader).cloned());
        }
        Ok(leaders)
    }

    /// Searches the given leaders, and no others, for duplicates of each member.
    fn find_near(&self, members: &[Row], leaders: &[Row]) -> Result<Vec<Found>, CollectionError> {
        let (settings, store) = (self.settings, self.tables.store());
        let shingles = self.shingles();
        let one = |row: &Row| {
            let asked = Asked::stored(row, &shingles, settings);
            store.guard(|| find_nearest(asked, leaders, &shingles, Rule::of(settings)))
        };
        members.par_iter().map(one).collect()
    }

    /// Searches the leaders of earlier commits, except those that this batch has removed, for duplicates of each
    /// member.
    fn find_settled(&self, members: &[Row]) -> Result<Vec<Found>, CollectionError> {
        let (settings, settled, removed, now) = (self.settings, self.settled, &self.removed, self.now);
        let shingles = self.shingles();
        let there = |row: &Row| !row.is_expired(now) && !removed.contains(&row.ordinal);
        let store = self.tables.store();
        let one = |row: &Row| {
            let asked = Asked::stored(row, &shingles, settings);
            store.guard(|| find(asked, settled, &shingles, Rule::of(settings), there))
        };
        members.par_iter().map(one).collect()
    }

    /// Puts a member of a disbanded group into the group of the matched document, or into a new group if `decided` is
    /// `None`.
    fn place(&mut self, row: &Row, decided: Option<Match>) -> Result<(), CollectionError> {
        let joined = decided.and_then(|decided| self.row(decided.ordinal));
        let group = joined.map(|row| row.group);
        let row = Row {
            group: group.unwrap_or(row.ordinal),
            leads: group.is_none(),
            ..row.clone()
        };
        let best = decided.map(|decided| self.followed(decided)).transpose()?;
        let record = self.note_placement(&row, best)?;
        self.tables.put_row(&row)?;
        self.enter_group(&row, &record)?;
        self.fresh.insert(row);
        Ok(())
    }

    /// Stores the new best match of a document that was placed again, and records the change. Returns the stored
    /// record.
    fn note_placement(
        &mut self,
        row: &Row,
        best: Option<BestMatch>,
    ) -> Result<DocumentRecord, CollectionError> {
        let seq = self.tables.next_number();
        let record = DocumentRecord {
            best,
            seq,
            ..self.tables.document(row.ordinal)?
        };
        self.tables.put_document(row.ordinal, &record)?;
        self.note(seq, ChangeKind::Regrouped, &record.id, row.group)?;
        Ok(record)
    }

    /// Hides the row of a document from searches in this batch. The row on disk stays until it is replaced.
    fn withdraw(&mut self, ordinal: u64) {
        if self.fresh.remove(ordinal).is_none() {
            self.removed.insert(ordinal);
        }
    }

    /// Replaces the row of the document with this number, in the table and in memory.
    pub(super) fn replace(&mut self, row: Row) -> Result<(), CollectionError> {
        self.tables.put_row(&row)?;
        self.withdraw(row.ordinal);
        self.fresh.insert(row);
        Ok(())
    }

    /// The leader of the matched document's group, with the similarity to it. If the matched document is a member, it
    /// is an exact copy, so its stored similarity to the leader is returned.
    pub(super) fn followed(&self, decided: Match) -> Result<BestMatch, CollectionError> {
        let row = self.row(decided.ordinal).filter(|row| !row.leads);
        let member = match row {
            Some(row) => self.followed_by(row, &self.tables.document(row.ordinal)?)?,
            None => None,
        };
        member.map_or_else(|| self.best(decided), Ok)
    }

    /// The leader of a document's group, with the document's stored similarity to it; `None` if the document is a
    /// leader.
    pub(super) fn followed_by(
        &self,
        row: &Row,
        record: &DocumentRecord,
    ) -> Result<Option<BestMatch>, CollectionError> {
        let Some(best) = record.best.clone().filter(|_| !row.leads) else {
            return Ok(None);
        };
        let leader = self.tables.group(row.group)?.leader;
        let id = self.tables.document(leader)?.id;
        Ok(Some(BestMatch { id, ..best }))
    }

    /// Chooses the canonical document of a group among its earliest members, at most `MAX_COMPARED_MEMBERS` of them.
    pub(super) fn choose_canonical(&mut self, number: u64) -> Result<(), CollectionError> {
        let group = self.tables.group(number)?;
        let compared = match self.settings.canonical {
            CanonicalBy::First => 1,
            _ => MAX_COMPARED_MEMBERS,
        };
        let mut best: Option<(u64, DocumentRecord)> = None;
        for member in self.tables.members(number, compared)? {
            let record = self.tables.document(member)?;
            let candidate = Candidate {
                number: member,
                record: &record,
            };
            let better = best.as_ref().is_none_or(|(number, record)| {
                let present = Candidate {
                    number: *number,
                    record,
                };
                candidate.is_preferred_to(present, self.settings.canonical)
            });
            if better {
                best = Some((member, record));
            }
        }
        let canonical = best.map_or(group.canonical, |(member, _)| member);
        self.tables.put_group(number, GroupRecord { canonical, ..group })
    }
}

/// A member of a group that may become the group's canonical document.
#[derive(Clone, Copy)]
struct Candidate<'a> {
    number: u64,
    record: &'a DocumentRecord,
}

impl Candidate<'_> {
    /// True if the rule `by` prefers this member to `other` as the canonical document. In a tie the earlier member is
    /// preferred.
    fn is_preferred_to(self, other: Self, by: CanonicalBy) -> bool {
        let earlier = self.number < other.number;
        let (a, b) = (self.record, other.record);
        let order = match by {
            CanonicalBy::First => return earlier,
            CanonicalBy::Score => {
                let score = |record: &DocumentRecord| record.details.score.unwrap_or(f64::NEG_INFINITY);
                score(a).total_cmp(&score(b))
            }
            CanonicalBy::Newest => a.details.time.cmp(&b.details.time),
            CanonicalBy::ShortestUrl => {
                let length =
                    |record: &DocumentRecord| record.details.url.as_ref().map_or(usize::MAX, String::len);
                length(b).cmp(&length(a))
            }
        };
        order.is_gt() || order.is_eq() && earlier
    }
}
