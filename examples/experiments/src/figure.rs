//! Figures as text: three significant digits, counts with separators, times and bytes with units.

/// A number with three significant digits.
pub fn number(value: f64) -> String {
    let size = value.abs();
    if size == 0.0 {
        return "0".to_owned();
    }
    if !(1e-3..1e7).contains(&size) {
        let power = size.log10().floor() as i32;
        return format!("{:.2}·10{}", value / 10f64.powi(power), superscript(power));
    }
    if size >= 1000.0 {
        return count(value.round() as u64);
    }
    let decimals = (2 - size.log10().floor() as i32).max(0) as usize;
    format!("{value:.decimals$}")
}

/// A count with commas.
pub fn count(value: u64) -> String {
    let digits = value.to_string();
    let mut text = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A share in percent.
pub fn percent(share: f64) -> String {
    let decimals = match share {
        0.0 | 1.0 | 0.1..0.99 => 0,
        _ => 2,
    };
    format!("{:.decimals$} %", share * 100.0)
}

/// A time.
pub fn seconds(seconds: f64) -> String {
    match seconds {
        s if s < 1e-6 => format!("{} ns", number(s * 1e9)),
        s if s < 1e-3 => format!("{} µs", number(s * 1e6)),
        s if s < 1.0 => format!("{} ms", number(s * 1e3)),
        s if s < 1e5 => format!("{} s", number(s)),
        s if s < 3e8 => format!("{} days", number(s / 86_400.0)),
        s => format!("{} years", number(s / 31_557_600.0)),
    }
}

/// A number of bytes.
pub fn bytes(bytes: f64) -> String {
    match bytes {
        b if b < 1e3 => format!("{} B", number(b)),
        b if b < 1e6 => format!("{} kB", number(b / 1e3)),
        b if b < 1e9 => format!("{} MB", number(b / 1e6)),
        b if b < 1e12 => format!("{} GB", number(b / 1e9)),
        b if b < 1e15 => format!("{} TB", number(b / 1e12)),
        b => format!("{} PB", number(b / 1e15)),
    }
}

/// The low `width` bits of a number, the most significant first.
pub fn binary(bits: u64, width: usize) -> String {
    format!("{bits:0width$b}")
}

fn superscript(power: i32) -> String {
    let digit = |c: char| match c {
        '-' => '⁻',
        '1' => '¹',
        '2' => '²',
        '3' => '³',
        c => c
            .to_digit(10)
            .and_then(|d| char::from_u32(0x2070 + d))
            .unwrap_or(c),
    };
    power.to_string().chars().map(digit).collect()
}
