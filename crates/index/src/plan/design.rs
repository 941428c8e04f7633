//! Designs: constructions of plans by name, such as `blocks:5` or `parts:22,21,21`.

use std::fmt;
use std::str::FromStr;

use super::catalogue::even_radii;
use super::{Plan, PlanError, TableSpec};

/// A construction of plans with its parameters, for any width and radius.
///
/// ```
/// use twinprint_index::plan::{Design, check};
///
/// // The ten tables of Manku et al.: of five blocks, any two match exactly.
/// let design: Design = "blocks:5".parse()?;
/// let plan = design.plan(64, 3)?;
/// assert_eq!(plan.tables.len(), 10);
/// assert!(check::is_exact(&plan).is_ok());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Design {
    /// `scan`: [`Plan::scan`].
    Scan,
    /// `one-table`: [`Plan::one_table`].
    OneTable,
    /// `parts:S`: [`Plan::even_parts`].
    EvenParts(u32),
    /// `parts:W1,W2,…`: [`Plan::parts_of_widths`] with radii that are as even as possible.
    PartsOfWidths(Vec<u32>),
    /// `blocks:R`: [`Plan::blocks`].
    Blocks(u32),
    /// `nested:R`: [`Plan::nested_blocks`].
    NestedBlocks(u32),
    /// `qr11`: [`Plan::qr11`].
    Qr11,
    /// `half-spaces`: [`Plan::half_spaces`], which is AG(3, 2) for k = 3.
    HalfSpaces,
    /// `random:N,BITS`: [`Plan::random`], always with the same seed. It is not exact.
    Random {
        /// The number of tables.
        tables: u32,
        /// The number of key bits of each table.
        key_bits: u32,
    },
    /// `masks:HEX,HEX/R,…`: tables with these key bits, and the radius after the slash or 0.
    Masks(Vec<TableSpec>),
}

/// The seed of the random plans that a name denotes.
const RANDOM_SEED: u64 = 1;

/// A name is not that of a design.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{:?} is not a design of tables: scan, one-table, parts:S, parts:W1,W2,…, blocks:R, nested:R, qr11, half-spaces, random:N,BITS, or masks:HEX,HEX/R,…",
    shortened(.0)
)]
pub struct DesignError(String);

/// The number of characters of a name that an error repeats.
const SHOWN_CHARS: usize = 60;

/// Returns the beginning of a text, with an ellipsis if it is longer than [`SHOWN_CHARS`].
fn shortened(text: &str) -> String {
    match text.char_indices().nth(SHOWN_CHARS) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

impl Design {
    /// Makes the plan for fingerprints of `bits` bits and radius `k`.
    ///
    /// # Errors
    /// Those of the construction; see [`Plan`].
    pub fn plan(&self, bits: u32, k: u32) -> Result<Plan, PlanError> {
        match self {
            Self::Scan => Plan::scan(bits, k),
            Self::OneTable => Plan::one_table(bits, k),
            Self::EvenParts(parts) => Plan::even_parts(bits, k, *parts),
            Self::PartsOfWidths(widths) => {
                Plan::parts_of_widths(bits, k, &even_radii(k, widths.len() as u32), widths)
            }
            Self::Blocks(blocks) => Plan::blocks(bits, k, *blocks),
            Self::NestedBlocks(blocks) => Plan::nested_blocks(bits, k, *blocks),
            Self::Qr11 => Plan::qr11(bits, k),
            Self::HalfSpaces => Plan::half_spaces(bits, k),
            Self::Random { tables, key_bits } => Plan::random(bits, k, *tables, *key_bits, RANDOM_SEED),
            Self::Masks(tables) => Plan::new(bits, k, "masks", tables.clone()),
        }
    }

    /// The name, without its end if it is long, for messages.
    ///
    /// ```
    /// use twinprint_index::plan::Design;
    ///
    /// let masks: Vec<String> = (1..100).map(|mask| format!("{mask:x}")).collect();
    /// let design: Design = format!("masks:{}", masks.join(",")).parse()?;
    /// assert_eq!(design.short_name().chars().count(), 61);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn short_name(&self) -> String {
        shortened(&self.to_string())
    }

    /// Returns `true` for a design that may miss pairs by its nature: random keys.
    pub fn is_random(&self) -> bool {
        matches!(self, Self::Random { .. })
    }

    /// Returns a design that makes the tables of a plan.
    ///
    /// ```
    /// use twinprint_index::plan::{Design, Plan};
    ///
    /// assert_eq!(Design::of(&Plan::qr11(64, 3)?), Design::Qr11);
    /// # Ok::<(), twinprint_index::plan::PlanError>(())
    /// ```
    pub fn of(plan: &Plan) -> Self {
        let mut named = vec![Self::OneTable, Self::Qr11, Self::HalfSpaces];
        named.extend((2..=plan.k.saturating_add(1).min(plan.bits)).map(Self::EvenParts));
        named.extend((1..=4).map(|more| Self::Blocks(plan.k.saturating_add(more))));
        named.push(Self::NestedBlocks(plan.k.saturating_add(1)));
        named
            .into_iter()
            .find(|design| {
                let made = design.plan(plan.bits, plan.k);
                made.is_ok_and(|made| made.tables == plan.tables)
            })
            .unwrap_or_else(|| Self::Masks(plan.tables.clone()))
    }

    fn parse(name: &str) -> Option<Self> {
        let (design, parameters) = name.split_once(':').unwrap_or((name, ""));
        let numbers = || -> Option<Vec<u32>> { parameters.split(',').map(|n| n.parse().ok()).collect() };
        let number = || parameters.parse().ok();
        Some(match design {
            "parts" if parameters.contains(',') => Self::PartsOfWidths(numbers()?),
            "parts" => Self::EvenParts(number()?),
            "blocks" => Self::Blocks(number()?),
            "nested" => Self::NestedBlocks(number()?),
            "random" => match numbers()?[..] {
                [tables, key_bits] => Self::Random { tables, key_bits },
                _ => return None,
            },
            "masks" => Self::Masks(parameters.split(',').map(parse_table).collect::<Option<_>>()?),
            _ if name.contains(':') => return None,
            "scan" => Self::Scan,
            "one-table" => Self::OneTable,
            "qr11" => Self::Qr11,
            "half-spaces" => Self::HalfSpaces,
            _ => return None,
        })
    }
}

/// Parses a mask in hexadecimal, optionally followed by a slash and a radius.
fn parse_table(text: &str) -> Option<TableSpec> {
    let (mask, radius) = text.split_once('/').unwrap_or((text, "0"));
    // The standard parser takes a sign, which is not a digit of a mask.
    let digits = mask.strip_prefix("0x").unwrap_or(mask);
    let mask = digits.bytes().all(|digit| digit.is_ascii_hexdigit());
    Some(TableSpec {
        mask: mask.then(|| u128::from_str_radix(digits, 16).ok()).flatten()?,
        radius: radius.parse().ok()?,
    })
}

impl FromStr for Design {
    type Err = DesignError;

    fn from_str(name: &str) -> Result<Self, DesignError> {
        Self::parse(name).ok_or_else(|| DesignError(name.to_owned()))
    }
}

impl fmt::Display for Design {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let list = |numbers: &[u32]| {
            let numbers: Vec<String> = numbers.iter().map(u32::to_string).collect();
            numbers.join(",")
        };
        match self {
            Self::Scan => f.write_str("scan"),
            Self::OneTable => f.write_str("one-table"),
            Self::EvenParts(parts) => write!(f, "parts:{parts}"),
            Self::PartsOfWidths(widths) => write!(f, "parts:{}", list(widths)),
            Self::Blocks(blocks) => write!(f, "blocks:{blocks}"),
            Self::NestedBlocks(blocks) => write!(f, "nested:{blocks}"),
            Self::Qr11 => f.write_str("qr11"),
            Self::HalfSpaces => f.write_str("half-spaces"),
            Self::Random { tables, key_bits } => write!(f, "random:{tables},{key_bits}"),
            Self::Masks(tables) => {
                let tables: Vec<String> = tables
                    .iter()
                    .map(|table| format!("{:x}/{}", table.mask, table.radius))
                    .collect();
                write!(f, "masks:{}", tables.join(","))
            }
        }
    }
}
