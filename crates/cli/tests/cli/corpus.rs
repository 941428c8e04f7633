//! Seeded corpora: Chinese and English texts, near copies, texts that are equal after normalisation, short texts.

use std::io::Write;

/// Words of four subjects, for stories.
pub(crate) const SUBJECTS: [&str; 4] = [
    "quake coast harbour towns rescue shaken tremor wave",
    "football final stadium goal keeper striker cup crowd",
    "bank rates inflation loan market bond cut reserve",
    "comet telescope orbit tail dust observatory bright sky",
];

/// A generator of texts that depends on the seed only.
pub(crate) struct Corpus {
    state: u64,
    texts: Vec<String>,
}

impl Corpus {
    pub(crate) fn new(seed: u64) -> Self {
        Self {
            state: seed,
            texts: Vec::new(),
        }
    }

    /// SplitMix64.
    fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = (self.state ^ (self.state >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    fn below(&mut self, n: u64) -> u64 {
        self.next() % n
    }

    /// A word of two to four syllables. Small numbers are more frequent, as common words are.
    fn word(&mut self) -> String {
        const SYLLABLES: [&str; 16] = [
            "ka", "ro", "mi", "ten", "sol", "ver", "du", "lan", "pe", "gor", "hai", "nus", "ber", "ti", "wo",
            "ex",
        ];
        let rank = self.below(40) * self.below(40);
        let syllable = |i: u64| SYLLABLES[(i % 16) as usize];
        format!(
            "{}{}{}",
            syllable(rank),
            syllable(rank / 16),
            syllable(rank / 256 + rank)
        )
    }

    /// One of a few hundred ideographs.
    fn ideograph(&mut self) -> char {
        let at = 0x4E00 + (self.below(30) * self.below(30)) as u32 * 7;
        char::from_u32(at).unwrap_or('文')
    }

    fn fresh(&mut self) -> String {
        let length = [3, 12, 60, 60, 150, 400][self.below(6) as usize] + self.below(20);
        if self.below(2) == 0 {
            let words: Vec<String> = (0..length).map(|_| self.word()).collect();
            words.join(" ")
        } else {
            let mut text = String::new();
            for i in 0..length * 2 {
                text.push(self.ideograph());
                if i % 17 == 16 {
                    text.push('，');
                }
            }
            text
        }
    }

    /// A text with a few characters or words replaced.
    fn edited(&mut self, text: &str) -> String {
        let mut words: Vec<String> = text.split(' ').map(str::to_owned).collect();
        if words.len() > 1 {
            for _ in 0..=self.below(4) {
                let at = self.below(words.len() as u64) as usize;
                words[at] = self.word();
            }
            return words.join(" ");
        }
        let mut characters: Vec<char> = text.chars().collect();
        for _ in 0..=self.below(4) {
            let at = self.below(characters.len().max(1) as u64) as usize;
            let replacement = self.ideograph();
            if let Some(character) = characters.get_mut(at) {
                *character = replacement;
            }
        }
        characters.into_iter().collect()
    }

    /// A new text, a near copy of an earlier text, or an earlier text with other case, spaces and punctuation.
    pub(crate) fn document(&mut self) -> String {
        let text = match (self.below(10), self.texts.len() as u64) {
            (_, 0) | (0..6, _) => self.fresh(),
            (kind, n) => {
                let at = self.below(n) as usize;
                let earlier = self.texts[at].clone();
                match kind {
                    6 => format!("  {}!\r\n", earlier.to_uppercase()),
                    7 => earlier,
                    _ => self.edited(&earlier),
                }
            }
        };
        self.texts.push(text.clone());
        text
    }

    /// A new text of this number of words.
    pub(crate) fn long(&mut self, words: usize) -> String {
        let words: Vec<String> = (0..words).map(|_| self.word()).collect();
        words.join(" ")
    }

    pub(crate) fn texts(&mut self, n: usize) -> Vec<String> {
        (0..n).map(|_| self.document()).collect()
    }

    /// Records with `id`, `text` and `time`.
    pub(crate) fn jsonl(&mut self, n: usize) -> String {
        let mut lines = String::new();
        for i in 0..n {
            let time = format!("2024-05-{:02}", 1 + self.below(28));
            let record = serde_json::json!({"id": format!("d{i}"), "text": self.document(), "time": time});
            lines.push_str(&record.to_string());
            lines.push('\n');
        }
        lines
    }

    pub(crate) fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }
}
