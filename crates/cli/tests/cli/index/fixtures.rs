//! Stored indexes of every width: those that an earlier release wrote, and those of today's format. See the crate `index`.

use std::fs;
use std::path::PathBuf;

use super::brute::{Stored, brute, brute_pairs, bytes, joined};
use super::{number, rows};
use crate::sandbox::Sandbox;

/// The fingerprints of ids 0 to 59 in the fixtures, of which 3 and 7 are deleted.
fn fingerprint(id: u64, bits: u32) -> u128 {
    (u128::from(number(id)) | u128::from(number(id + 1)) << 64) & (u128::MAX >> (128 - bits))
}

/// Copies a fixture into the directory `seen` of a sandbox.
fn with_fixture(name: &str) -> Sandbox {
    let sandbox = Sandbox::new();
    let fixture = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("../index/testdata")
        .join(name);
    for file in fs::read_dir(fixture).unwrap() {
        let path = file.unwrap().path();
        let name = match path.file_name().unwrap().to_str().unwrap() {
            "manifest-1" | "manifest-2" => continue,
            "manifest-3" => "manifest",
            name => name,
        };
        sandbox.put(&format!("seen/{name}"), fs::read(&path).unwrap());
    }
    sandbox
}

#[test]
fn stored_indexes_with_names_answer_and_can_be_changed() {
    for bits in [32, 64, 128] {
        let sandbox = with_fixture(&format!("named-{bits}"));
        let digits = bits as usize / 4;
        let exported = |gone: &[u64]| {
            let expected: Vec<String> = (0..60)
                .filter(|id| !gone.contains(id))
                .map(|id| format!("page {id},{:0digits$x}", fingerprint(id, bits)))
                .collect();
            let run = sandbox.run("index export seen --format csv -q").ok();
            assert_eq!(run.stdout, format!("id,fingerprint\n{}\n", expected.join("\n")));
            sandbox.run("index check seen").ok();
        };
        exported(&[3, 7]);
        sandbox.put("gone", "page 8\npage 50\n");
        sandbox.run("index delete seen --ids gone").ok();
        exported(&[3, 7, 8, 50]);
        sandbox.run("index compact seen").ok();
        exported(&[3, 7, 8, 50]);
    }
}

#[test]
fn stored_indexes_of_every_width_answer_every_command_and_can_be_changed() {
    for (name, bits) in [
        ("earlier-64-packed", 64),
        ("earlier-64-elias-fano", 64),
        ("earlier-64-huffman", 64),
        ("index-32", 32),
        ("index-64", 64),
        ("index-128", 128),
    ] {
        let sandbox = with_fixture(name);
        let checked = sandbox.run("index check seen").ok().stdout;
        assert_eq!(
            checked, "seen: undamaged; 58 fingerprints in 2 segments\n",
            "{name}"
        );
        let stat = sandbox.run("index stat seen").ok().stdout;
        assert!(
            stat.contains(&format!(
                "60  of {bits} bits, planned for k = 3, tp1-words-lntf-64"
            )),
            "{name}: {stat}"
        );
        let stored: Stored = (0..60)
            .filter(|id| ![3, 7].contains(id))
            .map(|id| (id, fingerprint(id, bits)))
            .collect();
        // Each query is one bit from a stored or a deleted fingerprint.
        let queries: Vec<u128> = (0..60)
            .map(|id| fingerprint(id, bits) ^ 1 << (id % u64::from(bits)))
            .collect();
        sandbox.put(&format!("q.u{bits}"), bytes(queries.iter().copied(), bits));
        let check = |stored: &Stored| {
            for k in [0, 1, 3, bits / 3] {
                for scan in ["--scan=never", "--scan"] {
                    let args = format!("index query seen --queries q.u{bits} -k {k} --format csv -q {scan}");
                    assert_eq!(
                        rows(&sandbox.run(&args).ok()),
                        brute(stored, &queries, k),
                        "{name}, k = {k}"
                    );
                }
            }
            assert_eq!(
                joined(&sandbox, &format!("seen -k {}", bits / 3)),
                brute_pairs(stored, None, bits / 3),
                "{name}"
            );
        };
        check(&stored);
        // The next free id is 60.
        sandbox.run(&format!("index add seen q.u{bits} -q")).ok();
        sandbox.run("index delete seen 50 61").ok();
        let mut changed = stored.clone();
        changed.extend((60..).zip(queries.iter().copied()));
        changed.retain(|(id, _)| ![50, 61].contains(id));
        check(&changed);
        sandbox.run("index compact seen").ok();
        check(&changed);
        sandbox.run("index check seen").ok();
    }
}
