//! Hints from the attributes of an element: whether the element is visible, and whether it belongs to the main content.

/// A hint about an element from the attributes of its start tag.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "the hints are independent of each other"
)]
pub(super) struct AttributeHints {
    /// The element is not visible.
    pub(super) hidden: bool,
    /// The element is marked as the main content.
    pub(super) main: bool,
    /// The element is marked as navigation, advertisement, comments or similar.
    pub(super) chrome: bool,
    /// The element has an `href` attribute, so that it is a link.
    pub(super) href: bool,
}

/// Words in the class names and ids of elements that usually do not belong to the main content. An element with such a
/// name is still kept if it has a large share of the text.
const CHROME: [&[u8]; 46] = [
    b"ad",
    b"ads",
    b"adsbygoogle",
    b"adsense",
    b"advert",
    b"advertisement",
    b"banner",
    b"breadcrumb",
    b"breadcrumbs",
    b"byline",
    b"comment",
    b"comments",
    b"consent",
    b"cookie",
    b"cookies",
    b"copyright",
    b"disqus",
    b"dropdown",
    b"foot",
    b"footer",
    b"login",
    b"menu",
    b"menubar",
    b"meta",
    b"modal",
    b"nav",
    b"navbar",
    b"navigation",
    b"newsletter",
    b"pager",
    b"pagination",
    b"popup",
    b"promo",
    b"promoted",
    b"related",
    b"share",
    b"sharing",
    b"sidebar",
    b"social",
    b"sponsor",
    b"sponsored",
    b"subscribe",
    b"toc",
    b"toolbar",
    b"widget",
    b"widgets",
];

/// Values of the attribute `role` of elements that do not belong to the main content.
const CHROME_ROLES: [&[u8]; 11] = [
    b"navigation",
    b"banner",
    b"contentinfo",
    b"complementary",
    b"search",
    b"dialog",
    b"alertdialog",
    b"alert",
    b"menu",
    b"menubar",
    b"toolbar",
];

impl AttributeHints {
    /// Adds the hints of one attribute. `name` is in lower case.
    pub(super) fn take(&mut self, name: &[u8], value: &[u8]) {
        match name {
            b"class" | b"id" => self.chrome |= names_chrome(value),
            b"role" => {
                let role = value.trim_ascii();
                self.main |= role.eq_ignore_ascii_case(b"main");
                self.chrome |= CHROME_ROLES.iter().any(|known| role.eq_ignore_ascii_case(known));
            }
            b"itemprop" => self.main |= value.trim_ascii().eq_ignore_ascii_case(b"articlebody"),
            b"hidden" => self.hidden = true,
            b"style" => self.hidden |= hides(value),
            b"href" => self.href = true,
            _ => {}
        }
    }
}

/// Returns `true` if a word of `value` is in [`CHROME`]. `value` is a list of class names or ids, in which every
/// character other than a letter separates words.
fn names_chrome(value: &[u8]) -> bool {
    value
        .split(|b| !b.is_ascii_alphabetic())
        .filter(|word| word.len() > 1)
        .any(|word| CHROME.iter().any(|known| word.eq_ignore_ascii_case(known)))
}

/// Returns `true` if the value of a `style` attribute makes its element invisible.
fn hides(style: &[u8]) -> bool {
    style.split(|&b| b == b';').any(|rule| {
        let mut sides = rule.splitn(2, |&b| b == b':');
        let property = sides.next().unwrap_or_default().trim_ascii();
        let value = sides.next().unwrap_or_default();
        let value = value
            .split(|&b| b == b'!')
            .next()
            .unwrap_or_default()
            .trim_ascii();
        (property.eq_ignore_ascii_case(b"display") && value.eq_ignore_ascii_case(b"none"))
            || (property.eq_ignore_ascii_case(b"visibility") && value.eq_ignore_ascii_case(b"hidden"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(name: &str, value: &str) -> AttributeHints {
        let mut hints = AttributeHints::default();
        hints.take(name.as_bytes(), value.as_bytes());
        hints
    }

    #[test]
    fn names_are_read_by_their_words() {
        assert!(of("class", "box ad-3").chrome);
        assert!(of("id", "site_Footer").chrome);
        assert!(!of("class", "download header-text").chrome);
        assert!(of("role", " MAIN ").main);
    }

    #[test]
    fn hidden_means_off_the_page() {
        assert!(of("style", "color:red; DISPLAY : none !important").hidden);
        assert!(!of("style", "display:block").hidden);
        assert!(of("hidden", "").hidden);
    }
}
