//! The page as it is read: the text that is shown, and the blocks that hold it.
//!
//! Blocks are numbered in the order in which they open, so that a parent comes before its children, and each is a range
//! of the text; sums over subtrees need no recursion. Every step is constant time, or takes off the stack what it looks
//! at: open elements of a kind are linked, so that an end tag that closes nothing costs nothing at any depth.

use super::element::{Element, KINDS};
use super::hint::Hints;
use super::{HtmlError, MAX_BLOCKS, MAX_DEPTH};

/// A block of the page.
#[derive(Clone, Copy, Debug)]
pub(super) struct Block {
    /// The block around it; the first block is its own.
    pub(super) parent: u32,
    /// Its bytes in the text.
    pub(super) start: u32,
    pub(super) end: u32,
    /// Words shown in it and in no block inside it.
    pub(super) words: u32,
    /// Those of them that are links.
    pub(super) linked: u32,
    pub(super) landmark: Landmark,
    /// It seems to stand around the content.
    pub(super) chrome: bool,
    /// A paragraph, which is never the content alone: lists may stand beside it.
    pub(super) paragraph: bool,
}

/// Whether a block calls itself the content.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Landmark {
    None,
    Article,
    Main,
}

/// No element.
const NOWHERE: u32 = u32::MAX;

/// An element whose end has not come.
#[derive(Clone, Copy)]
struct Open {
    element: Element,
    /// The block its text belongs to.
    block: u32,
    /// The element of the same kind below it on the stack.
    below: u32,
    /// The table cell or other fence it stands in (or is): end tags do not reach beyond.
    fence: u32,
    /// Its text is not shown.
    unseen: bool,
    /// Its text is a link.
    link: bool,
}

/// What stands between the last text and the next.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Gap {
    None,
    Space,
    Line,
}

/// See the module's documentation.
pub(super) struct Page {
    /// The visible text; its pieces are those of the markup, which are UTF-8.
    pub(super) text: Vec<u8>,
    pub(super) title: Vec<u8>,
    pub(super) blocks: Vec<Block>,
    open: Vec<Open>,
    /// The topmost open element of each kind.
    last: [u32; KINDS],
    gap: Gap,
    in_word: bool,
    in_title: bool,
    /// Elements close themselves with a slash, as in XML.
    pub(super) xml: bool,
    pub(super) error: Option<HtmlError>,
}

impl Page {
    pub(super) fn new() -> Self {
        let mut page = Self {
            text: Vec::new(),
            title: Vec::new(),
            blocks: Vec::new(),
            open: Vec::new(),
            last: [NOWHERE; KINDS],
            gap: Gap::None,
            in_word: false,
            in_title: false,
            xml: false,
            error: None,
        };
        page.clear();
        page
    }

    /// Begins another page, with the buffers of the last.
    pub(super) fn clear(&mut self) {
        self.text.clear();
        self.title.clear();
        self.blocks.clear();
        self.open.clear();
        self.last = [NOWHERE; KINDS];
        (self.gap, self.in_word, self.in_title, self.xml) = (Gap::None, false, false, false);
        self.error = None;
        self.blocks.push(Block {
            parent: 0,
            start: 0,
            end: 0,
            words: 0,
            linked: 0,
            landmark: Landmark::None,
            chrome: false,
            paragraph: false,
        });
    }

    /// A start tag.
    pub(super) fn start(&mut self, element: Element, hints: Hints, self_closing: bool) {
        if self_closing
            && (self.xml || self.unseen() || element == Element::Unseen)
            && element != Element::Break
        {
            return;
        }
        match element {
            Element::Frame | Element::Void => return,
            Element::Break => {
                if !self.unseen() {
                    self.gap = Gap::Line;
                }
                return;
            }
            Element::Title => {
                self.in_title = self.title.is_empty() && !self.unseen();
                if !self.in_title {
                    self.push(element, true, false);
                }
                return;
            }
            _ => {}
        }
        if self.unseen() {
            self.push(element, true, false);
            return;
        }
        let unseen = hints.hidden || matches!(element, Element::Unseen | Element::RawUnseen(_));
        if element == Element::Link {
            self.end(Element::Link);
            if hints.href || unseen {
                self.push(element, unseen, true);
            }
            return;
        }
        if element.is_block() {
            self.close_implied(element);
        }
        if unseen {
            self.push(element, true, false);
            return;
        }
        if !element.is_block() {
            return;
        }
        self.gap = Gap::Line;
        self.begin_block(element, hints);
        self.push(element, false, false);
        if let (Some(top), Some(block)) = (self.open.last_mut(), self.blocks.len().checked_sub(1)) {
            top.block = block as u32;
        }
    }

    /// An end tag.
    pub(super) fn end(&mut self, element: Element) {
        if element == Element::Title && self.in_title {
            self.in_title = false;
            return;
        }
        if element == Element::Break && !self.unseen() {
            self.gap = Gap::Line;
        }
        let at = self.last(element);
        // An end tag inside a cell closes nothing outside it, unless it ends the table or a part of it.
        let fence = match element {
            Element::Table => Some(0),
            Element::Cell | Element::Row => Some(self.last(Element::Table)),
            _ => self.open.last().map(|top| top.fence),
        };
        let fence = fence.filter(|&fence| fence != NOWHERE).unwrap_or(0);
        if at != NOWHERE && at >= fence {
            self.truncate(at);
        }
    }

    /// Text between tags.
    pub(super) fn text(&mut self, bytes: &[u8]) {
        if self.in_title {
            self.title.extend_from_slice(bytes);
            return;
        }
        if self.unseen() {
            return;
        }
        let words = self.append(bytes);
        let top = self.open.last().map_or((0, false), |top| (top.block, top.link));
        if let Some(block) = self.blocks.get_mut(top.0 as usize) {
            block.words = block.words.saturating_add(words);
            if top.1 {
                block.linked = block.linked.saturating_add(words);
            }
        }
    }

    /// The end of the page.
    pub(super) fn finish(&mut self) {
        self.truncate(0);
        if let Some(root) = self.blocks.first_mut() {
            root.end = self.text.len() as u32;
        }
    }

    fn unseen(&self) -> bool {
        self.open.last().is_some_and(|top| top.unseen)
    }

    fn last(&self, element: Element) -> u32 {
        self.last.get(element.kind()).copied().unwrap_or(NOWHERE)
    }

    /// Closes what a block ends without an end tag of its own.
    fn close_implied(&mut self, element: Element) {
        self.end(Element::Paragraph);
        let (closes, within) = match element {
            Element::Item => (Element::Item, Element::List),
            Element::Term => (Element::Term, Element::List),
            Element::Cell => (Element::Cell, Element::Table),
            Element::Row => (Element::Row, Element::Table),
            _ => return,
        };
        let (at, outer) = (self.last(closes), self.last(within));
        if at != NOWHERE && (outer == NOWHERE || at > outer) {
            self.end(closes);
        }
        // A row that begins inside a cell ends the cell; ending the row has done that, if there was one.
    }

    fn begin_block(&mut self, element: Element, hints: Hints) {
        if self.blocks.len() >= MAX_BLOCKS {
            self.error.get_or_insert(HtmlError::TooManyBlocks {
                limit: MAX_BLOCKS as u64,
            });
            return;
        }
        let parent = self.open.last().map_or(0, |top| top.block);
        let start = self.text.len() as u32;
        self.blocks.push(Block {
            parent,
            start,
            end: start,
            words: 0,
            linked: 0,
            landmark: match element {
                _ if hints.main => Landmark::Main,
                Element::Main => Landmark::Main,
                Element::Article => Landmark::Article,
                _ => Landmark::None,
            },
            chrome: element == Element::Chrome || hints.chrome,
            paragraph: element == Element::Paragraph,
        });
    }

    fn push(&mut self, element: Element, unseen: bool, link: bool) {
        if self.open.len() >= MAX_DEPTH {
            self.error.get_or_insert(HtmlError::TooDeep {
                limit: MAX_DEPTH as u64,
            });
            return;
        }
        let at = self.open.len() as u32;
        let top = self.open.last().copied();
        let is_fence = matches!(element, Element::Cell | Element::Table);
        let below = self.last(element);
        self.open.push(Open {
            element,
            block: top.map_or(0, |top| top.block),
            below,
            fence: if is_fence {
                at
            } else {
                top.map_or(0, |top| top.fence)
            },
            unseen: unseen || top.is_some_and(|top| top.unseen),
            link: link || top.is_some_and(|top| top.link),
        });
        if let Some(last) = self.last.get_mut(element.kind()) {
            *last = at;
        }
    }

    /// Closes all elements from `at` on.
    fn truncate(&mut self, at: u32) {
        while self.open.len() > at as usize {
            let Some(top) = self.open.pop() else { return };
            if let Some(last) = self.last.get_mut(top.element.kind()) {
                *last = top.below;
            }
            if top.element.is_block()
                && !top.unseen
                && let Some(block) = self.blocks.get_mut(top.block as usize)
            {
                block.end = self.text.len() as u32;
                self.gap = Gap::Line;
            }
        }
    }

    /// Appends text with runs of white space as one space; how many words began.
    fn append(&mut self, bytes: &[u8]) -> u32 {
        let mut words = 0;
        let mut previous = 0;
        self.text.reserve(bytes.len() + 1);
        for &byte in bytes {
            if byte.is_ascii_whitespace() {
                self.gap = self.gap.max(Gap::Space);
                self.in_word = false;
                continue;
            }
            if self.gap != Gap::None {
                if !self.text.is_empty() {
                    self.text.push(if self.gap == Gap::Line { b'\n' } else { b' ' });
                }
                (self.gap, self.in_word) = (Gap::None, false);
            }
            self.text.push(byte);
            match byte {
                b'0'..=b'9' | b'a'..=b'z' | b'A'..=b'Z' | 0xC3..=0xE2 | 0xEA..=0xED => {
                    words += u32::from(!self.in_word);
                    self.in_word = true;
                }
                // Ideographs and kana, each of which counts; the second byte tells punctuation.
                0xE4..=0xE9 => words += 1,
                0x81..=0x83 if previous == 0xE3 => words += 1,
                0x80..=0xBF => {}
                _ => self.in_word = false,
            }
            previous = byte;
        }
        words
    }
}
