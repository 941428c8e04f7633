//! Reads and parses files without making fingerprints, to measure the speed of reading: `time cargo bench -p twinprint
//! --bench read -- FILE…`.
//!
//! One thread splits the input into records, and the main thread parses them. The speed of one core is the number of
//! bytes divided by the CPU seconds.
#![expect(clippy::print_stdout, reason = "the figures are the output")]

use twinprint::source::{RecordKind, SourceOptions, Sources};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    // `cargo bench` adds the argument `--bench`, which is ignored.
    let inputs: Vec<String> = std::env::args()
        .skip(1)
        .filter(|argument| argument != "--bench")
        .collect();
    let options = SourceOptions::default();
    let sources = Sources::discover(&inputs, &options, &std::env::temp_dir())?;
    let (mut documents, mut rejects, mut bytes) = (0u64, 0u64, 0u64);
    for batch in sources.read(8 << 20) {
        for chunk in &batch?.chunks {
            chunk.documents(&options, &mut |record| match record.kind {
                RecordKind::Document { text, .. } => {
                    documents += 1;
                    bytes += text.len() as u64;
                }
                RecordKind::Rejected { .. } => rejects += 1,
                RecordKind::Blank | RecordKind::Other { .. } => {}
            });
        }
    }
    let input = sources.total_bytes();
    println!("{input} bytes of input, {documents} documents with {bytes} bytes of text, {rejects} rejects");
    Ok(())
}
