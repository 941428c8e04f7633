//! Group members: the properties of a document by which a group chooses its canonical member.

use twinprint_cluster::groups::Member;

use super::options::Scope;
use super::prepare::Prepared;

/// A document as a member of its group.
pub(super) fn member(document: &Prepared, number: u64, time: i64, scope: Scope) -> Member {
    let url = document.url.as_deref();
    let site = match scope {
        Scope::None => String::new(),
        Scope::Host => document.host(),
        Scope::Domain => domain(document.host()),
    };
    Member {
        document: number,
        name: document.name.clone(),
        site: site.into(),
        score: document.score.map(|score| score as f32),
        time,
        length: document.length,
        https: url.is_some_and(|url| url.starts_with("https:")),
        url_length: url.map_or(u32::MAX, |url| url.len() as u32),
    }
}

/// The registered domain of a host, by the Public Suffix List; the host itself if it has none.
fn domain(host: String) -> String {
    match psl::domain_str(&host) {
        Some(domain) => domain.to_owned(),
        None => host,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_domain_of_a_host_is_the_registered_one() {
        for (host, expected) in [
            ("news.example.co.uk", "example.co.uk"),
            ("www.example.com", "example.com"),
            ("localhost", "localhost"),
            ("", ""),
        ] {
            assert_eq!(domain(host.to_owned()), expected);
        }
    }
}
