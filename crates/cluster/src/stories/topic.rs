//! The topic of a story: its most characteristic words, joined to names, and the title of its most central member.
//!
//! In a story of at least [`MIN_SHARE_MEMBERS`] members, a word scores as in class-based TF-IDF (Grootendorst 2022):
//! its damped share of the story's words, times the logarithm of the ratio of its share of the story's words to its
//! share of all words. The damped share is the root of the share times the share of members that have the word, so
//! that a word frequent in two of six hundred members does not name the story. In smaller stories counts are too
//! small for shares, and a word scores by the log-likelihood ratio of the members that have it against all items
//! (Dunning 1993).
//!
//! A story is compared with all stories together, not with the average story: most stories of a stream have one
//! member, and compared with these every word of a large story is frequent.
//!
//! A word must occur in at least two members, on two sites if the story has several, and more often than elsewhere,
//! so that neither one member nor one site's boilerplate names the story. It must score at least an eighth of the
//! best word's score, and must not be another form of a chosen word. Words that are mostly next to each other are
//! joined to a name.

use super::exact::ln;
use super::story::{CentreTerm, Sites, Story};
use super::vocabulary::{Vocabulary, WordRole};

/// The minimum number of members of a story whose words are scored by shares.
const MIN_SHARE_MEMBERS: u32 = 10;
/// The maximum number of names of a topic.
const MAX_NAMES: usize = 8;
/// The maximum number of words of a name.
const MAX_NAME_WORDS: usize = 4;
/// The minimum share of a name's occurrences that continue with the same word, for that word to join the name:
/// numerator and denominator.
const MIN_CONTINUATION: [usize; 2] = [3, 5];
/// The largest ratio of the best word's score to that of a chosen word.
const MAX_SCORE_RATIO: f64 = 8.0;
/// Endings of other forms of an English word.
const ENDINGS: [&str; 5] = ["s", "es", "d", "ed", "ing"];

/// A word or name of a topic.
#[derive(Clone, Debug, PartialEq)]
pub struct TopicTerm {
    /// The word, or the words of the name.
    pub text: String,
    /// Its score; comparable within a topic only.
    pub score: f64,
    /// Members of the story that have the word.
    pub members: u32,
}

/// The topic of a story.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Topic {
    /// Words and names, by falling score of their best word.
    pub terms: Vec<TopicTerm>,
    /// The title of the most central member that is kept; empty without one.
    pub title: String,
}

/// The topic of a story.
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
        // A chosen word that is part of this name is replaced by the name.
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

/// The class-based score; 0 for a word that is no more frequent in the story than elsewhere.
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

/// Twice the log-likelihood ratio; 0 for a word that is no more frequent in the story than elsewhere.
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

/// Returns whether two English words are forms of the same word.
fn same_word(a: &str, b: &str) -> bool {
    let (short, long) = if a.len() < b.len() { (a, b) } else { (b, a) };
    short.len() >= 3
        && short.is_ascii()
        && long
            .strip_prefix(short)
            .is_some_and(|ending| ENDINGS.contains(&ending))
}

/// The name of a term: the term with the words that are mostly next to it, in at least two members.
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
    // A digit at either end is part of a longer number.
    let digit = |&word: &u32| matches!(vocabulary.text(word).as_bytes(), [byte] if byte.is_ascii_digit());
    while name.last().is_some_and(digit) {
        name.pop();
    }
    let leading = name.iter().take_while(|word| digit(word)).count();
    name.split_off(leading)
}

/// The word that is next to most occurrences of a name, before or after it.
fn neighbor(story: &Story, name: &[u32], before: bool, vocabulary: &Vocabulary) -> Option<u32> {
    // Each neighbour, with the member in which it was seen.
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
    // A word that mostly occurs elsewhere is next to the name by chance.
    let openings = story.exemplars.iter().flat_map(|exemplar| &exemplar.opening);
    let everywhere = openings.filter(|&&other| other == word).count();
    let joins = most.len() * MIN_CONTINUATION[1] >= occurrences * MIN_CONTINUATION[0]
        && most.len() * 2 >= everywhere
        && members.len() >= 2;
    (joins && vocabulary.role(word) != WordRole::Stop && !name.contains(&word)).then_some(word)
}

/// The words of a name as text, without spaces between words of scripts that have none.
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
