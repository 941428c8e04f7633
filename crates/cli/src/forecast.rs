//! The output of `dedup --dry-run`.

use std::fmt::Write as _;

use twinprint::{Forecast, Room};

use crate::number::{bytes, count, counted, seconds};

/// Formats a forecast, and compares it with the resources of the machine.
pub(crate) fn text(forecast: &Forecast, room: &Room) -> String {
    let mut text = String::new();
    // Writing to a `String` cannot fail.
    let _ = write(&mut text, forecast, room);
    text
}

fn write(text: &mut String, forecast: &Forecast, room: &Room) -> std::fmt::Result {
    let whole = forecast.sampled_bytes >= forecast.input_bytes;
    let about = |n: u64| {
        if whole {
            count(n)
        } else {
            format!("~{}", count(rounded(n)))
        }
    };
    let size = |n: u64| format!("~{}", bytes(n));
    let there =
        |n: Option<u64>, what: &str| n.map_or_else(String::new, |n| format!(" ({} {what})", bytes(n)));
    writeln!(
        text,
        "\n  a dry run: {} read of {} in {}, nothing written\n",
        bytes(forecast.sampled_bytes),
        bytes(forecast.input_bytes),
        counted(forecast.files, "file")
    )?;
    writeln!(
        text,
        "  records   {:>12}  of which {} rejected",
        about(forecast.records),
        about(forecast.rejected)
    )?;
    writeln!(
        text,
        "  texts     {:>12}  different ones, {} in all",
        about(forecast.texts),
        bytes(forecast.text_bytes)
    )?;
    // A radius of all bits excludes no pair: the exact join of the shingles finds the candidates.
    let radius = if forecast.k < forecast.bits {
        format!("{} bits within radius {}", forecast.bits, forecast.k)
    } else {
        "any distance, by an exact join of the shingles".to_owned()
    };
    writeln!(
        text,
        "  pairs     {:>12}  candidates, at {radius}",
        format!("~{}", count(rounded(forecast.candidates))),
    )?;
    if let Some(against) = &forecast.against {
        let known = if whole && against.asked == forecast.texts {
            count(against.known)
        } else {
            format!("~{}", count(rounded(against.known)))
        };
        writeln!(
            text,
            "  known     {known:>12}  texts known from before; looking them up takes ~{} of the time and ~{} of the memory",
            seconds(against.seconds),
            bytes(against.memory_bytes)
        )?;
    }
    writeln!(
        text,
        "  memory    {:>12}  at peak{}{}",
        size(forecast.memory_bytes),
        if forecast.on_disk {
            ", with the tables on disk"
        } else {
            ""
        },
        there(room.memory, "available")
    )?;
    writeln!(
        text,
        "  disk      {:>12}  of results{}",
        size(forecast.output_bytes),
        there(room.output, "free")
    )?;
    writeln!(
        text,
        "            {:>12}  of temporary files{}{}",
        size(forecast.work_bytes),
        if forecast.on_disk { " and tables" } else { "" },
        if room.one_disk {
            " on the same disk".to_owned()
        } else {
            there(room.work, "free")
        }
    )?;
    writeln!(
        text,
        "  time      {:>12}  on {} threads",
        format!("~{}", seconds(forecast.seconds)),
        forecast.threads
    )
}

/// Rounds a number to two significant digits.
fn rounded(n: u64) -> u64 {
    let unit = 10u64.pow(n.checked_ilog10().unwrap_or(0).saturating_sub(1));
    (n + unit / 2) / unit * unit
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn estimates_have_two_digits() {
        assert_eq!([0, 7, 99, 123, 178_751].map(rounded), [0, 7, 99, 120, 180_000]);
    }
}
