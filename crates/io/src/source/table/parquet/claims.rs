//! Checks the counts that a Parquet footer states against the size of the footer, before the footer is parsed.
//!
//! The parser trusts two counts and allocates memory for them: the number of row groups, and the number of children of
//! each schema element. It also descends the schema recursively. The check reads the footer's Thrift encoding (compact
//! protocol) once, in linear time. It refuses lists that are longer than the remaining bytes, schemas with more
//! children than elements, and deep nesting.

/// The largest accepted depth of nested structs in the footer and of nested groups in the schema.
const MAX_DEPTH: usize = 64;

/// The number of the Thrift field `FileMetaData.schema`.
const SCHEMA: i64 = 2;
/// The number of the Thrift field `SchemaElement.num_children`.
const NUM_CHILDREN: i64 = 5;

/// Checks a footer. The error describes what is wrong.
pub(super) fn check(footer: &[u8]) -> Result<(), &'static str> {
    let mut walk = FooterWalk {
        rest: footer,
        children: Vec::new(),
    };
    walk.root()?;
    depth(&walk.children)
}

const FOOTER_CUT_OFF: &str = "the footer is truncated";

struct FooterWalk<'a> {
    rest: &'a [u8],
    /// The number of children that each schema element states, in order.
    children: Vec<u64>,
}

impl FooterWalk<'_> {
    fn root(&mut self) -> Result<(), &'static str> {
        let mut field = 0;
        while let Some(kind) = self.field(&mut field)? {
            if field == SCHEMA && kind == 9 {
                let (elements, kind) = self.list()?;
                for _ in 0..elements {
                    let children = if kind == 12 { self.element()? } else { 0 };
                    self.children.push(children);
                }
            } else {
                self.skip(kind, 1)?;
            }
        }
        Ok(())
    }

    /// Reads a schema element. Returns the number of children that it states.
    fn element(&mut self) -> Result<u64, &'static str> {
        let (mut field, mut children) = (0, 0);
        while let Some(kind) = self.field(&mut field)? {
            if field == NUM_CHILDREN && kind == 5 {
                // A negative count is odd in its zigzag encoding. It is replaced by the largest number, which is
                // refused later.
                let coded = self.varint()?;
                children = if coded & 1 == 0 { coded / 2 } else { u64::MAX };
            } else {
                self.skip(kind, 2)?;
            }
        }
        Ok(children)
    }

    /// Reads the header of the next field of a struct. Returns its type and stores its number in `number`. Returns
    /// `None` at the end of the struct.
    fn field(&mut self, number: &mut i64) -> Result<Option<u8>, &'static str> {
        let header = self.byte()?;
        if header == 0 {
            return Ok(None);
        }
        match header >> 4 {
            0 => {
                let coded = self.varint()?;
                *number = (coded >> 1) as i64 ^ -((coded & 1) as i64);
            }
            delta => *number = number.wrapping_add(i64::from(delta)),
        }
        Ok(Some(header & 15))
    }

    /// Reads the header of a list. Returns the length of the list and the type of its elements.
    fn list(&mut self) -> Result<(u64, u8), &'static str> {
        let header = self.byte()?;
        let length = match header >> 4 {
            15 => self.varint()?,
            short => u64::from(short),
        };
        // Every element of a list takes at least one byte, so a list cannot be longer than the remaining bytes.
        if length > self.rest.len() as u64 {
            return Err("the footer states more entries than it has bytes");
        }
        Ok((length, header & 15))
    }

    fn skip(&mut self, kind: u8, depth: usize) -> Result<(), &'static str> {
        if depth > MAX_DEPTH {
            return Err("the footer is nested too deeply");
        }
        match kind {
            // The value of a boolean field is part of the field's header, so no bytes follow.
            1 | 2 => Ok(()),
            3 => self.take(1),
            4..=6 => self.varint().map(|_| ()),
            7 => self.take(8),
            8 => {
                let length = self.varint()?;
                self.take(length)
            }
            9 | 10 => {
                let (length, kind) = self.list()?;
                for _ in 0..length {
                    match kind {
                        // A boolean in a list takes one byte.
                        1 | 2 => self.take(1)?,
                        kind => self.skip(kind, depth + 1)?,
                    }
                }
                Ok(())
            }
            12 => {
                let mut field = 0;
                while let Some(kind) = self.field(&mut field)? {
                    self.skip(kind, depth + 1)?;
                }
                Ok(())
            }
            _ => Err("the footer is no Thrift structure"),
        }
    }

    fn byte(&mut self) -> Result<u8, &'static str> {
        let (&first, rest) = self.rest.split_first().ok_or(FOOTER_CUT_OFF)?;
        self.rest = rest;
        Ok(first)
    }

    fn take(&mut self, length: u64) -> Result<(), &'static str> {
        let length = usize::try_from(length).map_err(|_| FOOTER_CUT_OFF)?;
        self.rest = self.rest.get(length..).ok_or(FOOTER_CUT_OFF)?;
        Ok(())
    }

    fn varint(&mut self) -> Result<u64, &'static str> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err("the footer has a number that never ends")
    }
}

/// Checks that the schema elements form one tree that is not too deep. Each element is followed by its children.
fn depth(children: &[u64]) -> Result<(), &'static str> {
    // For each open level of the tree, the number of children that are still expected.
    let mut open: Vec<u64> = Vec::new();
    for &count in children {
        if count > children.len() as u64 {
            return Err("the schema states more columns than it contains");
        }
        if let Some(last) = open.last_mut() {
            *last -= 1;
        }
        if count > 0 {
            open.push(count);
        }
        while open.last() == Some(&0) {
            open.pop();
        }
        if open.len() > MAX_DEPTH {
            return Err("the schema is nested too deeply");
        }
    }
    if open.is_empty() {
        Ok(())
    } else {
        Err("the schema states more columns than it contains")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A footer of a version and a schema list whose elements have the given numbers of children.
    fn footer(children: &[u8]) -> Vec<u8> {
        let mut bytes = vec![0x15, 2, 0x19, 0xfc, children.len() as u8];
        for &count in children {
            bytes.extend([0x55, count * 2, 0]);
        }
        bytes.push(0);
        bytes
    }

    #[test]
    fn a_consistent_footer_passes() {
        assert_eq!(check(&footer(&[2, 0, 1, 0])), Ok(()));
        assert_eq!(check(&footer(&[])), Ok(()));
    }

    #[test]
    fn claims_beyond_the_bytes_are_refused() {
        assert!(check(&footer(&[2, 0])).is_err());
        assert!(check(&footer(&[60, 0])).is_err());
        assert!(check(&footer(&[1; 100])).is_err(), "as deep as it is long");
        // Row groups: field 4, a list of 2^31 - 1 structs.
        assert!(check(&[0x49, 0xfc, 0xff, 0xff, 0xff, 0xff, 0x07, 0]).is_err());
        // A negative number of children.
        assert!(check(&[0x29, 0x1c, 0x55, 1, 0, 0]).is_err());
    }

    #[test]
    fn arbitrary_bytes_neither_panic_nor_loop() {
        proptest::proptest!(|(bytes: Vec<u8>)| { let _ = check(&bytes); });
        let nested = vec![0x1c; 1 << 20];
        assert!(check(&nested).is_err());
    }
}
