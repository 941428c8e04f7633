//! The encoding of manifests: round trips, damage, and later versions.

use proptest::prelude::*;

use super::*;

fn codec() -> impl Strategy<Value = Codec> {
    prop_oneof![
        Just(Codec::Packed(DirectoryForm::Compact)),
        Just(Codec::Packed(DirectoryForm::Plain)),
        Just(Codec::Packed(DirectoryForm::EliasFano)),
        (1u32..=1 << 16).prop_map(|page_rows| Codec::Huffman { page_rows }),
    ]
}

fn manifest() -> impl Strategy<Value = Manifest> {
    let digest = || any::<[u8; 8]>().prop_map(|content| Some(Digest::of(&content)));
    let deleted = (1u64.., digest()).prop_map(|(count, digest)| TombstoneFile {
        number: 0,
        count,
        digest,
    });
    let entry = (any::<[u64; 4]>(), digest(), prop::option::of(deleted)).prop_map(|(n, digest, deleted)| {
        SegmentEntry {
            number: 0,
            bytes: n[0],
            rows: n[1],
            ids: n[2]..=n[3],
            digest,
            deleted,
        }
    });
    let fields = (
        16u32..=128,
        0u32..25,
        any::<[u64; 2]>(),
        "[a-z0-9-]{0,40}",
        codec(),
    );
    let names = (any::<u64>(), any::<[u8; 8]>()).prop_map(|(count, content)| NamesFile {
        number: 0,
        count,
        digest: Digest::of(&content),
    });
    (
        fields,
        prop::collection::vec(entry, 0..6),
        prop::option::of(names),
    )
        .prop_map(|((bits, radius, n, label, codec), mut segments, mut names)| {
            let mut next = 1..;
            for e in &mut segments {
                e.number = next.next().unwrap();
                if let Some(deleted) = &mut e.deleted {
                    deleted.number = next.next().unwrap();
                }
            }
            if let Some(names) = &mut names {
                names.number = next.next().unwrap();
            }
            Manifest {
                version: if names.is_some() { VERSION } else { BOUND_VERSION },
                bits,
                radius,
                codec,
                label,
                generation: n[0],
                checkpoint: n[1],
                next: next.next().unwrap(),
                segments,
                names,
            }
        })
}

proptest! {
    #[test]
    fn decoding_restores_the_manifest(manifest in manifest()) {
        prop_assert_eq!(Manifest::decode(&manifest.encode()), Ok(manifest));
    }

    #[test]
    fn every_flipped_byte_and_every_truncation_is_detected(manifest in manifest(), mask in 1u8..) {
        let bytes = manifest.encode();
        for at in 0..bytes.len() {
            let mut flipped = bytes.clone();
            flipped[at] ^= mask;
            prop_assert!(matches!(Manifest::decode(&flipped), Err(ManifestError::Damaged(_))), "byte {}", at);
            prop_assert!(matches!(Manifest::decode(&bytes[..at]), Err(ManifestError::Damaged(_))), "{} bytes", at);
        }
        let longer = [&bytes[..], &[0]].concat();
        prop_assert!(Manifest::decode(&longer).is_err());
    }

    #[test]
    fn decoding_any_bytes_with_a_correct_checksum_causes_no_panic(mut body: Vec<u8>, from in manifest(), at: prop::sample::Index, byte: u8) {
        let _refused_or_not = Manifest::decode(&body);
        body = from.encode();
        body.truncate(body.len() - 4);
        let at = at.index(body.len());
        body[at] = byte;
        let sum = crc32fast::hash(&body);
        body.extend(sum.to_le_bytes());
        if let Ok(decoded) = Manifest::decode(&body) {
            // A manifest of this version must have digests; one of an earlier version has none.
            if decoded.version >= BOUND_VERSION {
                prop_assert_eq!(decoded.encode(), body);
            } else {
                prop_assert!(decoded.segments.iter().all(|e| !e.is_bound()));
            }
        }
    }
}

#[test]
fn a_later_version_is_reported() {
    let manifest = Manifest {
        version: BOUND_VERSION,
        bits: 64,
        radius: 3,
        codec: Codec::default(),
        label: String::new(),
        generation: 1,
        checkpoint: 0,
        next: 1,
        segments: Vec::new(),
        names: None,
    };
    let mut bytes = manifest.encode();
    bytes.truncate(bytes.len() - 4);
    bytes[8] = 5;
    let sum = crc32fast::hash(&bytes);
    bytes.extend(sum.to_le_bytes());
    assert_eq!(Manifest::decode(&bytes), Err(ManifestError::Version(5)));
}

#[test]
fn a_file_without_a_digest_is_refused() {
    let of = Some(Digest::of(b"content"));
    let with = |digest, of_deleted| Manifest {
        version: BOUND_VERSION,
        bits: 64,
        radius: 3,
        codec: Codec::default(),
        label: String::new(),
        generation: 1,
        checkpoint: 0,
        next: 3,
        segments: vec![SegmentEntry {
            number: 1,
            bytes: 0,
            rows: 1,
            ids: 0..=0,
            digest,
            deleted: Some(TombstoneFile {
                number: 2,
                count: 1,
                digest: of_deleted,
            }),
        }],
        names: None,
    };
    assert!(Manifest::decode(&with(of, of).encode()).is_ok());
    for unbound in [with(None, of), with(of, None), with(None, None)] {
        assert!(Manifest::decode(&unbound.encode()).is_err(), "{unbound:?}");
    }
}
