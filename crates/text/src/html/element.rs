//! Kinds of HTML elements by their effect on the text of a page.

use html5gum::State;

/// The kind of an element, by its effect on the text of a page. All elements that mark up words within a line are of
/// one kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Element {
    /// `html`, `head` and `body`. Each page has exactly one of each, whatever tags are in the markup.
    Frame,
    Title,
    Main,
    Article,
    /// `div`, `section` and other blocks without a special role.
    Block,
    /// `nav`, `header`, `footer`, `aside`, `form` and `dialog`, which usually do not belong to the content.
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
    /// Other elements without an end tag, such as `img`.
    Void,
    /// Elements whose text is never shown: drawings, controls, ruby annotations.
    Unseen,
    /// Elements whose text is never shown and contains no markup: the tokenizer recognises no tags before the end tag.
    RawUnseen(Raw),
}

/// The kinds of elements whose content is not markup. Such an element ends only at an end tag of its own name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Raw {
    Script,
    Text,
    Textarea,
    Plaintext,
}

/// Number of kinds of elements: the length of tables that [`Element::kind`] indexes.
pub(super) const KINDS: usize = 19;

impl Element {
    /// The kind of the element with the tag name `name`, in lower case.
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

    /// The index of the element's kind, below [`KINDS`].
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

    /// Returns `true` if the element begins on a new line. Its start tag ends an open paragraph.
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

    /// The state in which the tokenizer must read the element's content; `None` for the default state.
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
