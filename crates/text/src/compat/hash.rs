//! Feature hashes of other libraries that no well-maintained crate implements.

/// Bob Jenkins' `lookup3` (<https://burtleburtle.net/bob/c/lookup3.c>): `hashlittle2` with both seeds 0. Its first
/// result is the high half of the hash.
pub(super) fn jenkins(bytes: &[u8]) -> u64 {
    let mut state = [0xDEAD_BEEF_u32.wrapping_add(bytes.len() as u32); 3];
    if bytes.is_empty() {
        return join(state);
    }
    // Each block has twelve bytes, except the last, which has 1 to 12 bytes and is mixed by other rules.
    let (blocks, last) = bytes.split_at((bytes.len() - 1) / 12 * 12);
    for block in blocks.chunks_exact(12) {
        add(&mut state, block);
        mix(&mut state);
    }
    add(&mut state, last);
    finish(&mut state);
    join(state)
}

fn join([_, b, c]: [u32; 3]) -> u64 {
    u64::from(c) << 32 | u64::from(b)
}

/// Adds a block of up to twelve bytes, padded with zeros, to the state.
fn add(state: &mut [u32; 3], block: &[u8]) {
    for (word, bytes) in state.iter_mut().zip(block.chunks(4)) {
        *word = word.wrapping_add(little_endian(bytes) as u32);
    }
}

fn mix([a, b, c]: &mut [u32; 3]) {
    for (turn_a, turn_b, turn_c) in [(4, 6, 8), (16, 19, 4)] {
        *a = a.wrapping_sub(*c) ^ c.rotate_left(turn_a);
        *c = c.wrapping_add(*b);
        *b = b.wrapping_sub(*a) ^ a.rotate_left(turn_b);
        *a = a.wrapping_add(*c);
        *c = c.wrapping_sub(*b) ^ b.rotate_left(turn_c);
        *b = b.wrapping_add(*a);
    }
}

fn finish([a, b, c]: &mut [u32; 3]) {
    *c = (*c ^ *b).wrapping_sub(b.rotate_left(14));
    *a = (*a ^ *c).wrapping_sub(c.rotate_left(11));
    *b = (*b ^ *a).wrapping_sub(a.rotate_left(25));
    *c = (*c ^ *b).wrapping_sub(b.rotate_left(16));
    *a = (*a ^ *c).wrapping_sub(c.rotate_left(4));
    *b = (*b ^ *a).wrapping_sub(a.rotate_left(14));
    *c = (*c ^ *b).wrapping_sub(b.rotate_left(24));
}

/// FNV-1 with 64 bits (<http://www.isthe.com/chongo/tech/comp/fnv/>). Existing crates have only FNV-1a.
pub(super) fn fnv1_64(bytes: impl IntoIterator<Item = u8>) -> u64 {
    bytes.into_iter().fold(0xCBF2_9CE4_8422_2325, |hash: u64, byte| {
        hash.wrapping_mul(0x0100_0000_01B3) ^ u64::from(byte)
    })
}

/// FNV-1 with 32 bits.
pub(super) fn fnv1_32(bytes: impl IntoIterator<Item = u8>) -> u32 {
    bytes.into_iter().fold(0x811C_9DC5, |hash: u32, byte| {
        hash.wrapping_mul(0x0100_0193) ^ u32::from(byte)
    })
}

/// Austin Appleby's `MurmurHash64A` with seed 0 and the bug of simhash-java: the bytes of an incomplete last block are
/// read as signed, so that a byte from 128 on flips all bits above it.
pub(super) fn murmur_of_java(bytes: &[u8]) -> u64 {
    const M: u64 = 0xC6A4_A793_5BD1_E995;
    let (blocks, last) = bytes.as_chunks::<8>();
    let mut hash = (bytes.len() as u64).wrapping_mul(M);
    for &block in blocks {
        let block = u64::from_le_bytes(block).wrapping_mul(M);
        hash = (hash ^ (block ^ block >> 47).wrapping_mul(M)).wrapping_mul(M);
    }
    for (&byte, shift) in last.iter().zip((0..).step_by(8)) {
        hash ^= (i64::from(byte.cast_signed()) << shift).cast_unsigned();
    }
    if !last.is_empty() {
        hash = hash.wrapping_mul(M);
    }
    hash = (hash ^ hash >> 47).wrapping_mul(M);
    hash ^ hash >> 47
}

/// Up to eight bytes as a little-endian number.
fn little_endian(bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .rev()
        .fold(0, |number, &byte| number << 8 | u64::from(byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn published_values() {
        // From driver5 in lookup3.c.
        assert_eq!(jenkins(b""), 0xDEAD_BEEF_DEAD_BEEF);
        assert_eq!(jenkins(b"Four score and seven years ago"), 0x1777_0551_CE72_26E6);
        // From the tests of Go's hash/fnv.
        assert_eq!(fnv1_64(*b""), 0xCBF2_9CE4_8422_2325);
        assert_eq!(fnv1_64(*b"abc"), 0xD8DC_CA18_6BAF_ADCB);
        assert_eq!(fnv1_32(*b""), 0x811C_9DC5);
        assert_eq!(fnv1_32(*b"abc"), 0x439C_2F4B);
        assert_eq!(murmur_of_java(b""), 0);
    }
}
