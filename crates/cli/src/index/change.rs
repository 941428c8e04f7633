//! `twinprint index add`, `delete` and `compact`

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow};
use clap::ValueHint;
use twinprint::raw::RawFiles;
use twinprint::store::{Index, Options, Upkeep};
use twinprint::{ProfileLabel, Width};

use super::Directory;
use super::adding::{Add, NoteFile};
use super::files::IdArgs;
use super::memory::MemoryArgs;
use super::names::{self, AddedNames};
use super::profile::{self, ProfileArgs};
use super::resume::INTERRUPTED;
use super::segment_build::SegmentBuild;
use super::width::at_width;
use crate::usage::UsageError;
use crate::{number, terminal};

/// Adds files of fingerprints to an index: all of them, or none if the command fails or is interrupted by Ctrl-C
///
/// If the command is interrupted or killed, run it again: it starts over. If it was killed after its fingerprints were
/// committed, the same command adds nothing a second time; to find out, it reads its files once more.
#[derive(clap::Args)]
pub(super) struct AddArgs {
    #[command(flatten)]
    directory: Directory,

    /// Files of fingerprints, as for `index build`. If a Parquet file has an id that exists in the index, its
    /// fingerprint replaces the stored one. If the ids of the index are names, the files must have names too
    #[arg(required = true, value_name = "FILE", value_hint = ValueHint::FilePath)]
    inputs: Vec<PathBuf>,

    #[command(flatten)]
    ids: IdArgs,

    #[command(flatten)]
    profile: ProfileArgs,

    #[command(flatten)]
    memory: MemoryArgs,

    /// Id of the first fingerprint [default: the next free id]. If an id exists in the index, the new fingerprint
    /// replaces the stored one
    #[arg(long, value_name = "ID", value_parser = number::parse_count::<u64>)]
    first_id: Option<u64>,

    /// Show no progress
    #[arg(short, long)]
    quiet: bool,
}

/// Deletes ids: queries no longer find them. Merging segments removes them from the disk
#[derive(clap::Args)]
pub(super) struct DeleteArgs {
    #[command(flatten)]
    directory: Directory,

    /// Ids to delete; ids that are not in the index are ignored
    #[arg(value_name = "ID")]
    id: Vec<String>,

    /// File of ids to delete, one per line
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    ids: Option<PathBuf>,
}

/// Merges all segments of an index into one, which is faster to search, and removes deleted ids from the disk
#[derive(clap::Args)]
pub(super) struct CompactArgs {
    #[command(flatten)]
    directory: Directory,
}

impl Directory {
    /// Opens the index as its only writer.
    fn open<W: Width>(&self) -> anyhow::Result<Index<W>> {
        let options = Options {
            upkeep: Upkeep::Caller,
            ..Options::default()
        };
        Ok(Index::open(&self.index, &options)?)
    }
}

pub(super) fn add(args: &AddArgs) -> anyhow::Result<()> {
    let files = args.ids.open(&args.inputs)?;
    if (files.has_ids() || files.has_names()) && args.first_id.is_some() {
        let refused =
            "the files have ids of their own; leave out --first-id, or ignore these ids with --positions";
        return Err(UsageError(refused.to_owned()).into());
    }
    at_width!(args.directory.bits()?, add_files(args, &files))
}

fn add_files<W: Width>(args: &AddArgs, files: &RawFiles) -> anyhow::Result<()> {
    let index = args.directory.open::<W>()?;
    files.check_bits(W::BITS)?;
    let stored = ProfileLabel::read(&index.settings().label);
    profile::check_same(stored.as_ref(), args.profile.label(files)?.as_ref())?;
    let names = index.names();
    names::check_kind(&args.directory.index, names.as_deref(), files)?;
    let first = args.first_id.unwrap_or(index.checkpoint());
    let mut gather = SegmentBuild::new(args.quiet, &args.memory)?;
    let note = NoteFile::in_dir(&args.directory.index);
    // Fingerprints with given ids need no note: if they are added again, each replaces itself.
    let takes_next = !files.has_ids() && names.is_none() && args.first_id.is_none();
    if let Some(killed) = note.read()?
        && takes_next
        && killed.is_last(files.len(), first)
        && killed.digest == gather.digest::<W>(files, first, INTERRUPTED)?
    {
        let _lock = index.close();
        note.end()?;
        terminal::note(
            "an earlier run of this command was killed after it had added the fingerprints; they are not added again",
        );
        return say_added(args, files, killed.ids.start);
    }
    if !files.has_ids() && first.checked_add(files.len()).is_none() {
        let free = u64::MAX - first;
        let whose = match args.first_id {
            Some(_) => format!("--first-id {first}"),
            None => format!(
                "the next free id of {} is {first}",
                args.directory.index.display()
            ),
        };
        let refused = format!(
            "{whose}: ids remain for only {}; choose a smaller --first-id, or give ids with --ids",
            number::counted(free, "fingerprint")
        );
        return Err(UsageError(refused).into());
    }
    let options = gather.options::<W>(files, first, index.settings(), None, None)?;
    // The note of an earlier add is removed first. Otherwise this add, if it is killed, could be mistaken for that one.
    note.remove()?;
    // The positions of named fingerprints, from 0 on, are replaced by the numbers of their names.
    let mut first_position = first;
    if let Some(names) = names {
        let added = AddedNames::find(files, &names, args.memory.bytes())?;
        if !added.new.is_empty() {
            index.append_names(|writer| added.new.iter().try_for_each(|name| writer.push(name)))?;
        }
        first_position = 0;
        gather = gather.with_ids(added.ids);
    }
    let added = index.add_segment(|path| {
        let gathered = gather.segment(files, first_position, path, &options)?;
        if takes_next {
            let ids = first..gathered.next;
            let digest = gathered.digest;
            note.write(&Add { digest, ids })?;
        }
        // Sets the next free id. The commit that adds the segment makes it durable.
        index.mark(index.checkpoint().max(gathered.next))?;
        anyhow::Ok(gathered.segment)
    });
    gather.finish();
    // The fingerprints may be committed even if an error is returned. The note then stays, so that the next add can
    // find out.
    added?;
    // Removing the note is the last change on the disk. If the process is killed before, the note is still there.
    let _lock = index.close();
    note.end()?;
    say_added(args, files, first)
}

fn say_added(args: &AddArgs, files: &RawFiles, first: u64) -> anyhow::Result<()> {
    let ids = match files.len() {
        n if n == 0 || files.has_ids() || files.has_names() => String::new(),
        n => format!(", ids {first} to {}", first + (n - 1)),
    };
    terminal::out(&format!(
        "{}: {} added{ids}\n",
        args.directory.index.display(),
        number::counted(files.len(), "fingerprint")
    ))
}

pub(super) fn delete(args: &DeleteArgs) -> anyhow::Result<()> {
    if args.id.is_empty() && args.ids.is_none() {
        return Err(
            UsageError("nothing to delete: name ids, or a file of them with --ids".to_owned()).into(),
        );
    }
    at_width!(args.directory.bits()?, delete_ids(args))
}

/// Parses the ids to delete as numbers.
fn numbers(args: &DeleteArgs, lines: &[(usize, &str)]) -> anyhow::Result<Vec<u64>> {
    let mut ids = Vec::new();
    for id in &args.id {
        let parsed = number::parse_count(id);
        ids.push(parsed.map_err(|error| UsageError(format!("{id:?} is not an id; {error}")))?);
    }
    for (line, id) in lines {
        let path = args.ids.as_deref().unwrap_or(Path::new("")).display();
        let parsed = number::parse_count(id);
        ids.push(parsed.map_err(|error| anyhow!("{path}:{line}: {id:?} is not an id; {error}"))?);
    }
    ids.sort_unstable();
    ids.dedup();
    Ok(ids)
}

fn delete_ids<W: Width>(args: &DeleteArgs) -> anyhow::Result<()> {
    let text = match &args.ids {
        None => String::new(),
        Some(path) => {
            fs::read_to_string(path).with_context(|| format!("{} cannot be read", path.display()))?
        }
    };
    let lines = (1..)
        .zip(text.lines())
        .filter(|(_, line)| !line.trim().is_empty());
    let lines: Vec<(usize, &str)> = lines.collect();
    // The ids are checked before the index is opened for writing, unless they may be names.
    let committed = super::read::<W>(&args.directory.index)?;
    let (ids, given) = match &committed.names {
        None => {
            let ids = numbers(args, &lines)?;
            let given = ids.len();
            (ids, given)
        }
        Some(names) => {
            let given = args.id.iter().cloned();
            let mut given: Vec<String> = given
                .chain(lines.iter().map(|(_, id)| (*id).to_owned()))
                .collect();
            given.sort_unstable();
            given.dedup();
            (names::ids_of(names, &given), given.len())
        }
    };
    drop(committed);
    let index = args.directory.open::<W>()?;
    let deleted = index.delete_known(ids)?;
    index.commit()?;
    let unknown = match given as u64 - deleted {
        0 => String::new(),
        n => format!(", {} not in the index", number::count(n)),
    };
    terminal::out(&format!(
        "{}: {} deleted{unknown}\n",
        args.directory.index.display(),
        number::counted(deleted, "id")
    ))
}

pub(super) fn compact(args: &CompactArgs) -> anyhow::Result<()> {
    at_width!(args.directory.bits()?, merge(args))
}

fn merge<W: Width>(args: &CompactArgs) -> anyhow::Result<()> {
    let index = args.directory.open::<W>()?;
    let before = index.snapshot().rows();
    index.compact()?;
    let after = index.snapshot().rows();
    terminal::out(&format!(
        "{}: {} fingerprints in one segment, {} deleted ones removed from the disk\n",
        args.directory.index.display(),
        number::count(after),
        number::count(before - after)
    ))
}
