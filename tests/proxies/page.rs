//! The configurations on the page, with the addresses of a test in the place of those of the page.

use std::net::SocketAddr;

const PAGE: &str = include_str!("../../docs/migrating.md");

/// A part of a migration, as the first line of its configuration names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    Before,
    During,
    After,
}

impl Part {
    pub(crate) const ALL: [Self; 3] = [Self::Before, Self::During, Self::After];

    fn first_line(self) -> &'static str {
        match self {
            Self::Before => "# before",
            Self::During => "# during",
            Self::After => "# after",
        }
    }
}

/// What stands where on the page.
#[derive(Clone, Debug)]
pub(crate) struct Site {
    pub(crate) front: SocketAddr,
    pub(crate) gateways: [SocketAddr; 2],
    pub(crate) old: [SocketAddr; 2],
    pub(crate) new: SocketAddr,
}

impl Site {
    fn addresses(&self) -> [(&'static str, SocketAddr); 6] {
        [
            ("10.0.0.5:80", self.front),
            ("10.0.0.10:8080", self.gateways[0]),
            ("10.0.0.11:8080", self.gateways[1]),
            ("10.0.1.11:8080", self.old[0]),
            ("10.0.1.12:8080", self.old[1]),
            ("10.0.1.21:8080", self.new),
        ]
    }
}

/// The configuration in `language` for `part`, for `site`.
pub(crate) fn configuration(language: &str, part: Part, site: &Site) -> String {
    let fence = format!("```{language}\n{}\n", part.first_line());
    let begin = PAGE
        .find(&fence)
        .unwrap_or_else(|| panic!("the page has no {language} for {part:?}"));
    let text = &PAGE[begin + language.len() + 4..];
    let mut text = text[..text.find("```").expect("the block ends")].to_owned();
    for (on_page, here) in site.addresses() {
        text = text.replace(on_page, &here.to_string());
    }
    assert!(!text.contains("10.0."), "an address has no place: {text}");
    text
}
