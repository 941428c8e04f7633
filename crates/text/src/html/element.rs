//! Kinds of HTML elements by their effect on the text of a page.

use html5gum::State;

/// The kind of an element by its effect on the text. Elements that mark up words within a line are one kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Element {
    /// `html`, `head`, `body`: each exists once, whatever the tags are.
    Frame,
    Title,
    Main,
    Article,
    /// `div`, `section` and other plain blocks.
    Block,
    /// `nav`, `header`, `footer`, `aside`, `form`, `dialog`: usually not content.
    Chrome,
    Paragraph,
    List,
    Item,
    /// `dt` and `dd`.
    Term,
    Table,
    /// `tr`, and the sections of a table.
    Row,
    Cell,
    /// `a`.
    Link,
    Inline,
    /// `br` and `hr`.
    Break,
    /// Other elements without content, such as `img`.
    Void,
    /// Elements that are never shown as text: drawings, controls, readings of ruby.
    Unseen,
    /// The same, for elements in which the tokenizer recognises no tags until the end tag.
    RawUnseen(Raw),
}

/// Elements whose content is not markup. Each ends only at an end tag of its own name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Raw {
    Script,
    Text,
    Textarea,
    Plaintext,
}

/// Number of kinds of elements, for tables indexed by kind.
pub(super) const KINDS: usize = 19;

impl Element {
    /// The element of a tag name in lower case.
    pub(super) fn of(name: &[u8]) -> Self {
        match name {
            b"a" => Self::Link,
            b"div" | b"section" | b"blockquote" | b"pre" | b"h1" | b"h2" | b"h3" | b"h4" | b"h5" | b"h6"
            | b"figure" | b"figcaption" | b"address" | b"details" | b"summary" | b"center" | b"fieldset"
            | b"legend" | b"hgroup" | b"listing" | b"xmp" | b"search" => Self::Block,
            b"p" => Self::Paragraph,
            b"li" => Self::Item,
            b"ul" | b"ol" | b"menu" | b"dir" | b"dl" => Self::List,
            b"dt" | b"dd" => Self::Term,
            b"td" | b"th" | b"caption" => Self::Cell,
            b"tr" | b"tbody" | b"thead" | b"tfoot" => Self::Row,
            b"table" => Self::Table,
            b"br" | b"hr" => Self::Break,
            b"img" | b"input" | b"meta" | b"link" | b"wbr" | b"area" | b"base" | b"col" | b"embed"
            | b"source" | b"track" | b"param" | b"basefont" | b"bgsound" | b"frame" | b"keygen" => Self::Void,
            b"nav" | b"header" | b"footer" | b"aside" | b"form" | b"dialog" => Self::Chrome,
            b"main" => Self::Main,
            b"article" => Self::Article,
            b"html" | b"head" | b"body" => Self::Frame,
            b"title" => Self::Title,
            b"script" => Self::RawUnseen(Raw::Script),
            b"style" | b"noscript" | b"iframe" | b"noembed" | b"noframes" => Self::RawUnseen(Raw::Text),
            b"textarea" => Self::RawUnseen(Raw::Textarea),
            b"plaintext" => Self::RawUnseen(Raw::Plaintext),
            b"svg" | b"math" | b"template" | b"button" | b"select" | b"datalist" | b"object" | b"audio"
            | b"video" | b"canvas" | b"map" | b"rt" | b"rp" => Self::Unseen,
            _ => Self::Inline,
        }
    }

    /// A number below [`KINDS`].
    pub(super) fn kind(self) -> usize {
        match self {
            Self::Frame => 0,
            Self::Title => 1,
            Self::Main => 2,
            Self::Article => 3,
            Self::Block => 4,
            Self::Chrome => 5,
            Self::Paragraph => 6,
            Self::List => 7,
            Self::Item => 8,
            Self::Term => 9,
            Self::Table => 10,
            Self::Row => 11,
            Self::Cell => 12,
            Self::Link => 13,
            Self::Inline => 14,
            Self::Break => 15,
            Self::Void => 16,
            Self::Unseen => 17,
            Self::RawUnseen(_) => 18,
        }
    }

    /// Returns `true` if the element is on lines of its own. Its start ends an open paragraph.
    pub(super) fn is_block(self) -> bool {
        matches!(
            self,
            Self::Main
                | Self::Article
                | Self::Block
                | Self::Chrome
                | Self::Paragraph
                | Self::List
                | Self::Item
                | Self::Term
                | Self::Table
                | Self::Row
                | Self::Cell
        )
    }

    /// The state of the tokenizer after the start tag, if it is not the default.
    pub(super) fn next_state(self) -> Option<State> {
        match self {
            Self::Title | Self::RawUnseen(Raw::Textarea) => Some(State::RcData),
            Self::RawUnseen(Raw::Script) => Some(State::ScriptData),
            Self::RawUnseen(Raw::Text) => Some(State::RawText),
            Self::RawUnseen(Raw::Plaintext) => Some(State::PlainText),
            _ => None,
        }
    }
}
