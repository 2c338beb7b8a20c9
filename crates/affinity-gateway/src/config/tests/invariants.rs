//! The rules once more, written down a second time: what accepted settings always hold.

use std::collections::HashSet;
use std::time::Duration;

use tower_affinity::core::Level;

use tower_affinity::SameSite;

use crate::config::{GroupState, Settings};

pub(super) fn check(settings: &Settings) {
    let name = settings.service.as_str();
    assert!((1..=32).contains(&name.len()), "service {name:?}");
    assert!(
        name.chars()
            .all(|c| "abcdefghijklmnopqrstuvwxyz0123456789-".contains(c)),
        "{name:?}"
    );
    pins(settings);
    groups(settings);
    scopes(settings);
    let listen = &settings.listen;
    assert!(
        listen.address.port() == 0 || listen.address != listen.admin,
        "one listener"
    );
    assert!(
        settings.rollback.within <= settings.pin.lifetimes.max_age(),
        "within over max_age"
    );
    for path in [&listen.admin_token_file, &settings.state.file] {
        assert!(path.is_absolute(), "{}", path.display());
    }
    if let Some(health) = &settings.upstream.health {
        assert!(health.path.starts_with('/') && health.interval >= Duration::from_millis(100));
        assert!(health.unhealthy_after > 0 && health.healthy_after > 0);
        assert!(health.timeout >= Duration::from_millis(10) && health.jitter_percent <= 50);
    }
}

fn pins(settings: &Settings) {
    let pin = &settings.pin;
    assert!(
        (1..=16).contains(&pin.keys.len()),
        "{} keys",
        pin.keys.len()
    );
    let ids: HashSet<_> = pin.keys.iter().map(|key| key.id.as_str()).collect();
    assert_eq!(ids.len(), pin.keys.len(), "two keys have one id");
    assert!(
        pin.drop_early.iter().all(|id| !ids.contains(id.as_str())),
        "a key is dropped"
    );
    for key in &pin.keys {
        let bytes = key.secret.expose();
        assert!(
            bytes.len() >= 32 && bytes.iter().any(|b| *b != bytes[0]),
            "a weak key"
        );
    }
    assert!(pin.keyring().is_ok(), "the keys make no ring");
    assert!(!pin.carriers.is_empty(), "no carrier");
    let (idle, local) = (pin.lifetimes.idle(), pin.local_idle_timeout);
    assert!(idle <= pin.lifetimes.max_age(), "idle over max_age");
    assert!(
        local.as_nanos() * 4 < idle.as_nanos() * 3,
        "the local clock outlasts the routing one"
    );
    for span in [idle, local, pin.lifetimes.max_age()] {
        assert!(span.as_secs() > 0 && span.subsec_nanos() == 0, "{span:?}");
    }
    let cookie = &pin.cookie;
    assert!(
        !cookie.name().is_empty() && cookie.name().is_ascii(),
        "{:?}",
        cookie.name()
    );
    assert!(
        !cookie
            .name()
            .contains([' ', '=', ';', ',', '"', '\r', '\n', '\0']),
        "{:?}",
        cookie.name()
    );
    if !cookie.secure() {
        assert!(
            cookie.same_site() != SameSite::None && !cookie.partitioned(),
            "refused by browsers"
        );
        assert!(
            !cookie.name().to_lowercase().starts_with("__"),
            "{:?} without secure",
            cookie.name()
        );
    }
}

fn groups(settings: &Settings) {
    let groups = &settings.groups;
    assert!((1..=64).contains(&groups.len()), "{} groups", groups.len());
    let names: HashSet<_> = groups.iter().map(|group| group.name.as_str()).collect();
    assert_eq!(names.len(), groups.len(), "two groups have one name");
    let stable: Vec<_> = groups.iter().filter(|group| group.stable).collect();
    assert_eq!(stable.len(), 1, "stable groups");
    assert_eq!(stable[0].state, GroupState::Active, "the stable group");
    let sum: u32 = groups
        .iter()
        .map(|group| u32::from(group.weight.get()))
        .sum();
    assert!(sum > 0, "all weights are 0");
    let mut addresses = HashSet::new();
    for group in groups {
        assert!(group.weight.get() <= 10_000);
        assert!(
            group.weight.get() == 0 || group.state == GroupState::Active,
            "weight of {group:?}"
        );
        if let GroupState::Aborted { to } = &group.state {
            let target = groups
                .iter()
                .find(|other| other.name == *to)
                .expect("a target");
            assert_eq!(target.state, GroupState::Active, "the target of {group:?}");
        }
        for address in &group.endpoints {
            assert!(
                address.port() != 0 && !address.ip().is_unspecified(),
                "{address}"
            );
            assert!(addresses.insert(address), "{address} twice");
            assert_ne!(*address, settings.listen.address, "a loop");
        }
    }
}

fn scopes(settings: &Settings) {
    assert!((1..=256).contains(&settings.scopes.len()));
    let mut paths = HashSet::new();
    for scope in &settings.scopes {
        let path = scope.path.to_string();
        assert!(path.starts_with('/') && !path.starts_with("//"), "{path:?}");
        assert!(paths.insert(path.clone()), "{path:?} twice");
        assert!(!path[..path.len() - 1].contains('*'), "{path:?}");
        if let Some(url) = &scope.restart_url {
            assert!(
                url.starts_with('/') && !url.starts_with("//") && !url.contains('\\'),
                "{url:?}"
            );
            assert!(url.bytes().all(|b| (0x21..0x7f).contains(&b)), "{url:?}");
            assert_eq!(scope.affinity, Level::Group, "a restart without sessions");
        }
    }
    let everything = settings
        .scopes
        .iter()
        .position(|scope| scope.path.to_string() == "/*");
    assert!(
        everything.is_none_or(|at| at + 1 == settings.scopes.len()),
        "a scope after \"/*\""
    );
}
