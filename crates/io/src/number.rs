//! Formats numbers, sizes and times for reports.

/// Formats a count with a comma between groups of three digits: `1,234,567`.
pub fn count(n: u64) -> String {
    let digits = n.to_string();
    let mut out = String::with_capacity(digits.len() * 4 / 3);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// Formats a count with its noun: `1 group`, `1,234 groups`. The plural adds an s.
pub fn counted(n: u64, noun: &str) -> String {
    let plural = if n == 1 { "" } else { "s" };
    format!("{} {noun}{plural}", count(n))
}

/// Formats a number with `places` decimal places, rounded towards zero. A value below a threshold is therefore never
/// shown as equal to the threshold.
pub fn towards_zero(x: f64, places: usize) -> String {
    let scale = 10f64.powi(places as i32);
    // Many decimal fractions are stored as slightly smaller binary numbers. The tolerance keeps them from being rounded
    // down a digit.
    format!("{:.places$}", (x * scale + 1e-9).floor() / scale)
}

/// Formats a size in the decimal unit that leaves about three digits: `1.5 kB`.
pub fn bytes(n: u64) -> String {
    match n {
        0..1_000 => format!("{n} B"),
        1_000..1_000_000 => format!("{:.1} kB", n as f64 / 1e3),
        1_000_000..1_000_000_000 => format!("{:.1} MB", n as f64 / 1e6),
        _ => format!("{:.2} GB", n as f64 / 1e9),
    }
}

/// Formats a duration in a suitable unit: `20 ms`, `3.0 s`, `2 min 30 s`.
pub fn seconds(s: f64) -> String {
    if s < 0.095 {
        format!("{:.0} ms", s * 1e3)
    } else if s < 59.95 {
        format!("{s:.1} s")
    } else {
        let whole = s.round() as u64;
        format!("{} min {} s", whole / 60, whole % 60)
    }
}

/// Formats `part` of `whole` in per cent. A positive share is never shown as 0, and a share below 1 is never shown as
/// 100.
pub fn percent(part: u64, whole: u64) -> String {
    let share = 100.0 * part as f64 / whole.max(1) as f64;
    match share {
        _ if part > 0 && share < 0.05 => "< 0.1 %".to_owned(),
        _ if part < whole && share >= 99.95 => "> 99.9 %".to_owned(),
        _ => format!("{share:.1} %"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_formatted() {
        assert_eq!(
            ["0", "999", "1,000", "1,234,567"],
            [0, 999, 1000, 1_234_567]
                .map(count)
                .each_ref()
                .map(String::as_str)
        );
        assert_eq!(bytes(1_500), "1.5 kB");
        assert_eq!(
            [0.02, 3.0, 59.94, 59.96, 119.6, 150.2].map(seconds),
            ["20 ms", "3.0 s", "59.9 s", "1 min 0 s", "2 min 0 s", "2 min 30 s"]
        );
        let cut =
            [(0.799_99, 3), (0.8, 3), (0.999_96, 4), (1.0, 4)].map(|(x, places)| towards_zero(x, places));
        assert_eq!(cut, ["0.799", "0.800", "0.9999", "1.0000"]);
        assert_eq!(seconds(75.2), "1 min 15 s");
        let percents = [(0, 7), (1, 9000), (1, 2), (8999, 9000), (7, 7)].map(|(a, b)| percent(a, b));
        assert_eq!(percents, ["0.0 %", "< 0.1 %", "50.0 %", "> 99.9 %", "100.0 %"]);
    }
}
