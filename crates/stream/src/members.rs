//! The properties of a document by which its group chooses a canonical member.

use psl::Psl;
use twinprint_cluster::groups::Member;

use super::options::Scope;
use super::prepare::Prepared;

/// Makes the member of a group from a document.
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

/// The registered domain of a host, by the Public Suffix List; the host itself if it is not below a registered domain.
fn domain(host: String) -> String {
    let registered = PublicSuffixList.domain(host.as_bytes());
    match registered.and_then(|domain| std::str::from_utf8(domain.trim().as_bytes()).ok()) {
        Some(domain) => domain.to_owned(),
        None => host,
    }
}

/// The list of the crate `psl`, with its iterator behind a pointer. The crate has a function for each of a thousand
/// labels, and all of them are compiled here. A concrete iterator would be inlined into each function, which takes 5
/// seconds longer to compile.
struct PublicSuffixList;

impl Psl for PublicSuffixList {
    fn find<'a, T>(&self, mut labels: T) -> psl::Info
    where
        T: Iterator<Item = &'a [u8]>,
    {
        psl::List.find(&mut labels as &mut dyn Iterator<Item = &'a [u8]>)
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
            ("www.example.com.", "example.com"),
            ("a.b.kawasaki.jp", "a.b.kawasaki.jp"),
            ("x.city.kawasaki.jp", "city.kawasaki.jp"),
            ("co.uk", "co.uk"),
            ("localhost", "localhost"),
            (".", "."),
            ("", ""),
        ] {
            assert_eq!(domain(host.to_owned()), expected);
        }
    }
}
