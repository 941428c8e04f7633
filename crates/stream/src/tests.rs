use std::collections::BTreeMap;
use std::fs;

use twinprint_text::Measure;
use twinprint_text::overlap::{Shingler, overlap};

use super::history::{PastRuns, claim};
use super::state_file::StateFile;
use super::*;
use twinprint_io::sink::OpenClaim;

/// A pseudorandom generator, which depends on the seed only.
struct Draw(u64);

impl Draw {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % n
    }

    fn text(&mut self, words: u64) -> String {
        let word = |draw: &mut Self| {
            let subject = draw.below(3) * 1000;
            format!("w{}", subject + draw.below(20) * draw.below(20))
        };
        (0..words).map(|_| word(self) + " ").collect()
    }

    /// Texts of several lengths, many of them copies of earlier ones with a few words changed.
    fn stream(&mut self, n: usize) -> Vec<String> {
        let mut texts: Vec<String> = Vec::new();
        for _ in 0..n {
            let fresh = texts.is_empty() || self.below(3) == 0;
            let length = [0, 1, 8, 30, 90, 200][self.below(6) as usize];
            let text = if fresh {
                self.text(length)
            } else {
                let of = self.below(texts.len() as u64) as usize;
                let mut words: Vec<String> = texts[of].split(' ').map(str::to_owned).collect();
                for _ in 0..self.below(4) {
                    let at = self.below(words.len() as u64) as usize;
                    words[at] = format!("x{}", self.below(50));
                }
                words.join(" ")
            };
            texts.push(text);
        }
        texts
    }
}

fn options() -> StreamOptions {
    StreamOptions::new().expect("the defaults")
}

fn add(stream: &mut Stream, text: &str, time: Option<i64>) -> Assigned {
    stream.add(&Document {
        name: "n",
        text,
        time,
        ..Document::default()
    })
}

#[test]
fn every_member_is_a_duplicate_of_its_leader_in_any_order() {
    let mut draw = Draw(1);
    for seed in 2..5 {
        let texts = Draw(seed).stream(300);
        let mut order: Vec<usize> = (0..texts.len()).collect();
        for i in (1..order.len()).rev() {
            order.swap(i, draw.below(i as u64 + 1) as usize);
        }
        let mut stream = Stream::new(options());
        let mut shingler = Shingler::new(HashKey::PUBLIC);
        let mut set = |text: &str| {
            let canonical = twinprint_text::canonical(text);
            shingler.shingle(&canonical, Measure::WordGrams)
        };
        let mut duplicates = 0;
        for (number, &text) in order.iter().enumerate() {
            let assigned = add(&mut stream, &texts[text], None);
            assert_eq!(assigned.document, number as u64);
            let leader = order[assigned.leader as usize];
            let jaccard = overlap(&set(&texts[text]), &set(&texts[leader])).jaccard();
            assert!(jaccard >= 0.8, "{jaccard}");
            assert!((jaccard - assigned.similarity.jaccard).abs() < 1e-9);
            duplicates += usize::from(!assigned.is_new());
        }
        assert!(duplicates > 60, "{duplicates} duplicates");
        assert_eq!(
            stream.groups().map(|group| group.size).sum::<u64>(),
            texts.len() as u64
        );
        assert_eq!(
            stream.stories().map(|story| story.size).sum::<u64>(),
            texts.len() as u64
        );
    }
}

#[test]
fn nearly_all_duplicate_pairs_are_in_one_group() {
    let texts = Draw(9).stream(400);
    let mut stream = Stream::new(options());
    let mut shingler = Shingler::new(HashKey::PUBLIC);
    let sets: Vec<Vec<u64>> = texts
        .iter()
        .map(|text| shingler.shingle(&twinprint_text::canonical(text), Measure::WordGrams))
        .collect();
    let placed: Vec<Assigned> = texts.iter().map(|text| add(&mut stream, text, None)).collect();
    let (mut pairs, mut together) = (0u32, 0u32);
    for a in 0..texts.len() {
        for b in 0..a {
            // Texts without words are not duplicates.
            if !sets[a].is_empty() && overlap(&sets[a], &sets[b]).jaccard() >= 0.8 {
                pairs += 1;
                together += u32::from(stream.group(placed[a].group) == stream.group(placed[b].group));
            }
        }
    }
    assert!(pairs > 500, "{pairs} pairs");
    assert!(
        f64::from(together) >= 0.97 * f64::from(pairs),
        "{together} of {pairs}"
    );
}

/// The public state of a stream, as text.
fn public_state(stream: &Stream, placed: &[Assigned]) -> Vec<String> {
    let placed = placed
        .iter()
        .map(|a| format!("{a:?} {} {}", stream.group(a.group), stream.story(a.story)));
    let stories = stream
        .stories()
        .map(|story| format!("{story:?} {:?}", stream.topic(story)));
    let groups = stream.groups().map(|group| format!("{group:?}"));
    placed.chain(stories).chain(groups).collect()
}

#[test]
fn a_stream_continues_from_its_stored_state() {
    let texts = Draw(3).stream(400);
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("state");
    let mut options = options();
    options.stories.window = Some(150);
    options.stories.half_life = Some(40);
    options.groups.window = Some(300);
    let run = |cut: Option<usize>| {
        let mut stream = Stream::new(options.clone());
        let mut placed = Vec::new();
        for (i, text) in texts.iter().enumerate() {
            if cut == Some(i) {
                stream.save(&path).expect("a place to write");
                stream = Stream::load(&path, options.clone()).expect("what was written");
            }
            placed.push(add(&mut stream, text, Some(i as i64)));
        }
        public_state(&stream, &placed)
    };
    let uninterrupted = run(None);
    for cut in [1, 170, 399] {
        assert_eq!(run(Some(cut)), uninterrupted);
    }
}

#[test]
fn a_state_of_an_older_version_has_no_runs() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("state");
    fs::write(&path, include_bytes!("../testdata/stream-state-2")).expect("a place to write");
    let mut stream = Stream::load(&path, StreamOptions::new().expect("options")).expect("a state");
    assert_eq!((stream.documents(), &stream.past), (3, &PastRuns::default()));
    // Its thresholds are those of its version, which did not estimate them.
    let thresholds = stream.story_thresholds();
    assert_eq!((thresholds.join, thresholds.merge), (0.3, Some(0.65)));
    for (number, text) in Draw(5).stream(200).iter().enumerate() {
        add(&mut stream, text, None);
        assert_eq!(stream.story_thresholds(), thresholds, "document {number}");
    }
    let claim = claim(7, &path, 3);
    let open = OpenClaim { claim, digest: 9 };
    assert!(!stream.past.contain(&open));
    let summary = ClusterSummary {
        documents: 5,
        ..ClusterSummary::default()
    };
    stream.past.push(open.claim.run, open.digest, &summary);
    stream.save(&path).expect("a place to write");
    let stream = Stream::load(&path, stream.options().clone()).expect("what was written");
    assert!(stream.past.contain(&open));
    assert_eq!(stream.past.summary(&open), Some(&summary));
    let other = OpenClaim { digest: 8, ..open };
    assert!(!stream.past.contain(&other) && stream.past.summary(&other).is_none());
}

#[test]
fn a_damaged_state_or_one_with_other_options_is_refused() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("state");
    let mut stream = Stream::new(options());
    for text in Draw(4).stream(40) {
        add(&mut stream, &text, None);
    }
    stream.save(&path).expect("a place to write");
    let good = fs::read(&path).expect("the state");
    let mut other = options();
    other.threshold = 0.9;
    assert!(matches!(
        Stream::load(&path, other),
        Err(StateError::Options { .. })
    ));
    for at in (0..36).chain((36..good.len()).step_by(97)) {
        let mut bad = good.clone();
        bad[at] ^= 0x41;
        fs::write(&path, &bad).expect("a place to write");
        let error = Stream::load(&path, options()).expect_err("a damaged state");
        assert!(error.to_string().contains("state"), "{error}");
        fs::write(&path, &good[..at]).expect("a place to write");
        Stream::load(&path, options()).expect_err("half a state");
    }
    fs::write(&path, &good).expect("a place to write");
    assert_eq!(Stream::load(&path, options()).expect("the state").documents(), 40);
}

#[test]
fn near_equal_pages_of_a_site_are_one_group_with_few_comparisons() {
    let template = Draw(5).text(300);
    let mut stream = Stream::new(options());
    let placed: Vec<Assigned> = (0..3000)
        .map(|page| {
            add(
                &mut stream,
                &format!("{template} page {page} of {}", page % 7),
                None,
            )
        })
        .collect();
    assert!(placed.iter().all(|a| stream.group(a.group) == 0));
    let (groups, stories) = stream.counts();
    assert!(groups.verified < 3000 * 3, "{groups:?}");
    assert_eq!((stories.begun, stream.stories().len()), (1, 1));
}

#[test]
fn texts_with_few_features_need_few_comparisons() {
    let mut stream = Stream::new(options());
    let mut groups = BTreeMap::new();
    let mut alone = 0;
    for i in 0..2000 {
        let text = match i % 4 {
            0 => String::new(),
            1 => "spam ".repeat(1 + i % 50),
            2 => "…!".to_owned(),
            _ => "垃圾".repeat(1 + i % 20),
        };
        let assigned = add(&mut stream, &text, None);
        if i % 2 == 0 {
            assert!(assigned.is_new(), "a text without words is not a duplicate");
            alone += 1;
        } else {
            *groups.entry(assigned.group).or_insert(0) += 1;
        }
    }
    assert_eq!(stream.groups().len(), alone + groups.len());
    // Texts of one word or one ideograph, repeated once, twice or more often.
    assert!(groups.len() < 20, "{} groups", groups.len());
    assert!(stream.counts().0.verified < 2000 * 20);
}

#[test]
fn times_in_decreasing_order_retire_no_story() {
    let mut options = options();
    options.stories.window = Some(100);
    let mut stream = Stream::new(options);
    let texts = Draw(6).stream(200);
    for (i, text) in texts.iter().enumerate() {
        add(&mut stream, text, Some(10_000 - 50 * i as i64));
    }
    let (_, stories) = stream.take_retired();
    assert!(stories.is_empty());
    add(&mut stream, "later", Some(20_000));
    let (_, stories) = stream.take_retired();
    assert!(!stories.is_empty() && stream.stories().len() == 1);
    let [first, last] = stories[0].0.seen;
    assert!(first <= last);
}

#[test]
fn memory_is_bounded_by_the_limits_of_live_groups_and_stories() {
    let mut options = options();
    options.groups.live = 50;
    options.stories.live = 30;
    options.stories.vocabulary = 500;
    let mut stream = Stream::new(options);
    let mut draw = Draw(8);
    for i in 0..1500u64 {
        let words: Vec<String> = (0..20)
            .map(|j| format!("u{}", i * 40 + j + draw.below(5)))
            .collect();
        let text = words.join(" ");
        add(&mut stream, &text, None);
        let (groups, stories) = stream.take_retired();
        assert!(groups.len() <= 2 && stories.len() <= 2);
    }
    assert!(stream.groups().len() <= 51 && stream.stories().len() <= 31);
    assert!(stream.stories.vocabulary().len() < 31 * 130 + 500);
    assert_eq!(stream.leaders.len(), stream.groups().len());
}

#[test]
fn many_live_clusters_need_a_bounded_number_of_comparisons_per_document() {
    let mut options = options();
    // A high threshold, so that most documents begin a story.
    options.stories.threshold = Threshold::Given(0.3);
    let mut stream = Stream::new(options);
    let mut draw = Draw(12);
    let documents = 4000;
    for i in 0..documents {
        let words: Vec<String> = (0..30)
            .map(|j| match j % 3 {
                0 => format!("w{}", draw.below(40) * draw.below(40)),
                _ => format!("u{}", i * 20 + draw.below(20)),
            })
            .collect();
        add(&mut stream, &words.join(" "), None);
    }
    let (groups, stories) = stream.counts();
    assert_eq!(stream.groups().len() as u64, documents);
    assert!(stream.stories().len() as u64 > documents / 2);
    assert!(groups.verified < documents, "{groups:?}");
    assert!(stories.compared <= documents * 64, "{stories:?}");
}

#[test]
fn pages_near_the_threshold_need_a_bounded_number_of_comparisons() {
    let mut draw = Draw(14);
    let template: Vec<String> = (0..200).map(|_| format!("w{}", draw.below(5000))).collect();
    let mut stream = Stream::new(options());
    let pages = 1000;
    for _ in 0..pages {
        let mut words = template.clone();
        for _ in 0..6 {
            let at = draw.below(200) as usize;
            words[at] = format!("x{}", draw.below(100_000));
        }
        add(&mut stream, &words.join(" "), None);
    }
    let (groups, stories) = stream.counts();
    assert!(
        groups.founded > 20,
        "few pages are duplicates of each other: {groups:?}"
    );
    // Comparisons with leaders, and with the founder of a group that a further leader extends.
    assert!(groups.verified <= pages * 64, "{groups:?}");
    assert!(stream.groups().map(|group| group.size).sum::<u64>() == pages);
    // Words that all pages have get no weight, so comparisons of stories are few, too.
    assert!(stories.compared <= pages * 64, "{stories:?}");
}

#[test]
fn a_state_is_locked_by_one_run_at_a_time() {
    let dir = tempfile::tempdir().expect("a directory");
    let [one, two] = ["one", "two"].map(|name| dir.path().join(name));
    let mut state = StateFile::hold(&one).expect("the state is not locked");
    assert!(matches!(StateFile::hold(&one), Err(StateError::InUse { .. })));
    let mut other = StateFile::hold(&two).expect("the other state is not locked");
    state.write(&[b"a", b"b"]).expect("a place to write");
    other.write(&[b"c"]).expect("a place to write");
    assert!(!one.exists(), "the state is replaced before it is kept");
    state.keep().expect("a place");
    drop(other);
    assert_eq!(fs::read(&one).expect("the file"), b"ab");
    assert!(!two.exists());
    let remaining: Vec<_> = fs::read_dir(dir.path()).expect("the directory").collect();
    assert_eq!(remaining.len(), 1, "{remaining:?}");
    // The file of a killed run is overwritten completely.
    let next = {
        let mut state = StateFile::hold(&one).expect("the state is not locked");
        state.write(&[b"longer"]).expect("a place to write");
        let next = fs::read_dir(dir.path()).expect("the directory").flatten();
        let next = next.map(|entry| entry.path()).find(|path| *path != one);
        next.expect("the file that is being written")
    };
    fs::write(&next, b"left over").expect("a place to write");
    let mut state = StateFile::hold(&one).expect("the state is not locked");
    state.write(&[b"cd"]).expect("a place to write");
    state.keep().expect("a place");
    assert_eq!(fs::read(&one).expect("the file"), b"cd");
}

#[cfg(unix)]
#[test]
fn a_state_may_be_a_link_but_not_a_directory_or_a_device() {
    let dir = tempfile::tempdir().expect("a directory");
    let [real, link] = ["real", "link"].map(|name| dir.path().join(name));
    fs::write(&real, b"old").expect("a place to write");
    std::os::unix::fs::symlink(&real, &link).expect("a link");
    let mut state = StateFile::hold(&link).expect("the state is not locked");
    state.write(&[b"new"]).expect("a place to write");
    state.keep().expect("a place");
    assert!(fs::symlink_metadata(&link).expect("the link").is_symlink());
    assert_eq!(fs::read(&real).expect("the file"), b"new");
    for other in [dir.path(), std::path::Path::new("/dev/full")] {
        assert!(matches!(StateFile::hold(other), Err(StateError::Foreign { .. })));
    }
}
