//! A configuration file, made of what a story says and what it need not say.

use std::fmt::Write;
use std::net::SocketAddr;

use crate::Scratch;
use crate::fleet::Fleet;

/// The cookie's name, unless a story says otherwise.
pub const COOKIE: &str = "__Host-affinity-checkout";

const KEY: &str = "rJ3kq0v9W5c1mZpXy7TnB2LsEo8HdUaGfQiK4wRxV6M";

/// A configuration that can be written down and edited.
#[derive(Clone, Debug)]
pub struct Config {
    /// The service, the audience of the pins.
    pub service: String,
    /// The groups' blocks.
    pub groups: Vec<GroupBlock>,
    /// Where clients are served.
    pub address: SocketAddr,
    /// Where the admin side is.
    pub admin: SocketAddr,
    /// Lines of the `[listen]` section besides its addresses.
    pub listen: String,
    /// Lines of the `[pin]` section besides its keys.
    pub pin: String,
    /// Everything else: whole sections.
    pub sections: String,
    /// The name of the state file.
    pub state: String,
    /// Where an etcd is that several gateways share.
    pub etcd: Option<String>,
}

/// One group's block.
#[derive(Clone, Debug)]
pub struct GroupBlock {
    /// Its name.
    pub name: String,
    /// Its weight.
    pub weight: u16,
    /// Whether it is stable.
    pub stable: bool,
    /// More lines, such as its state.
    pub more: String,
    /// Its endpoints.
    pub endpoints: Vec<SocketAddr>,
    /// The line that says where its endpoints are found, instead of them.
    pub source: Option<String>,
}

impl Config {
    /// The fleet's groups with their weights, the first one stable; free ports.
    #[must_use]
    pub fn new(fleet: &Fleet, weights: &[(&str, u16)]) -> Self {
        let groups = weights.iter();
        Self::of(groups.map(|(name, weight)| (*name, *weight, fleet.addresses(name))))
    }

    /// Groups by name, weight and endpoints, the first one stable; free ports.
    #[must_use]
    pub fn of<'a>(groups: impl IntoIterator<Item = (&'a str, u16, Vec<SocketAddr>)>) -> Self {
        let groups = groups
            .into_iter()
            .enumerate()
            .map(|(at, (name, weight, endpoints))| GroupBlock {
                name: name.to_owned(),
                weight,
                stable: at == 0,
                more: String::new(),
                endpoints,
                source: None,
            });
        let free = SocketAddr::from(([127, 0, 0, 1], 0));
        Self {
            service: "checkout".to_owned(),
            groups: groups.collect(),
            address: free,
            admin: free,
            listen: String::new(),
            pin: String::new(),
            sections: String::new(),
            state: "gateway-state.json".to_owned(),
            etcd: None,
        }
    }

    /// A group's block, to edit it.
    ///
    /// # Panics
    ///
    /// If there is none.
    pub fn group(&mut self, name: &str) -> &mut GroupBlock {
        let group = self.groups.iter_mut().find(|group| group.name == name);
        group.unwrap_or_else(|| panic!("the file has no group {name}"))
    }

    /// The file's text.
    #[must_use]
    pub fn text(&self) -> String {
        let etcd = self.etcd.as_ref();
        let etcd = etcd.map(|at| format!("etcd = [\"{at}\"]\n"));
        let mut text = format!(
            "service = \"{}\"\n\
             [listen]\n\
             address = \"{}\"\n\
             admin = \"{}\"\n\
             {}\n\
             [pin]\n\
             keys = [\"2026-11:file:key\"]\n\
             {}\n\
             [state]\n\
             file = \"{}\"\n\
             {}{}\n",
            self.service,
            self.address,
            self.admin,
            self.listen,
            self.pin,
            self.state,
            etcd.unwrap_or_default(),
            self.sections,
        );
        for group in &self.groups {
            let listed: Vec<_> = group
                .endpoints
                .iter()
                .map(|at| format!("\"{at}\""))
                .collect();
            let listed = format!("endpoints = [{}]", listed.join(", "));
            write!(
                text,
                "[[group]]\nname = \"{}\"\nweight = {}\nstable = {}\n{}\n{}\n",
                group.name,
                group.weight,
                group.stable,
                group.source.as_ref().unwrap_or(&listed),
                group.more,
            )
            .expect("text takes text");
        }
        text
    }

    /// Writes the file, and the key that it names.
    #[must_use]
    pub fn write(&self, dir: &Scratch, name: &str) -> std::path::PathBuf {
        dir.write("key", KEY);
        dir.write(name, self.text())
    }
}
