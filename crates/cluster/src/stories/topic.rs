//! What a story is about: its telling words, joined to names, and the title of its most central member.
//!
//! In a story of [`LARGE`] members or more, a word scores as in class-based TF-IDF (Grootendorst 2022): its share of the story's words, damped,
//! times the logarithm of how much larger that is than its share of all words. The share is damped by the root of the share of members that have
//! the word, so that a word that two of six hundred members dwell on names nothing. Below that, counts are too small for shares, and a word
//! scores by the log-likelihood ratio of the members that have it against all items (Dunning 1993).
//!
//! All stories together are what a story is held against, not the average story: most stories of a stream have one member, and beside these every
//! word of a large one is frequent.
//!
//! A word must be in two members at least, on two sites where the story has as many, and more often than elsewhere: so that neither one member
//! nor one site's boilerplate names the story. It must score an eighth of the most telling one's, and be no other form of a word told. A word that mostly has
//! the same neighbour, and that neighbour this one, is told with it.

use super::exact::ln;
use super::story::{CentreTerm, Sites, Story};
use super::vocabulary::{Vocabulary, WordRole};

/// Members from which on shares of words are worth comparing.
const LARGE: u32 = 10;
/// Names told.
const TOLD: usize = 8;
/// Words in a name at most.
const LONGEST: usize = 4;
/// Of a name's occurrences, how many parts in [`OF`] must go on with the same word.
const MOST: usize = 3;
const OF: usize = 5;
/// A word that scores less than one in so many of the most telling one's is not told.
const FAINT: f64 = 8.0;
/// What an English word ends with in another of its forms.
const ENDINGS: [&str; 5] = ["s", "es", "d", "ed", "ing"];

/// A word or name, and how telling it is.
#[derive(Clone, Debug, PartialEq)]
pub struct TopicTerm {
    /// The words.
    pub text: String,
    /// How telling they are; of use within a topic only.
    pub score: f64,
    /// Members of the story that have the word.
    pub members: u32,
}

/// What a story is about.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Topic {
    /// The most telling first.
    pub terms: Vec<TopicTerm>,
    /// The title of the most central member kept.
    pub title: String,
}

/// The topic of a story.
pub(super) fn topic(story: &Story, vocabulary: &Vocabulary) -> Topic {
    let telling = |term: &CentreTerm| -> Option<(f64, CentreTerm)> {
        let alone = story.members > 1 && term.members < 2;
        let local = story.sites == Sites::Many && term.sites != Sites::Many;
        let score = if story.members < LARGE {
            likelihood(story, term, vocabulary)
        } else {
            class_based(story, term, vocabulary)
        };
        (!alone && !local && score > 0.0).then_some((score, *term))
    };
    let mut scored: Vec<(f64, CentreTerm)> = story.centre.iter().filter_map(telling).collect();
    scored.sort_unstable_by(|(a, x), (b, y)| {
        let by_weight = y.of.weight.total_cmp(&x.of.weight);
        b.total_cmp(a).then(by_weight).then(x.of.term.cmp(&y.of.term))
    });
    let least = scored.first().map_or(0.0, |(score, _)| score / FAINT);
    let mut terms: Vec<TopicTerm> = Vec::new();
    let mut names: Vec<Vec<u32>> = Vec::new();
    for (score, term) in scored {
        if terms.len() == TOLD || score < least {
            break;
        }
        let form = |&other: &u32| {
            other == term.of.term || same_word(vocabulary.text(other), vocabulary.text(term.of.term))
        };
        if names.iter().flatten().any(form) {
            continue;
        }
        let name = name(story, term.of.term, vocabulary);
        let text = spelled(&name, vocabulary);
        // A word told that turns out to be part of a name is told as that.
        let part = |told: &Vec<u32>| told.iter().all(|word| name.contains(word));
        if let Some(at) = names.iter().position(part) {
            if let (Some(told), Some(longer)) = (names.get_mut(at), terms.get_mut(at)) {
                *told = name;
                longer.text = text;
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

/// 0 for a word that is no more frequent here than elsewhere.
fn class_based(story: &Story, term: &CentreTerm, vocabulary: &Vocabulary) -> f64 {
    let share = |part: f64, of: f64| part / of.max(1.0);
    let here = share(f64::from(term.occurrences), story.words as f64);
    let everywhere = share(
        vocabulary.occurrences_of(term.of.term).max(1) as f64,
        vocabulary.occurrences() as f64,
    );
    if here <= everywhere || everywhere <= 0.0 {
        return 0.0;
    }
    let support = share(f64::from(term.members), f64::from(story.members));
    (here * support).sqrt() * ln(here / everywhere)
}

/// Twice the log-likelihood ratio; 0 for a word that is no more frequent here than elsewhere.
fn likelihood(story: &Story, term: &CentreTerm, vocabulary: &Vocabulary) -> f64 {
    let (here, of) = (f64::from(term.members), f64::from(story.members));
    let all = (vocabulary.items() as f64).max(of);
    let with = (vocabulary.items_with(term.of.term) as f64).max(here);
    let (elsewhere, of_elsewhere) = (with - here, all - of);
    if here * of_elsewhere <= elsewhere * of {
        return 0.0;
    }
    let log = |k: f64, n: f64, p: f64| {
        let share = |k: f64, p: f64| if k > 0.0 && p > 0.0 { k * ln(p) } else { 0.0 };
        share(k, p) + share(n - k, 1.0 - p)
    };
    let own = log(here, of, here / of) + log(elsewhere, of_elsewhere, elsewhere / of_elsewhere.max(1.0));
    let common = log(here, of, with / all) + log(elsewhere, of_elsewhere, with / all);
    2.0 * (own - common)
}

/// Whether two English words are forms of one.
fn same_word(a: &str, b: &str) -> bool {
    let (short, long) = if a.len() < b.len() { (a, b) } else { (b, a) };
    short.len() >= 3
        && short.is_ascii()
        && long
            .strip_prefix(short)
            .is_some_and(|ending| ENDINGS.contains(&ending))
}

/// The words around a term that mostly stand there, in at least two members.
fn name(story: &Story, term: u32, vocabulary: &Vocabulary) -> Vec<u32> {
    let mut name = vec![term];
    while name.len() < LONGEST {
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
    // A digit at either end is a piece of some number.
    let digit = |&word: &u32| matches!(vocabulary.text(word).as_bytes(), [byte] if byte.is_ascii_digit());
    while name.last().is_some_and(digit) {
        name.pop();
    }
    let leading = name.iter().take_while(|word| digit(word)).count();
    name.split_off(leading)
}

/// The word that most occurrences of a name have next to them, behind it or before it.
fn neighbor(story: &Story, name: &[u32], before: bool, vocabulary: &Vocabulary) -> Option<u32> {
    // A neighbour, and the member it was seen in.
    let mut neighbors: Vec<(u32, usize)> = Vec::new();
    let mut occurrences = 0;
    for (member, exemplar) in story.exemplars.iter().enumerate() {
        for (at, window) in exemplar.opening.windows(name.len()).enumerate() {
            if window != name {
                continue;
            }
            occurrences += 1;
            let place = if before {
                at.checked_sub(1)
            } else {
                Some(at + name.len())
            };
            let word = place.and_then(|place| exemplar.opening.get(place));
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
    // A word that mostly stands elsewhere was next to it by chance.
    let openings = story.exemplars.iter().flat_map(|exemplar| &exemplar.opening);
    let everywhere = openings.filter(|&&other| other == word).count();
    let stands = most.len() * OF >= occurrences * MOST && most.len() * 2 >= everywhere && members.len() >= 2;
    (stands && vocabulary.role(word) != WordRole::Stop && !name.contains(&word)).then_some(word)
}

/// Words in a row; what is written without spaces stays so.
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
