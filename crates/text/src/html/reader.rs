//! Receives the tokens of the HTML tokenizer (as its emitter) and builds the page from them.

use html5gum::{Emitter, Error, State};

use super::HtmlError;
use super::element::Element;
use super::hint::AttributeHints;
use super::page::Page;

/// The name of a tag or attribute is cut to this number of bytes. All names that matter are shorter.
const MAX_NAME_BYTES: usize = 24;
/// The value of an attribute is cut to this number of bytes.
const MAX_VALUE_BYTES: usize = 512;

/// Lengths of the visible text and of the title of a page while it is read, in bytes.
#[derive(Clone, Copy)]
pub(super) struct Lengths {
    /// Length of the visible text.
    pub(super) text: usize,
    /// Length of the title.
    pub(super) title: usize,
}

/// Builds a page from the tokens of its markup.
pub(super) struct Reader<'p> {
    page: &'p mut Page,
    name: Vec<u8>,
    is_start: bool,
    self_closing: bool,
    hints: AttributeHints,
    attribute: Vec<u8>,
    value: Vec<u8>,
    /// The name of the last start tag. In an element without markup, only an end tag with this name ends the text.
    last_start: Vec<u8>,
}

impl<'p> Reader<'p> {
    pub(super) fn new(page: &'p mut Page) -> Self {
        Self {
            page,
            name: Vec::new(),
            is_start: false,
            self_closing: false,
            hints: AttributeHints::default(),
            attribute: Vec::new(),
            value: Vec::new(),
            last_start: Vec::new(),
        }
    }

    /// The current lengths of the visible text and of the title, in bytes.
    pub(super) fn lengths(&self) -> Lengths {
        Lengths {
            text: self.page.text.len(),
            title: self.page.title.len(),
        }
    }

    /// The part of the visible text and of the title appended since their lengths were `before`.
    pub(super) fn appended(&self, before: Lengths) -> (&[u8], &[u8]) {
        let text = self.page.text.get(before.text..).unwrap_or_default();
        let title = self.page.title.get(before.title..).unwrap_or_default();
        (text, title)
    }

    fn begin_tag(&mut self, is_start: bool) {
        self.name.clear();
        self.attribute.clear();
        (self.is_start, self.self_closing, self.hints) = (is_start, false, AttributeHints::default());
    }

    fn end_attribute(&mut self) {
        if self.is_start && !self.attribute.is_empty() {
            self.hints.take(&self.attribute, &self.value);
        }
        self.attribute.clear();
        self.value.clear();
    }
}

/// Appends `bytes` to `to`, but only up to a total length of `max`.
fn push(to: &mut Vec<u8>, bytes: &[u8], max: usize) {
    let room = max.saturating_sub(to.len());
    to.extend(bytes.iter().take(room));
}

impl Emitter for Reader<'_> {
    type Token = HtmlError;

    fn set_last_start_tag(&mut self, name: Option<&[u8]>) {
        self.last_start.clear();
        self.last_start.extend_from_slice(name.unwrap_or_default());
    }

    fn emit_eof(&mut self) {}

    fn emit_error(&mut self, _: Error) {}

    #[inline]
    fn should_emit_errors(&mut self) -> bool {
        false
    }

    #[inline]
    fn pop_token(&mut self) -> Option<HtmlError> {
        self.page.error
    }

    fn emit_string(&mut self, text: &[u8]) {
        self.page.text(text);
    }

    fn init_start_tag(&mut self) {
        self.begin_tag(true);
    }

    fn init_end_tag(&mut self) {
        self.begin_tag(false);
    }

    fn emit_current_tag(&mut self) -> Option<State> {
        self.end_attribute();
        let element = Element::of(&self.name);
        if !self.is_start {
            self.page.end(element);
            return None;
        }
        self.last_start.clone_from(&self.name);
        self.page.start(element, self.hints, self.self_closing);
        if self.self_closing && self.page.xml {
            return None;
        }
        element.next_state()
    }

    fn set_self_closing(&mut self) {
        self.self_closing = true;
    }

    fn push_tag_name(&mut self, name: &[u8]) {
        push(&mut self.name, name, MAX_NAME_BYTES);
    }

    fn init_attribute(&mut self) {
        self.end_attribute();
    }

    fn push_attribute_name(&mut self, name: &[u8]) {
        push(&mut self.attribute, name, MAX_NAME_BYTES);
    }

    fn push_attribute_value(&mut self, value: &[u8]) {
        push(&mut self.value, value, MAX_VALUE_BYTES);
    }

    fn current_is_appropriate_end_tag_token(&mut self) -> bool {
        !self.is_start && self.name == self.last_start
    }

    fn init_comment(&mut self) {}
    fn push_comment(&mut self, _: &[u8]) {}
    fn emit_current_comment(&mut self) {}
    fn init_doctype(&mut self) {}
    fn push_doctype_name(&mut self, _: &[u8]) {}
    fn emit_current_doctype(&mut self) {}
    fn set_force_quirks(&mut self) {}
    fn set_doctype_public_identifier(&mut self, _: &[u8]) {}
    fn set_doctype_system_identifier(&mut self, _: &[u8]) {}
    fn push_doctype_public_identifier(&mut self, _: &[u8]) {}
    fn push_doctype_system_identifier(&mut self, _: &[u8]) {}
}
