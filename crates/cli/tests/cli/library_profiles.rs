//! `fingerprint --profile` with the profiles of other libraries, their dictionaries, and secret keys.

use crate::sandbox::Sandbox;

fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    let rows = "{\"id\":\"a\",\"text\":\"this is a test phrase\"}\n{\"id\":\"b\",\"text\":\"1 x\"}\n";
    sandbox.put("in.jsonl", rows);
    sandbox
}

#[test]
fn profiles_of_other_libraries_make_their_fingerprints() {
    let sandbox = sandbox();
    for (name, row) in [
        ("mfonda", "8c3a5f7e9ecb3f35\ta"),
        ("allendang", "8f2ecea2\ta"),
        ("1e0ng", "cab7c4d10a7c5292\ta"),
    ] {
        let run = sandbox.run(&format!(
            "fingerprint in.jsonl --quiet --format-out tsv --profile {name}"
        ));
        let run = run.ok();
        assert_eq!(run.stdout.lines().next(), Some(row), "{name}");
    }
    let run = sandbox.run("fingerprint in.jsonl --profile seomoz --strict");
    run.fails(
        1,
        &[
            "rejected in.jsonl:1: not a 64-bit hash: \"this\"",
            "none of the records is a document: 2 rejected",
        ],
    );
}

#[test]
fn a_missing_or_broken_dictionary_is_an_error() {
    let sandbox = sandbox();
    let run = sandbox.run("fingerprint in.jsonl --profile cppjieba-top5");
    run.fails(2, &["--profile cppjieba-top5: needs --dictionary DIR"]);
    sandbox.put("dict/idf.utf8", "word 3\n");
    let run = sandbox.run("fingerprint in.jsonl --profile cppjieba --dictionary dict");
    run.fails(1, &["--dictionary", "stop_words.utf8"]);
    let run = sandbox.run("fingerprint in.jsonl --dictionary dict");
    run.fails(2, &["takes no --dictionary"]);
    let model = "0 0 0 0\n0 0 0 0\n0 0 0 0\n0 0 0 0\n0 0 0 0\n中:0\n中:0\n中:0\n中:0\n";
    sandbox.put("dict/stop_words.utf8", "is\n");
    sandbox.put("dict/jieba.dict.utf8", "中文 9 n\n");
    sandbox.put("dict/hmm_model.utf8", model);
    let run = sandbox.run("fingerprint in.jsonl --profile cppjieba --dictionary dict --quiet");
    let run = run.ok();
    assert!(run.stdout.contains("\"features\":3"), "{}", run.stdout);
}

#[test]
fn a_key_needs_its_id_and_an_id_needs_its_key() {
    let sandbox = sandbox();
    sandbox.put("key", "000102030405060708090a0b0c0d0e0f\n");
    sandbox.put("short", "00010203 this is a secret");
    let plain = sandbox.run("fingerprint in.jsonl --quiet").ok();
    let keyed = sandbox
        .run("fingerprint in.jsonl --quiet --profile tp1-words-lntf-64+key.mine --key key")
        .ok();
    assert_ne!(plain.stdout, keyed.stdout);
    let run = sandbox.run("fingerprint in.jsonl --profile tp1-words-lntf-64+key.mine");
    run.fails(2, &["needs --key FILE, the file of the secret key mine"]);
    let run = sandbox.run("fingerprint in.jsonl --key key");
    run.fails(2, &["must end in +key.ID"]);
    let run = sandbox.run("fingerprint in.jsonl --profile mfonda --key key");
    run.fails(2, &["--profile mfonda: cannot be combined with"]);
    let run = sandbox.run("fingerprint in.jsonl --profile tp1-words-lntf-64+key.mine --key short");
    let run = run.fails(1, &["--key short: expected 32 hexadecimal digits"]);
    assert!(!run.stderr.contains("secret"), "{}", run.stderr);
}

#[test]
fn dedup_refuses_profiles_of_other_libraries_and_keys() {
    let sandbox = sandbox();
    let run = sandbox.run("dedup in.jsonl -o out --profile 1e0ng");
    run.fails(
        2,
        &["--profile 1e0ng: this command cannot use the fingerprints of another library"],
    );
    let run = sandbox.run("dedup in.jsonl -o out --profile tp1-words-lntf-64+key.mine");
    run.fails(2, &["has no option for a key"]);
}
