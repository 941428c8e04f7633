//! The token file: bearer tokens and their scopes.
//!
//! ```toml
//! [[token]]
//! name = "crawler"
//! scopes = ["read", "write"]
//! sha256 = "…"                     # of the token: printf %s "$TOKEN" | sha256sum
//! expires = 2027-01-01T00:00:00Z   # optional
//! ```
//!
//! The file contains only hashes, so whoever reads it does not learn a token. Tokens are random secrets, so a fast hash
//! is sufficient. Hashes are compared in constant time.

use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use axum::http::{HeaderMap, StatusCode, header};
use serde::Deserialize;
use sha2::{Digest, Sha256};

use crate::error::ServeError;
use crate::problem::Problem;

/// A permission that a token may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Scope {
    /// Permission to query collections.
    Read,
    /// Permission to add and delete documents.
    Write,
    /// Permission to create, back up and delete collections.
    Admin,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TokenFile {
    #[serde(default)]
    token: Vec<TokenEntry>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TokenEntry {
    name: String,
    scopes: Vec<Scope>,
    sha256: String,
    expires: Option<toml::value::Datetime>,
}

struct Token {
    name: String,
    scopes: Vec<Scope>,
    hash: [u8; 32],
    /// The Unix time in seconds when the token expires; `None` if it never expires.
    expires: Option<i64>,
}

impl TryFrom<TokenEntry> for Token {
    type Error = String;

    fn try_from(entry: TokenEntry) -> Result<Self, String> {
        let name = entry.name;
        let hash = parse_sha256(&entry.sha256)
            .ok_or_else(|| format!("token {name:?}: sha256 does not consist of 64 hexadecimal digits"))?;
        let expires = entry.expires.map(|time| unix_seconds(&time).ok_or(time));
        let expires = expires.transpose().map_err(|time| {
            format!(
                "token {name:?}: expires is {time}, which lacks the date, the time or the zone; \
                     write it like 2027-01-01T00:00:00Z"
            )
        })?;
        Ok(Self {
            name,
            scopes: entry.scopes,
            hash,
            expires,
        })
    }
}

/// The tokens that a token file lists.
pub(crate) struct Tokens {
    tokens: Vec<Token>,
}

impl Tokens {
    /// Reads and checks a token file.
    pub(crate) fn read(path: &Path) -> Result<Self, ServeError> {
        let invalid = |reason: String| ServeError::TokenFile {
            path: path.to_owned(),
            reason,
        };
        let text = std::fs::read_to_string(path).map_err(|error| invalid(error.to_string()))?;
        Self::parse(&text).map_err(invalid)
    }

    fn parse(text: &str) -> Result<Self, String> {
        let file: TokenFile = toml::from_str(text).map_err(|error| error.to_string())?;
        let tokens = file.token.into_iter().map(Token::try_from);
        let tokens = tokens.collect::<Result<Vec<_>, String>>()?;
        if tokens.is_empty() {
            return Err("the file contains no [[token]]; list at least one".to_owned());
        }
        Ok(Self { tokens })
    }

    /// Checks that a request has a valid bearer token with the permission `scope`.
    ///
    /// # Errors
    /// 401 if the request has no valid token, 403 if its token does not have the scope.
    pub(crate) fn check(&self, headers: &HeaderMap, scope: Scope) -> Result<(), Problem> {
        let unauthorized = |detail: &str| Err(Problem::new(StatusCode::UNAUTHORIZED, detail));
        let sent = headers
            .get(header::AUTHORIZATION)
            .and_then(|value| value.to_str().ok())
            .and_then(|value| value.split_once(' '))
            .filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"));
        let Some((_, sent)) = sent else {
            return unauthorized("the request has no token; send the header Authorization: Bearer …");
        };
        let hash: [u8; 32] = Sha256::digest(sent.trim().as_bytes()).into();
        // Each hash is compared in full and no token is skipped, so that the time reveals nothing about the hashes.
        let mut found = None;
        for token in &self.tokens {
            let difference = token
                .hash
                .iter()
                .zip(&hash)
                .fold(0, |difference, (a, b)| difference | (a ^ b));
            if difference == 0 {
                found = Some(token);
            }
        }
        let Some(token) = found else {
            return unauthorized("this token is unknown");
        };
        let now = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .map_or(0, |since| since.as_secs());
        if token.expires.is_some_and(|expires| expires <= now as i64) {
            return unauthorized("this token has expired");
        }
        if !token.scopes.contains(&scope) {
            let detail = format!("token {:?} does not have the scope {scope:?}", token.name).to_lowercase();
            return Err(Problem::new(StatusCode::FORBIDDEN, detail));
        }
        Ok(())
    }
}

fn parse_sha256(text: &str) -> Option<[u8; 32]> {
    let digits = text.as_bytes();
    if digits.len() != 64 || !digits.is_ascii() {
        return None;
    }
    let mut bytes = [0; 32];
    for (byte, pair) in bytes.iter_mut().zip(digits.as_chunks::<2>().0) {
        *byte = u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()?;
    }
    Some(bytes)
}

/// Returns the Unix time of a date and time with a zone; `None` if the date, the time or the zone is missing. Uses
/// `days_from_civil` of Hinnant's "chrono-compatible low-level date algorithms".
fn unix_seconds(time: &toml::value::Datetime) -> Option<i64> {
    let (date, clock) = (time.date?, time.time?);
    let offset_minutes = match time.offset? {
        toml::value::Offset::Z => 0,
        toml::value::Offset::Custom { minutes } => i64::from(minutes),
    };
    let (month, day) = (i64::from(date.month), i64::from(date.day));
    let year = i64::from(date.year) - i64::from(month <= 2);
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    let days = era * 146_097 + day_of_era - 719_468;
    let second = i64::from(clock.second.unwrap_or(0));
    let minutes = i64::from(clock.hour) * 60 + i64::from(clock.minute) - offset_minutes;
    Some(days * 86_400 + minutes * 60 + second)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The hash of "secret".
    const SECRET: &str = "2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b";

    fn status(tokens: &Tokens, authorization: Option<&str>, scope: Scope) -> u16 {
        let mut headers = HeaderMap::new();
        if let Some(authorization) = authorization {
            headers.insert(header::AUTHORIZATION, authorization.parse().unwrap());
        }
        tokens
            .check(&headers, scope)
            .map_or_else(|problem| problem.status, |()| 200)
    }

    #[test]
    fn a_token_grants_its_scopes_until_it_expires() {
        let entry = |expires: &str| {
            format!(
                "[[token]]\nname = \"a\"\nscopes = [\"read\"]\nsha256 = \"{SECRET}\"\nexpires = {expires}\n"
            )
        };
        let tokens = Tokens::parse(&entry("2999-01-01T00:00:00Z")).unwrap();
        assert_eq!(status(&tokens, Some("Bearer secret"), Scope::Read), 200);
        assert_eq!(status(&tokens, Some("bearer secret"), Scope::Read), 200);
        assert_eq!(status(&tokens, Some("Bearer secret"), Scope::Write), 403);
        assert_eq!(status(&tokens, Some("Bearer other"), Scope::Read), 401);
        assert_eq!(status(&tokens, Some("secret"), Scope::Read), 401);
        assert_eq!(status(&tokens, None, Scope::Read), 401);
        let expired = Tokens::parse(&entry("2020-02-29T12:00:00+02:00")).unwrap();
        assert_eq!(status(&expired, Some("Bearer secret"), Scope::Read), 401);
        assert_eq!(expired.tokens[0].expires, Some(1_582_970_400));
        assert!(Tokens::parse("").is_err() && Tokens::parse(&entry("2020-02-29")).is_err());
        assert!(Tokens::parse(&entry("2999-01-01T00:00:00Z").replace('5', "x")).is_err());
    }
}
