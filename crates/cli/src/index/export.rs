//! `twinprint index export`

use std::io::{BufWriter, IntoInnerError, Write};
use std::marker::PhantomData;
use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow};
use clap::ValueHint;
use twinprint::Width;
use twinprint::index_export::{SortSpace, export};
use twinprint::raw::{Column, ColumnKind, NewFile, PROFILE_NOTE, RowValue};
use twinprint::segment::SegmentError;
use twinprint::store::Committed;

use super::Directory;
use super::memory::{MEMORY_HELP, within_memory};
use super::names::id_value;
use super::rows::{RowArgs, RowFormat};
use super::width::at_width;
use crate::own_input::refuse_own_input;
use crate::progress::Bars;
use crate::usage::UsageError;
use crate::{interrupt, number, terminal};

/// The columns of the rows of an index whose fingerprints have the type `W`.
struct ExportColumns<W>(PhantomData<W>);

impl<W: Width> ExportColumns<W> {
    const COLUMNS: &'static [Column] = &[
        Column::new("id", ColumnKind::Id),
        Column::new("fingerprint", ColumnKind::Fingerprint { bits: W::BITS }),
    ];
    /// The columns if ids are names.
    const NAMED: &'static [Column] = &[
        Column::new("id", ColumnKind::Name),
        Column::new("fingerprint", ColumnKind::Fingerprint { bits: W::BITS }),
    ];
}

/// Writes the ids and fingerprints of an index, ordered by id, without deleted ones. Names are in the order in which they
/// were added
///
/// A .u64 file (.u32 or .u128 for fingerprints of that width) gets only the fingerprints; their ids are written to a
/// file in the same folder whose name ends in .ids.u64. `index build NAME.u64 --ids NAME.ids.u64` reads both files.
/// `index build` also reads an exported .parquet file.
#[derive(clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    directory: Directory,

    /// Format of the rows [default: the extension of --output, or jsonl without it]
    #[arg(long, value_enum, value_name = "FORM")]
    format: Option<RowFormat>,

    /// File to write instead of stdout
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    output: Option<PathBuf>,

    #[arg(long, default_value = "1GiB", value_name = "SIZE", value_parser = number::parse_bytes, help = MEMORY_HELP)]
    memory: u64,

    /// Show no progress
    #[arg(short, long)]
    quiet: bool,
}

pub(super) fn run(args: &Args) -> anyhow::Result<()> {
    at_width!(args.directory.bits()?, run_at(args))
}

fn run_at<W: Width>(args: &Args) -> anyhow::Result<()> {
    let committed = super::read::<W>(&args.directory.index)?;
    if let Some(output) = &args.output {
        refuse_own_input(output, [args.directory.index.as_path()])?;
    }
    let numbers = args.output.as_deref().filter(|_| args.format.is_none());
    let numbers = numbers.and_then(|path| Some((path, integer_bits(path)?)));
    let exported = match numbers {
        Some((path, bits)) if bits != W::BITS => {
            let refused = format!(
                "{}: the index has fingerprints of {width} bits; choose a name that ends in .u{width}",
                path.display(),
                width = W::BITS
            );
            return Err(UsageError(refused).into());
        }
        Some((path, _)) if committed.names.is_some() => {
            let refused = format!(
                "{}: the ids of the index are names, which a file of numbers cannot have; choose a name that ends in .parquet, .jsonl or .csv",
                path.display()
            );
            return Err(UsageError(refused).into());
        }
        Some((path, _)) => args.numbers(&committed, path)?,
        None => args.rows(&committed)?,
    };
    match &args.output {
        Some(path) => terminal::out(&format!(
            "{}: {}\n",
            path.display(),
            number::counted(exported, "fingerprint")
        )),
        None => Ok(()),
    }
}

/// The width in bits that the extension of a file of integers states.
fn integer_bits(path: &Path) -> Option<u32> {
    let ending = path.extension()?.to_str()?;
    [u32::BITS, u64::BITS, u128::BITS]
        .into_iter()
        .find(|bits| ending == format!("u{bits}"))
}

impl Args {
    fn rows<W: Width>(&self, committed: &Committed<W>) -> anyhow::Result<u64> {
        let rows = RowArgs {
            format: self.format,
            output: self.output.clone(),
        };
        let label = committed.settings.label.as_str();
        let notes = [(PROFILE_NOTE, label)];
        let notes = if label.is_empty() { &[] } else { &notes[..] };
        let columns = match committed.names {
            None => ExportColumns::<W>::COLUMNS,
            Some(_) => ExportColumns::<W>::NAMED,
        };
        let mut out = rows.open(columns, notes)?;
        self.each(committed, |id, fingerprint| {
            out.row(&[
                id_value(committed, id),
                RowValue::Fingerprint(fingerprint.widen()),
            ])
        })?;
        out.finish()
    }

    /// Writes the fingerprints to `path`, and their ids to another file in the same folder. Returns the number of
    /// fingerprints.
    fn numbers<W: Width>(&self, committed: &Committed<W>, path: &Path) -> anyhow::Result<u64> {
        let stem = path.file_stem().unwrap_or_default();
        if Path::new(stem).extension().is_some_and(|ending| ending == "ids") {
            let refused = format!(
                "{}: .ids.u64 names the file of the ids; choose a name for the fingerprints that ends in .u{} only",
                path.display(),
                W::BITS
            );
            return Err(UsageError(refused).into());
        }
        let ids_path = path.with_extension("ids.u64");
        let create = |path: &Path| {
            let file =
                NewFile::create(path).with_context(|| format!("{} cannot be written", path.display()))?;
            anyhow::Ok(BufWriter::with_capacity(1 << 16, file))
        };
        let (mut fingerprints, mut ids) = (create(path)?, create(&ids_path)?);
        let written = || format!("{} cannot be written", path.display());
        let mut count = 0;
        self.each(committed, |id, fingerprint| {
            count += 1;
            fingerprints
                .write_all(&fingerprint.widen().to_le_bytes()[..W::BITS as usize / 8])
                .and_then(|()| ids.write_all(&id.to_le_bytes()))
                .with_context(written)
        })?;
        for file in [ids, fingerprints] {
            let file = file.into_inner().map_err(IntoInnerError::into_error);
            file.and_then(NewFile::finish).with_context(written)?;
        }
        Ok(count)
    }

    fn each<W: Width>(
        &self,
        committed: &Committed<W>,
        each: impl FnMut(u64, W) -> anyhow::Result<()>,
    ) -> anyhow::Result<()> {
        let cancel = interrupt::flag()?;
        let bars = Bars::new(self.quiet);
        let temporary = std::env::temp_dir();
        let folder = self.output.as_deref().and_then(Path::parent);
        let work = match folder {
            Some(folder) if folder.as_os_str().is_empty() => Path::new("."),
            Some(folder) => folder,
            None => &temporary,
        };
        let space = SortSpace {
            directory: work,
            memory: self.memory,
        };
        let done = export(&committed.snapshot, space, &bars, &cancel, each);
        bars.finish();
        done.map_err(|error: anyhow::Error| match error.downcast_ref() {
            Some(SegmentError::Stopped) => anyhow!("interrupted"),
            _ => within_memory(error),
        })
    }
}
