//! The summary of a `dedup` run, in a dozen lines.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use twinprint::source::{EARLIER_RESULT, EXCLUDED, EXCLUDED_FOLDER, NOT_INCLUDED};
use twinprint::{MAX_RADIUS, PartsReport, RecallReport, Report};

use crate::intake;
use crate::number::{bytes, count, counted, percent, seconds};

/// Formats the summary of a dedup run, whose result is in the directory `out`.
pub(crate) fn summary(report: &Report, out: &Path) -> String {
    let mut text = String::new();
    // Writing to a `String` cannot fail.
    let _ = write(&mut text, report, out);
    text
}

fn write(text: &mut String, report: &Report, out: &Path) -> std::fmt::Result {
    let records = &report.records;
    // The same base as in the report, so that the shares of kept, removed and rejected records add up.
    let read = records.read.max(1);
    writeln!(text)?;
    writeln!(
        text,
        "  read      {:>12}  records in {}, {}",
        count(records.read),
        counted(report.input.files, "file"),
        bytes(report.input.bytes)
    )?;
    writeln!(
        text,
        "  kept      {:>12}  {}",
        count(records.kept),
        percent(records.kept, read)
    )?;
    writeln!(
        text,
        "  removed   {:>12}  {} ({})",
        count(records.removed),
        percent(records.removed, read),
        reasons(report)
    )?;
    if records.empty > 0 {
        let treatment = if records.removed_empty > 0 {
            "removed"
        } else {
            "kept; --empty remove or reject drops them"
        };
        writeln!(
            text,
            "  empty     {:>12}  texts without words, {treatment}",
            count(records.empty)
        )?;
    }
    if records.rejected > 0 {
        let by: Vec<String> = records
            .rejected_by
            .iter()
            .map(|(kind, n)| format!("{} {kind}", count(*n)))
            .collect();
        writeln!(
            text,
            "  rejected  {:>12}  {} ({}): see rejects.jsonl",
            count(records.rejected),
            percent(records.rejected, read),
            by.join(", ")
        )?;
    }
    if records.repeated_ids > 0 {
        writeln!(
            text,
            "  same id   {:>12}  records with the id of an earlier one; source and line tell them apart",
            count(records.repeated_ids)
        )?;
    }
    if let Some((files, row)) = intake::damaged_row(&report.intake) {
        writeln!(text, "  damaged   {:>12}  {row}", count(files))?;
    }
    if !report.input.other_records.is_empty() {
        let by: Vec<String> = report
            .input
            .other_records
            .iter()
            .map(|(kind, n)| format!("{} {kind}", count(*n)))
            .collect();
        let other: u64 = report.input.other_records.values().sum();
        writeln!(
            text,
            "  other     {:>12}  records that are not documents: {}",
            count(other),
            by.join(", ")
        )?;
    }
    for (n, reason) in skipped(&report.input.skipped) {
        writeln!(text, "  skipped   {:>12}  {reason}", count(n))?;
    }
    reading(text, report)?;
    if let Some(order) = &report.order {
        let saved = 100.0 * (1.0 - order.zstd_after as f64 / order.zstd_before.max(1) as f64);
        writeln!(
            text,
            "  order     {:>12}  compressed with zstd; {} in the order of the input: {} {:.1} %",
            bytes(order.zstd_after),
            bytes(order.zstd_before),
            if saved < 0.0 { "larger by" } else { "smaller by" },
            saved.abs()
        )?;
    }
    groups(text, report)?;
    search(text, report)?;
    writeln!(
        text,
        "\n  {} shows all this and the texts side by side",
        out.join("report.html").display()
    )
}

/// The number of records removed for each reason other than near-duplicates, as text.
fn reasons(report: &Report) -> String {
    let records = &report.records;
    let equal = if report.threshold.is_some() {
        "of equal text"
    } else {
        "of equal fingerprint"
    };
    let others = [
        (records.removed_known, "known from before"),
        (records.removed_empty, "without words"),
    ];
    let others = others.into_iter().filter(|&(n, _)| n > 0);
    let reasons: Vec<String> = std::iter::once((records.removed_equal, equal))
        .chain(others)
        .map(|(n, reason)| format!("{} {reason}", count(n)))
        .collect();
    reasons.join(", ")
}

/// For each reason: the number of files and folders that were skipped, and the reason in words.
pub(crate) fn skipped(by: &BTreeMap<String, u64>) -> impl Iterator<Item = (u64, &'static str)> {
    let named = [
        (
            EARLIER_RESULT,
            [
                "folder with the result of an earlier run",
                "folders with the result of an earlier run",
            ],
        ),
        (EXCLUDED, ["file excluded", "files excluded"]),
        (
            EXCLUDED_FOLDER,
            [
                "folder excluded, with everything in it",
                "folders excluded, with everything in them",
            ],
        ),
        (NOT_INCLUDED, ["file not included", "files not included"]),
    ];
    let of = |kind: &str| by.get(kind).copied().unwrap_or(0);
    let others = by.values().sum::<u64>() - named.iter().map(|(kind, _)| of(kind)).sum::<u64>();
    let first = (others, ["file of another kind", "files of other kinds"]);
    let rows = [first]
        .into_iter()
        .chain(named.map(|(kind, words)| (of(kind), words)));
    let there: Vec<_> = rows.filter(|&(n, _)| n > 0).collect();
    there
        .into_iter()
        .map(|(n, [one, many])| (n, if n == 1 { one } else { many }))
}

/// Describes the input that was not read, and the files that were read in another way than their extension suggests.
fn reading(text: &mut String, report: &Report) -> std::fmt::Result {
    let input = &report.input;
    if input.limit_reached {
        let files = match input.files_not_begun {
            0 => String::new(),
            n => format!("; {} not begun", counted(n, "file")),
        };
        writeln!(
            text,
            "  limit     {:>12}  records, and nothing after them was read{files}",
            count(report.records.read)
        )?;
    }
    if !input.read_as_text.is_empty() {
        let by = input.read_as_text.iter();
        let by: Vec<String> = by
            .map(|(extension, n)| format!("{} {extension}", count(*n)))
            .collect();
        writeln!(
            text,
            "  as text   {:>12}  files whose extensions name another format or none: {}",
            count(input.read_as_text.values().sum()),
            by.join(", ")
        )?;
    }
    if input.repeated_files > 0 {
        writeln!(
            text,
            "  repeated  {:>12}  named again, and read once",
            counted(input.repeated_files, "file")
        )?;
    }
    if !input.empty_inputs.is_empty() {
        writeln!(
            text,
            "  empty     {:>12}  without a file to read: {}",
            counted(input.empty_inputs.len() as u64, "folder"),
            input.empty_inputs.join(", ")
        )?;
    }
    Ok(())
}

fn groups(text: &mut String, report: &Report) -> std::fmt::Result {
    if report.clusters.count == 0 {
        return writeln!(text, "\n  no near-duplicates");
    }
    let largest = report.clusters.sizes.keys().next_back().copied().unwrap_or(0);
    writeln!(
        text,
        "\n  {} of near-duplicates, the largest of {}:",
        counted(report.clusters.count, "group"),
        count(u64::from(largest))
    )?;
    for group in report.largest.iter().take(5) {
        writeln!(
            text,
            "  {:>7} × {}",
            count(u64::from(group.size)),
            shorten(&group.leader, 76)
        )?;
        if let Some(member) = group.members.first() {
            writeln!(text, "          = {}", shorten(member, 76))?;
        }
    }
    Ok(())
}

fn search(text: &mut String, report: &Report) -> std::fmt::Result {
    let search = &report.search;
    if report.recall.is_some_and(|recall| recall.exact) {
        writeln!(
            text,
            "\n{}",
            folded(&format!("recall 1: {}", report.radius.reason))
        )?;
    } else {
        let radius = format!(
            "{} bits, radius {}: {}",
            report.radius.bits, report.radius.k, report.radius.reason
        );
        writeln!(text, "\n{}", folded(&radius))?;
    }
    for sentence in report
        .recall
        .iter()
        .flat_map(|recall| measured_recall(recall, report))
    {
        writeln!(text, "{}", folded(&sentence))?;
    }
    let candidates = counted(
        search.fingerprint_candidates + search.shingle_candidates,
        "candidate",
    );
    let (a_document, short) = (
        search.candidates_a_document,
        counted(search.short_texts, "short text"),
    );
    let found = if report.threshold.is_some() {
        format!(
            "{candidates} ({a_document:.2} per document), {} verified, {}; {short} joined by shingles",
            count(search.verified),
            counted(search.duplicates, "duplicate pair"),
        )
    } else {
        format!(
            "{candidates} ({a_document:.2} per document), none verified; {short}, whose fingerprints are unreliable"
        )
    };
    writeln!(text, "{}", folded(&found))?;
    if let Some(parts) = report.parts {
        for sentence in partial_copies(&parts) {
            writeln!(text, "{}", folded(&sentence))?;
        }
    }
    if let Some(row) = report.hot_rows.first() {
        let hot = format!(
            "{}; the one with the most texts is {}, with {} and {} (such as document {})",
            counted(report.hot_rows.len() as u64, "hot fingerprint"),
            row.fingerprint,
            counted(row.texts, "text"),
            counted(row.neighbors, "neighbour"),
            shorten(&row.example, 40)
        );
        writeln!(text, "{}", folded(&hot))?;
    }
    let memory = report
        .run
        .peak_memory_bytes
        .map_or_else(String::new, |peak| format!(", {} of memory", bytes(peak)));
    let rate = report.input.bytes as f64 / report.run.seconds.max(1e-9);
    writeln!(
        text,
        "  {} ({}/s){memory}",
        seconds(report.run.seconds),
        bytes(rate as u64)
    )
}

/// Sentences about the measured recall, and about how to raise a low one.
fn measured_recall(recall: &RecallReport, report: &Report) -> Vec<String> {
    let mut sentences = Vec::new();
    if let Some(measured) = recall.recall.filter(|_| !recall.exact) {
        sentences.push(format!(
            "recall {measured:.4} at the threshold (95 % interval {:.4} to {:.4}): {} of {} found, one for each text \
             with duplicates among {} joined with all texts",
            recall.low,
            recall.high,
            count(recall.found),
            counted(recall.trials, "pair"),
            counted(recall.sampled, "sampled text"),
        ));
    }
    if recall.has_few_trials() {
        sentences.push(format!(
            "{} of {} sampled texts have duplicates, too few to show a recall of {}",
            count(recall.trials),
            count(recall.sampled),
            RecallReport::WANTED
        ));
    }
    if recall.may_be_low() {
        let (bits, k) = (report.radius.bits, report.radius.k);
        let widest = MAX_RADIUS
            .iter()
            .find(|radius| radius.0 == bits)
            .map_or(k, |radius| radius.1);
        let remedy = match (k < widest, bits) {
            (true, _) => format!("-k {} finds more", (k + k / 3 + 1).min(widest)),
            (false, 64) => "--bits 128 finds more".to_owned(),
            (false, _) => "a higher --threshold has a higher recall".to_owned(),
        };
        sentences.push(format!(
            "warning: the recall may be below {}; {remedy}",
            RecallReport::WANTED
        ));
    }
    sentences
}

/// Sentences about partial copies: the numbers of rows written, and of passages left out.
fn partial_copies(parts: &PartsReport) -> Vec<String> {
    let (many, least) = (
        PartsReport::MAX_PAIRED_TEXTS,
        format!("{:.0} %", 100.0 * parts.least),
    );
    let mut sentences = vec![format!(
        "{} of partial copies in parts.jsonl: one text contains at least {least} of the other",
        counted(parts.rows, "pair"),
    )];
    if parts.passages > 0 {
        sentences.push(format!(
            "{} in passages.jsonl, each shared by more than {many} texts, in {}: one for each text that holds a passage; the most frequent passage has {}",
            counted(parts.passages, "passage"),
            counted(parts.holders, "row"),
            counted(parts.most_holders, "holder"),
        ));
    }
    if parts.small_passages > 0 {
        sentences.push(format!(
            "left out: {} that more than {many} texts share, but less than {least} of each text",
            counted(parts.small_passages, "passage"),
        ));
    }
    if parts.phrases > 0 {
        sentences.push(format!(
            "left out: {} that more than {many} texts share, because no passage that was found contains them",
            counted(parts.phrases, "fingerprint"),
        ));
    }
    if parts.limited > 0 {
        sentences.push(format!(
            "left out: {} that more than {many} texts share, after the largest number of comparisons that the search allows",
            counted(parts.limited, "fingerprint"),
        ));
    }
    if parts.unplaced > 0 {
        sentences.push(format!(
            "{} of passages cannot be located in the original text (null in the files)",
            counted(parts.unplaced, "place"),
        ));
    }
    sentences
}

/// Width of the summary in columns, which fits narrow terminals.
const TERMINAL_COLUMNS: usize = 80;

/// Wraps a sentence into lines. The first line is indented by two columns, the others by four.
fn folded(sentence: &str) -> String {
    let (mut folded, mut column) = (String::from(" "), 1);
    for word in sentence.split(' ') {
        let width = word.chars().count();
        if column + 1 + width > TERMINAL_COLUMNS - 1 && column > 4 {
            folded.push_str("\n   ");
            column = 3;
        }
        folded.push(' ');
        folded.push_str(word);
        column += 1 + width;
    }
    folded
}

/// Shortens a name to at most `most` characters. The end stays, because it distinguishes names better than the
/// beginning.
fn shorten(name: &str, most: usize) -> String {
    let length = name.chars().count();
    if length <= most {
        return name.to_owned();
    }
    let tail: String = name.chars().skip(length - most + 1).collect();
    format!("…{tail}")
}
