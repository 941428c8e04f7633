//! Reads and parses files without fingerprinting them, to time it: `time cargo run --release --example read -- FILE…`.
//!
//! One thread cuts, this one parses: divide the bytes by the CPU seconds for the speed of a core.
#![expect(clippy::print_stdout, reason = "it is what the example is for")]

use twinprint::source::{RecordKind, SourceOptions, Sources};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let inputs: Vec<String> = std::env::args().skip(1).collect();
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
