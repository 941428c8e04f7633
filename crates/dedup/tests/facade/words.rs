//! Generated texts, which depend on the seed only.

/// SplitMix64 (Steele, Lea, Flood 2014).
pub(crate) struct Words {
    state: u64,
}

impl Words {
    pub(crate) fn new(seed: u64) -> Self {
        Self { state: seed }
    }

    fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = (self.state ^ (self.state >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// A number below `n`.
    pub(crate) fn below(&mut self, n: usize) -> usize {
        (self.next() % n.max(1) as u64) as usize
    }

    /// One of about 40,000 generated words.
    pub(crate) fn word(&mut self) -> String {
        const SYLLABLES: [&str; 34] = [
            "ba", "ce", "di", "fo", "gu", "ha", "je", "ki", "lo", "mu", "na", "pe", "ri", "so", "tu", "va",
            "we", "xi", "yo", "zu", "bra", "cle", "dri", "flo", "gru", "pla", "spe", "tri", "sto", "blu",
            "ar", "en", "is", "or",
        ];
        (0..3).map(|_| SYLLABLES[self.below(SYLLABLES.len())]).collect()
    }

    /// One of 3,000 ideographs.
    pub(crate) fn ideograph(&mut self) -> String {
        char::from_u32(0x4E00 + self.below(3000) as u32)
            .unwrap()
            .to_string()
    }

    /// A unit of a language: a word, or an ideograph.
    pub(crate) fn unit(&mut self, chinese: bool) -> String {
        if chinese { self.ideograph() } else { self.word() }
    }

    /// `n` units.
    pub(crate) fn units(&mut self, n: usize, chinese: bool) -> Vec<String> {
        (0..n).map(|_| self.unit(chinese)).collect()
    }

    /// Replaces, inserts or removes `n` units.
    pub(crate) fn edit(&mut self, units: &mut Vec<String>, n: usize, chinese: bool) {
        for _ in 0..n {
            let at = self.below(units.len() + 1);
            let unit = self.unit(chinese);
            match self.below(3) {
                0 if at < units.len() => drop(units.remove(at)),
                1 if at < units.len() => units[at] = unit,
                _ => units.insert(at, unit),
            }
        }
    }
}

/// Joins ideographs without spaces, and words with spaces.
pub(crate) fn join(units: &[String], chinese: bool) -> String {
    units.join(if chinese { "" } else { " " })
}
