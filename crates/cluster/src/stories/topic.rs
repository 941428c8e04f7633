//! The topic of a story: its most characteristic words, some joined to names, and the title of its most central
//! exemplar.
//!
//! In a story of at least [`MIN_SHARE_MEMBERS`] members, words are scored as in class-based TF-IDF (Grootendorst 2022).
//! The score is the word's damped share of the words of the story, times ln(share in the story / share in all items).
//! The damped share is the square root of the share times the share of members that have the word, so a word that is
//! frequent in two of six hundred members does not characterise the story. In smaller stories shares are too
//! unreliable. There a word is scored by the log-likelihood ratio (Dunning 1993) of the members that have it, compared
//! with all items that have it.
//!
//! A story is compared with all items together, not with the average story. Most stories of a stream have one member;
//! compared with these, every word of a large story would be frequent.
//!
//! A word is eligible only if it occurs in at least two members, if the story has several; on two sites, if the story
//! has several; and more often in the story than elsewhere. Thus neither a single member nor the boilerplate of one site characterises the story.
//! The score of a chosen word is at least an eighth of the best score, and a chosen word is not another form of one
//! chosen before. Words that mostly occur next to each other are joined to a name.

use super::exact::ln;
use super::story::{CentreTerm, Sites, Story};
use super::vocabulary::{Vocabulary, WordRole};

/// Words are scored by shares only in stories with at least this number of members.
const MIN_SHARE_MEMBERS: u32 = 10;
/// The maximum number of words and names of a topic.
const MAX_NAMES: usize = 8;
/// The maximum number of words of a name.
const MAX_NAME_WORDS: usize = 4;
/// A neighbouring word joins a name if it follows or precedes at least this share (numerator, denominator) of the
/// name's occurrences.
const MIN_CONTINUATION: [usize; 2] = [3, 5];
/// A word is chosen only if the best word's score is at most this many times its own score.
const MAX_SCORE_RATIO: f64 = 8.0;
/// Suffixes by which two forms of an English word may differ.
const ENDINGS: [&str; 5] = ["s", "es", "d", "ed", "ing"];

/// A word or a name that characterises a story.
#[derive(Clone, Debug, PartialEq)]
pub struct TopicTerm {
    /// The word, or the words of the name in order.
    pub text: String,
    /// The score of the word, or of the best word of the name. Scores of different topics cannot be compared.
    pub score: f64,
    /// Number of members of the story that have the word.
    pub members: u32,
}

/// The topic of a story: characteristic words and names, and a title.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Topic {
    /// Words and names, by descending score.
    pub terms: Vec<TopicTerm>,
    /// The title of the most central exemplar; empty if no exemplar has a title.
    pub title: String,
}

/// Computes the topic of a story.
pub(super) fn topic(story: &Story, vocabulary: &Vocabulary) -> Topic {
    let score = |term: &CentreTerm| -> Option<(f64, CentreTerm)> {
        let alone = story.members > 1 && term.members < 2;
        let local = story.sites == Sites::Many && term.sites != Sites::Many;
        let score = if story.members < MIN_SHARE_MEMBERS {
            likelihood(story, term, vocabulary)
        } else {
            class_based(story, term, vocabulary)
        };
        (!alone && !local && score > 0.0).then_some((score, *term))
    };
    let mut scored: Vec<(f64, CentreTerm)> = story.centre.iter().filter_map(score).collect();
    scored.sort_unstable_by(|(a, x), (b, y)| {
        let by_weight = y.weighted.weight.total_cmp(&x.weighted.weight);
        b.total_cmp(a)
            .then(by_weight)
            .then(x.weighted.term.cmp(&y.weighted.term))
    });
    let least = scored.first().map_or(0.0, |(score, _)| score / MAX_SCORE_RATIO);
    let mut terms: Vec<TopicTerm> = Vec::new();
    let mut names: Vec<Vec<u32>> = Vec::new();
    for (score, term) in scored {
        if terms.len() == MAX_NAMES || score < least {
            break;
        }
        let form = |&other: &u32| {
            other == term.weighted.term
                || same_word(vocabulary.text(other), vocabulary.text(term.weighted.term))
        };
        if names.iter().flatten().any(form) {
            continue;
        }
        let name = name(story, term.weighted.term, vocabulary);
        let text = spelled(&name, vocabulary);
        // If the words of a term chosen before are all part of this name, the name replaces that term.
        let is_part = |chosen: &Vec<u32>| chosen.iter().all(|word| name.contains(word));
        if let Some(position) = names.iter().position(is_part) {
            if let (Some(chosen), Some(term)) = (names.get_mut(position), terms.get_mut(position)) {
                *chosen = name;
                term.text = text;
            }
            continue;
        }
        names.push(name);
        terms.push(TopicTerm {
            text,
            score,
            members: term.members,
        });
    }
    Topic {
        terms,
        title: story
            .most_central()
            .map_or_else(String::new, |exemplar| exemplar.title.clone().into()),
    }
}

/// The score of a term by class-based TF-IDF; 0 if it is no more frequent in the story than elsewhere.
fn class_based(story: &Story, term: &CentreTerm, vocabulary: &Vocabulary) -> f64 {
    let share = |part: f64, whole: f64| part / whole.max(1.0);
    let here = share(f64::from(term.occurrences), story.words as f64);
    let everywhere = share(
        vocabulary.occurrences_of(term.weighted.term).max(1) as f64,
        vocabulary.occurrences() as f64,
    );
    if here <= everywhere || everywhere <= 0.0 {
        return 0.0;
    }
    let support = share(f64::from(term.members), f64::from(story.members));
    (here * support).sqrt() * ln(here / everywhere)
}

/// The score of a term in a small story: twice its log-likelihood ratio; 0 if it is no more frequent in the story than
/// elsewhere.
fn likelihood(story: &Story, term: &CentreTerm, vocabulary: &Vocabulary) -> f64 {
    let (here, members) = (f64::from(term.members), f64::from(story.members));
    let all = (vocabulary.items() as f64).max(members);
    let with = (vocabulary.items_with(term.weighted.term) as f64).max(here);
    let (elsewhere, others) = (with - here, all - members);
    if here * others <= elsewhere * members {
        return 0.0;
    }
    let log = |k: f64, n: f64, p: f64| {
        let share = |k: f64, p: f64| if k > 0.0 && p > 0.0 { k * ln(p) } else { 0.0 };
        share(k, p) + share(n - k, 1.0 - p)
    };
    let own = log(here, members, here / members) + log(elsewhere, others, elsewhere / others.max(1.0));
    let common = log(here, members, with / all) + log(elsewhere, others, with / all);
    2.0 * (own - common)
}

/// Returns `true` if two English words are forms of the same word.
fn same_word(a: &str, b: &str) -> bool {
    let (short, long) = if a.len() < b.len() { (a, b) } else { (b, a) };
    short.len() >= 3
        && short.is_ascii()
        && long
            .strip_prefix(short)
            .is_some_and(|ending| ENDINGS.contains(&ending))
}

/// Extends a term to a name: adds the words that are mostly next to it in at least two members.
fn name(story: &Story, term: u32, vocabulary: &Vocabulary) -> Vec<u32> {
    let mut name = vec![term];
    while name.len() < MAX_NAME_WORDS {
        let longer = [false, true].into_iter().find_map(|before| {
            let word = neighbor(story, &name, before, vocabulary)?;
            let mut longer = name.clone();
            longer.insert(if before { 0 } else { name.len() }, word);
            Some(longer)
        });
        match longer {
            Some(longer) => name = longer,
            None => break,
        }
    }
    // A single digit at either end belongs to a longer number, not to the name.
    let digit = |&word: &u32| matches!(vocabulary.text(word).as_bytes(), [byte] if byte.is_ascii_digit());
    while name.last().is_some_and(digit) {
        name.pop();
    }
    let leading = name.iter().take_while(|word| digit(word)).count();
    name.split_off(leading)
}

/// The word that is next to most occurrences of a name: before it if `before` is true, otherwise after it. `None` if no
/// word may join the name.
fn neighbor(story: &Story, name: &[u32], before: bool, vocabulary: &Vocabulary) -> Option<u32> {
    // The word next to each occurrence of the name, with the exemplar in which it occurs.
    let mut neighbors: Vec<(u32, usize)> = Vec::new();
    let mut occurrences = 0;
    for (member, exemplar) in story.exemplars.iter().enumerate() {
        for (position, window) in exemplar.opening.windows(name.len()).enumerate() {
            if window != name {
                continue;
            }
            occurrences += 1;
            let next = if before {
                position.checked_sub(1)
            } else {
                Some(position + name.len())
            };
            let word = next.and_then(|next| exemplar.opening.get(next));
            neighbors.extend(word.map(|&word| (word, member)));
        }
    }
    neighbors.sort_unstable();
    let most = neighbors
        .chunk_by(|a, b| a.0 == b.0)
        .max_by_key(|run| run.len())?;
    let &(word, _) = most.first()?;
    let mut members: Vec<usize> = most.iter().map(|&(_, member)| member).collect();
    members.dedup();
    // A word of which more than half of the occurrences are elsewhere is next to the name by chance.
    let openings = story.exemplars.iter().flat_map(|exemplar| &exemplar.opening);
    let everywhere = openings.filter(|&&other| other == word).count();
    let joins = most.len() * MIN_CONTINUATION[1] >= occurrences * MIN_CONTINUATION[0]
        && most.len() * 2 >= everywhere
        && members.len() >= 2;
    (joins && vocabulary.role(word) != WordRole::Stop && !name.contains(&word)).then_some(word)
}

/// The text of a name. Spaces separate the words, except in scripts without spaces.
fn spelled(name: &[u32], vocabulary: &Vocabulary) -> String {
    let mut text = String::new();
    for &word in name {
        let word = vocabulary.text(word);
        let unspaced = |c: Option<char>| c.is_some_and(|c| c >= '\u{2E80}');
        if !(text.is_empty() || unspaced(text.chars().next_back()) && unspaced(word.chars().next())) {
            text.push(' ');
        }
        text.push_str(word);
    }
    text
}
