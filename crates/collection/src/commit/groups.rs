//! Groups while writes are decided: members come and go, and those whose leader has gone are placed again.
//!
//! **When a leader goes.** A member of the very same text takes its place, the latest of them; nothing changes for the others. Otherwise
//! the group is disbanded, and its members are placed one after the other as if they came in now, the latest first: each joins the leader of
//! highest Jaccard among all there are, or leads a group of its own number. So the number of a group stands for one document, and cannot
//! drift from leader to leader. **When the text of a leader changes**, the new text is placed first, and then the members: so a page that
//! changes a little goes on leading its copies. A member stays in its story. Each placement is a change that the feed tells.
//!
//! **What it costs.** Of each member one text is read. The [`SEARCHING`] latest look for the best of all leaders, as new documents do, and
//! are compared with at most `max_texts`. Each of the others is compared with the few nearest of the leaders that those have found, and joins
//! one or leads: in a crowd a search among all leaders takes milliseconds. Members go chunk by chunk, so that memory does not grow with the group.
//! The latest leads because it will probably stay longest: documents expire, and are fetched
//! again, in the order in which they came. So a crowd of n pages is placed again once while all of them expire or change, and not n
//! times, as it would be if the earliest led. A leader that changes again and again has its members placed each time. What one request deletes leaves together, and what is left is placed once.

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

/// Members looked at when a group needs another canonical document.
const MEMBERS_COMPARED: usize = 1000;
/// Members of one group that search all leaders when they are placed again.
const SEARCHING: usize = 1000;
/// Members whose texts are held at a time.
const AT_A_TIME: usize = 256;

impl<S: Shingles> Commit<'_, '_, S> {
    /// Enters a document into its group, which begins with its leader.
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
        let stands = self.tables.document(group.canonical)?;
        let better = stands_better(
            (record, ordinal),
            (&stands, group.canonical),
            self.settings.canonical,
        );
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

    /// Lets further members of a document's group come to its story.
    pub(super) fn pass_story_on(&mut self, row: &Row) -> Result<(), CollectionError> {
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

    /// Takes a document that has been removed out of its group. Without its leader a group is an orphan.
    pub(super) fn leave_group(&mut self, row: &Row) -> Result<(), CollectionError> {
        let (number, ordinal) = (row.group, row.ordinal);
        self.tables.remove_member(number, ordinal)?;
        let mut group = self.tables.group(number)?;
        group.size = group.size.saturating_sub(1);
        if group.size == 0 {
            self.forget_group(number);
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

    fn forget_group(&mut self, number: u64) {
        self.orphans.remove(&number);
        self.without_canonical.remove(&number);
    }

    /// Gives every group that has lost them a leader and a canonical document, or disbands it.
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

    /// The latest document of a text.
    fn latest_of_text(&self, text: u128) -> Option<&Row> {
        let copies = self.by_text(text).into_iter();
        let latest = copies.filter_map(|mut copies| copies.next_back());
        latest.max_by_key(|row| row.ordinal)
    }

    /// Makes a member the leader in place of one of its text.
    fn inherit(&mut self, heir: Row) -> Result<(), CollectionError> {
        let group = self.tables.group(heir.group)?;
        let leader = heir.ordinal;
        self.tables
            .put_group(heir.group, GroupRecord { leader, ..group })?;
        self.note_placement(&heir, None)?;
        self.replace(Row { leads: true, ..heir })
    }

    /// Takes the members of a group out of it and out of sight, until they are placed again. The latest comes first.
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
        self.forget_group(number);
        self.tables.remove_group(number)?;
        members.reverse();
        Ok(members)
    }

    /// Places members of a disbanded group.
    pub(super) fn place_again(&mut self, members: &[Row]) -> Result<(), CollectionError> {
        let (searching, others) = members.split_at(members.len().min(SEARCHING));
        for members in searching.chunks(AT_A_TIME) {
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
        for members in others.chunks(AT_A_TIME) {
            let found = self.find_near(members, &leaders)?;
            for (row, found) in members.iter().zip(found) {
                let copy = self.copy_of(Asked::stored(row, &self.shingles(), self.settings));
                self.place(row, copy.or(found.best()))?;
            }
        }
        Ok(())
    }

    /// The leaders of the groups that some documents are in, each once.
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

    /// Searches a few leaders for each member.
    fn find_near(&self, members: &[Row], leaders: &[Row]) -> Result<Vec<Found>, CollectionError> {
        let (settings, store) = (self.settings, self.tables.store());
        let shingles = self.shingles();
        let one = |row: &Row| {
            let asked = Asked::stored(row, &shingles, settings);
            store.guard(|| find_nearest(asked, leaders, &shingles, Rule::of(settings)))
        };
        members.par_iter().map(one).collect()
    }

    /// Searches the settled leaders for each member.
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

    /// Places a member of a disbanded group.
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

    /// Writes and tells where a document stands now.
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

    /// Takes a row out of sight; it stays on the disk until another is put in its place.
    fn withdraw(&mut self, ordinal: u64) {
        if self.fresh.remove(ordinal).is_none() {
            self.removed.insert(ordinal);
        }
    }

    /// Puts a changed row in place of the one of its number.
    pub(super) fn replace(&mut self, row: Row) -> Result<(), CollectionError> {
        self.tables.put_row(&row)?;
        self.withdraw(row.ordinal);
        self.fresh.insert(row);
        Ok(())
    }

    /// The likeness of a document that was decided to the leader of its group: a copy of a member is as like it as that member.
    pub(super) fn followed(&self, decided: Match) -> Result<BestMatch, CollectionError> {
        let row = self.row(decided.ordinal).filter(|row| !row.leads);
        let member = match row {
            Some(row) => self.followed_by(row, &self.tables.document(row.ordinal)?)?,
            None => None,
        };
        member.map_or_else(|| self.best(decided), Ok)
    }

    /// The likeness of a member to the leader of its group; none of a leader.
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

    /// Chooses among the first members of a group the one that stands for it.
    pub(super) fn choose_canonical(&mut self, number: u64) -> Result<(), CollectionError> {
        let group = self.tables.group(number)?;
        let compared = match self.settings.canonical {
            CanonicalBy::First => 1,
            _ => MEMBERS_COMPARED,
        };
        let mut best: Option<(u64, DocumentRecord)> = None;
        for member in self.tables.members(number, compared)? {
            let record = self.tables.document(member)?;
            let better = best.as_ref().is_none_or(|(at, stands)| {
                stands_better((&record, member), (stands, *at), self.settings.canonical)
            });
            if better {
                best = Some((member, record));
            }
        }
        let canonical = best.map_or(group.canonical, |(member, _)| member);
        self.tables.put_group(number, GroupRecord { canonical, ..group })
    }
}

/// True if a member stands for its group rather than another; ties go to the earlier.
fn stands_better(
    (a, a_at): (&DocumentRecord, u64),
    (b, b_at): (&DocumentRecord, u64),
    by: CanonicalBy,
) -> bool {
    let earlier = a_at < b_at;
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
