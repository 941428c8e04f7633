//! `twinprint serve`

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::atomic::Ordering;
use std::time::Duration;

use twinprint_server::{Limits, LogFormat, Service, ServiceOptions};

use crate::choice::{Choice, explained};
use crate::{interrupt, terminal};

const EXAMPLES: &str = "\
Examples:
  twinprint serve collections
      answers on http://127.0.0.1:8080, with a page for people at /, until Ctrl-C
  twinprint serve collections --listen 127.0.0.1:0 --log json
      on a free port; the address is written to stdout";

const LOG_FORMATS: [Choice<LogFormat>; 3] = [
    Choice {
        name: "text",
        help: "One line of text per event",
        value: LogFormat::Text,
    },
    Choice {
        name: "json",
        help: "One JSON object per event",
        value: LogFormat::Json,
    },
    Choice {
        name: "quiet",
        help: "Errors only",
        value: LogFormat::Quiet,
    },
];

/// Serves collections over HTTP, with a web page
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Directory with a subdirectory for each collection; made if it does not exist. A name has lower-case letters, digits,
    /// - and _
    #[arg(value_name = "DIR")]
    dir: PathBuf,

    /// Address and port to listen on; port 0 chooses a free port
    #[arg(long, default_value = "127.0.0.1:8080", value_name = "ADDRESS")]
    listen: SocketAddr,

    /// File of tokens, required to serve other machines; see docs/guide/service.md
    #[arg(long, value_name = "FILE.toml")]
    tokens: Option<PathBuf>,

    /// Directory for the backups that POST /v1/collections/NAME/backup makes; without this option the service makes
    /// none
    #[arg(long, value_name = "DIR", value_hint = clap::ValueHint::DirPath)]
    backups: Option<PathBuf>,

    /// Largest size of a request body
    #[arg(long, default_value = "16MiB", value_name = "BYTES", value_parser = crate::number::parse_bytes)]
    max_body: u64,

    /// Largest number of open connections
    #[arg(long, default_value_t = Limits::default().connections, value_name = "N", value_parser = crate::number::parse_count::<usize>)]
    max_connections: usize,

    /// Format of the log on stderr
    #[arg(long, value_parser = explained(LOG_FORMATS), default_value = "text")]
    log: LogFormat,
}

/// Runs the command.
pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let cancel = interrupt::flag()?;
    let body = usize::try_from(args.max_body).unwrap_or(usize::MAX);
    let service = Service::start(&ServiceOptions {
        dir: args.dir.clone(),
        backup_dir: args.backups.clone(),
        listen: args.listen,
        token_file: args.tokens.clone(),
        limits: Limits {
            body_bytes: body,
            unpacked_body_bytes: body.saturating_mul(2),
            connections: args.max_connections.clamp(1, 100_000),
            ..Limits::default()
        },
        log_format: args.log,
    })?;
    terminal::out(&format!("http://{}\n", service.address()))?;
    while !cancel.load(Ordering::Relaxed) {
        std::thread::sleep(Duration::from_millis(50));
    }
    service.stop();
    Ok(ExitCode::SUCCESS)
}
