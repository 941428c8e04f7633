//! The content of a page while it is read: its visible text, and the blocks that contain the text.
//!
//! Blocks are numbered in the order in which they open, so a parent comes before its children, and each block is a
//! range of the text. Sums over subtrees therefore need no recursion. Every step takes constant time, or pops the
//! elements that it visits from the stack of open elements. Open elements of the same kind are linked, so an end tag
//! without a start tag takes constant time at any depth.

use super::element::{Element, KINDS};
use super::hint::AttributeHints;
use super::{HtmlError, MAX_BLOCKS, MAX_DEPTH};

/// A block of the page.
#[derive(Clone, Copy, Debug)]
pub(super) struct Block {
    /// Index of the block around this one; the first block is its own parent.
    pub(super) parent: u32,
    /// Offset of the block in the text, in bytes.
    pub(super) start: u32,
    /// Offset of the end of the block in the text, in bytes.
    pub(super) end: u32,
    /// Number of visible words in the block, without those in the blocks inside it.
    pub(super) words: u32,
    /// Number of words, among those that `words` counts, that are in links.
    pub(super) linked: u32,
    pub(super) landmark: Landmark,
    /// True if the block is marked as navigation, advertisement or similar, which is not content.
    pub(super) chrome: bool,
    /// True if the block is a paragraph. A paragraph is never chosen as the main content, because the lists next to it
    /// may belong to the content too.
    pub(super) paragraph: bool,
}

/// The mark of a block as main content, in order of increasing strength.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Landmark {
    None,
    Article,
    Main,
}

/// The index that stands for "no element".
const NO_ELEMENT: u32 = u32::MAX;

/// An element whose end tag has not been read yet.
#[derive(Clone, Copy)]
struct OpenElement {
    element: Element,
    /// Index of the block that the element's text belongs to.
    block: u32,
    /// Index, on the stack of open elements, of the next lower element of the same kind.
    below: u32,
    /// Index of the innermost open table or cell, which may be the element itself. End tags do not close elements
    /// outside of it.
    fence: u32,
    /// True if the element's text is invisible.
    unseen: bool,
    /// True if the element's text is part of a link.
    link: bool,
}

/// The white space to insert before the next visible text.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum PendingSpace {
    None,
    Space,
    Line,
}

/// The content of a page while it is read: visible text, title, blocks and open elements.
pub(super) struct Page {
    /// The visible text. It consists of pieces of the markup, so it is UTF-8.
    pub(super) text: Vec<u8>,
    pub(super) title: Vec<u8>,
    pub(super) blocks: Vec<Block>,
    open: Vec<OpenElement>,
    /// For each kind of element: the index of its topmost open element.
    last: [u32; KINDS],
    gap: PendingSpace,
    in_word: bool,
    in_title: bool,
    /// True inside XML, where a slash at the end of a tag closes the element.
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
            last: [NO_ELEMENT; KINDS],
            gap: PendingSpace::None,
            in_word: false,
            in_title: false,
            xml: false,
            error: None,
        };
        page.clear();
        page
    }

    /// Starts a new page. The buffers stay allocated.
    pub(super) fn clear(&mut self) {
        self.text.clear();
        self.title.clear();
        self.blocks.clear();
        self.open.clear();
        self.last = [NO_ELEMENT; KINDS];
        (self.gap, self.in_word, self.in_title, self.xml) = (PendingSpace::None, false, false, false);
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

    /// Handles a start tag. `self_closing` is true if the tag ends with a slash.
    pub(super) fn start(&mut self, element: Element, hints: AttributeHints, self_closing: bool) {
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
                    self.gap = PendingSpace::Line;
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
        self.gap = PendingSpace::Line;
        self.begin_block(element, hints);
        self.push(element, false, false);
        if let (Some(top), Some(block)) = (self.open.last_mut(), self.blocks.len().checked_sub(1)) {
            top.block = block as u32;
        }
    }

    /// Handles an end tag.
    pub(super) fn end(&mut self, element: Element) {
        if element == Element::Title && self.in_title {
            self.in_title = false;
            return;
        }
        if element == Element::Break && !self.unseen() {
            self.gap = PendingSpace::Line;
        }
        let index = self.last(element);
        // An end tag inside a cell closes nothing outside the cell, unless it ends the table or a part of the table.
        let fence = match element {
            Element::Table => Some(0),
            Element::Cell | Element::Row => Some(self.last(Element::Table)),
            _ => self.open.last().map(|top| top.fence),
        };
        let fence = fence.filter(|&fence| fence != NO_ELEMENT).unwrap_or(0);
        if index != NO_ELEMENT && index >= fence {
            self.truncate(index);
        }
    }

    /// Handles text between two tags.
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

    /// Handles the end of the page.
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
        self.last.get(element.kind()).copied().unwrap_or(NO_ELEMENT)
    }

    /// Closes the open elements that end when `element`, a block, starts.
    fn close_implied(&mut self, element: Element) {
        self.end(Element::Paragraph);
        let (closes, within) = match element {
            Element::Item => (Element::Item, Element::List),
            Element::Term => (Element::Term, Element::List),
            Element::Cell => (Element::Cell, Element::Table),
            Element::Row => (Element::Row, Element::Table),
            _ => return,
        };
        let (index, outer) = (self.last(closes), self.last(within));
        if index != NO_ELEMENT && (outer == NO_ELEMENT || index > outer) {
            self.end(closes);
        }
        // No case is needed for a row that starts inside a cell: `end` closes the row around the cell, and the cell
        // with it.
    }

    fn begin_block(&mut self, element: Element, hints: AttributeHints) {
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
        let index = self.open.len() as u32;
        let top = self.open.last().copied();
        let is_fence = matches!(element, Element::Cell | Element::Table);
        let below = self.last(element);
        self.open.push(OpenElement {
            element,
            block: top.map_or(0, |top| top.block),
            below,
            fence: if is_fence {
                index
            } else {
                top.map_or(0, |top| top.fence)
            },
            unseen: unseen || top.is_some_and(|top| top.unseen),
            link: link || top.is_some_and(|top| top.link),
        });
        if let Some(last) = self.last.get_mut(element.kind()) {
            *last = index;
        }
    }

    /// Closes all open elements from index `first` on.
    fn truncate(&mut self, first: u32) {
        while self.open.len() > first as usize {
            let Some(top) = self.open.pop() else { return };
            if let Some(last) = self.last.get_mut(top.element.kind()) {
                *last = top.below;
            }
            if top.element.is_block()
                && !top.unseen
                && let Some(block) = self.blocks.get_mut(top.block as usize)
            {
                block.end = self.text.len() as u32;
                self.gap = PendingSpace::Line;
            }
        }
    }

    /// Appends text to the visible text, with each run of white space as one space. Returns the number of words that
    /// begin in it.
    fn append(&mut self, bytes: &[u8]) -> u32 {
        let mut words = 0;
        let mut previous = 0;
        self.text.reserve(bytes.len() + 1);
        for &byte in bytes {
            if byte.is_ascii_whitespace() {
                self.gap = self.gap.max(PendingSpace::Space);
                self.in_word = false;
                continue;
            }
            if self.gap != PendingSpace::None {
                if !self.text.is_empty() {
                    self.text.push(if self.gap == PendingSpace::Line {
                        b'\n'
                    } else {
                        b' '
                    });
                }
                (self.gap, self.in_word) = (PendingSpace::None, false);
            }
            self.text.push(byte);
            match byte {
                b'0'..=b'9' | b'a'..=b'z' | b'A'..=b'Z' | 0xC3..=0xE2 | 0xEA..=0xED => {
                    words += u32::from(!self.in_word);
                    self.in_word = true;
                }
                // Each ideograph and each kana counts as a word. For the first byte E3, the second byte separates kana
                // from punctuation.
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
