//! The role of a word in a topic: term, part of a name, or stop word.
//!
//! Function words say nothing about a subject, even if a corpus has few of them. They are listed here for English and
//! Chinese. In other languages only their frequency keeps them out of topics.

use twinprint_cluster::stories::WordRole;

/// The function words of English in canonical form, sorted.
const ENGLISH: &[&str] = &[
    "a", "about", "above", "after", "again", "against", "ago", "all", "also", "although", "am", "among",
    "an", "and", "another", "any", "are", "as", "at", "be", "because", "been", "before", "being", "below",
    "between", "both", "but", "by", "can", "cannot", "could", "did", "do", "does", "doing", "don", "down",
    "during", "each", "either", "else", "ever", "every", "few", "for", "from", "further", "get", "got",
    "had", "has", "have", "having", "he", "her", "here", "hers", "him", "his", "how", "however", "i", "if",
    "in", "into", "is", "it", "its", "itself", "just", "least", "less", "let", "like", "ll", "made", "make",
    "many", "may", "me", "might", "more", "most", "much", "must", "my", "neither", "no", "nor", "not", "now",
    "of", "off", "often", "on", "once", "one", "only", "or", "other", "our", "out", "over", "own", "per",
    "rather", "re", "s", "said", "same", "say", "says", "she", "should", "since", "so", "some", "still",
    "such", "t", "than", "that", "the", "their", "them", "then", "there", "these", "they", "this", "those",
    "though", "through", "to", "too", "two", "under", "until", "up", "upon", "us", "ve", "very", "was", "we",
    "well", "were", "what", "when", "where", "whether", "which", "while", "who", "whom", "whose", "why",
    "will", "with", "within", "without", "would", "yet", "you", "your",
];

/// The function words of Chinese with at least two characters, sorted. Single characters are never terms, so they need
/// no entry.
const CHINESE: &[&str] = &[
    "一个",
    "一些",
    "一样",
    "一次",
    "一直",
    "一种",
    "一般",
    "一起",
    "不会",
    "不同",
    "不是",
    "不能",
    "不过",
    "两个",
    "为了",
    "之前",
    "之后",
    "之间",
    "也是",
    "什么",
    "今天",
    "今年",
    "他们",
    "以上",
    "以下",
    "以及",
    "以后",
    "以来",
    "任何",
    "但是",
    "你们",
    "使用",
    "其中",
    "其他",
    "其实",
    "再次",
    "出现",
    "分别",
    "别的",
    "到了",
    "到底",
    "前后",
    "十分",
    "即使",
    "却是",
    "又是",
    "另外",
    "只是",
    "只有",
    "只能",
    "可以",
    "可能",
    "各种",
    "同时",
    "后来",
    "因为",
    "因此",
    "在于",
    "多少",
    "大家",
    "大量",
    "她们",
    "如何",
    "如果",
    "它们",
    "对于",
    "就是",
    "已经",
    "应该",
    "开始",
    "当时",
    "很多",
    "怎么",
    "怎样",
    "您好",
    "情况",
    "我们",
    "或者",
    "所以",
    "所有",
    "所谓",
    "才是",
    "才能",
    "时候",
    "是不是",
    "是否",
    "最后",
    "最近",
    "有些",
    "有的",
    "来说",
    "根据",
    "正在",
    "每个",
    "比较",
    "没有",
    "然后",
    "然而",
    "现在",
    "由于",
    "的话",
    "目前",
    "直接",
    "相关",
    "真的",
    "知道",
    "第一",
    "经过",
    "继续",
    "而且",
    "而是",
    "自己",
    "虽然",
    "表示",
    "觉得",
    "认为",
    "许多",
    "过程",
    "还是",
    "还有",
    "这个",
    "这些",
    "这样",
    "这种",
    "这里",
    "进行",
    "通过",
    "那个",
    "那么",
    "那些",
    "部分",
    "都是",
    "问题",
    "需要",
    "非常",
    "首先",
];

/// The length of the longest word that can be a term, in bytes. Longer words count as stop words.
const MAX_WORD_BYTES: usize = 64;

/// Returns the role of a word of a canonical text.
pub(super) fn role(word: &str) -> WordRole {
    let mut chars = word.chars();
    let (Some(first), second) = (chars.next(), chars.next()) else {
        return WordRole::Stop;
    };
    if word.len() > MAX_WORD_BYTES
        || ENGLISH.binary_search(&word).is_ok()
        || CHINESE.binary_search(&word).is_ok()
    {
        return WordRole::Stop;
    }
    let number = word.chars().all(char::is_numeric);
    if second.is_none() || number {
        // A single letter is part of a name, since names have initials. A function word of one ideograph is a stop
        // word, so it ends a name.
        return if "的了在是和与及或就都而也很着过被把对从到为以于等这那他她它我你有不上下中说要会将让给向"
            .contains(first)
        {
            WordRole::Stop
        } else {
            WordRole::Part
        };
    }
    WordRole::Term
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_sorted() {
        assert!(ENGLISH.is_sorted() && CHINESE.is_sorted());
    }

    #[test]
    fn words_have_the_expected_roles() {
        for (word, expected) in [
            ("the", WordRole::Stop),
            ("cocoa", WordRole::Term),
            ("1987", WordRole::Part),
            ("我们", WordRole::Stop),
            ("湖人", WordRole::Term),
            ("队", WordRole::Part),
            ("的", WordRole::Stop),
            ("", WordRole::Stop),
        ] {
            assert_eq!(role(word), expected, "{word}");
        }
    }
}
