//! What a layer is not built from.

use tower_affinity::core::ServiceName;
use tower_affinity::{
    AffinityBuilder, AffinityLayer, BuildError, CookieAttributes, CookieError, Keyring, SameSite,
};
use tower_affinity_testing::rollout;

use crate::support::K1;

fn refused(builder: AffinityBuilder) -> String {
    match builder.build() {
        Ok(_) => panic!("the layer was built"),
        Err(error) => error.to_string(),
    }
}

/// C092: no layer makes itself a key that no other replica has.
#[test]
fn c092_a_layer_without_keys_service_or_rollout_says_what_is_missing() {
    let keys = || Keyring::parse(K1).unwrap();
    let whole = || rollout(1, &[("A", 1)]);
    let none = AffinityLayer::builder;
    assert_eq!(
        refused(none().service("checkout").rollout(whole())),
        "a keyring was not given"
    );
    assert_eq!(
        refused(none().keyring(keys()).rollout(whole())),
        "a service was not given"
    );
    assert_eq!(
        refused(none().keyring(keys()).service("checkout")),
        "a rollout was not given"
    );
}

/// SEC-28.
#[test]
fn a_service_name_that_could_change_the_cookie_is_refused() {
    for name in [
        "",
        "Checkout",
        "a;b",
        "a\r\nb",
        "a=b",
        "a b",
        "ä",
        &"a".repeat(33),
    ] {
        let builder = AffinityLayer::builder()
            .keyring(Keyring::parse(K1).unwrap())
            .rollout(rollout(1, &[("A", 1)]))
            .service(name);
        let error = builder.build().err();
        assert!(
            matches!(error, Some(BuildError::Service { .. })),
            "{name:?}: {error:?}"
        );
    }
}

/// SEC-22, SEC-28, C139: no cookie that a browser would refuse or read as two.
#[test]
fn a_cookie_that_a_browser_would_refuse_is_refused_at_once() {
    let service: ServiceName = "checkout".parse().unwrap();
    let [secure, plain] = [true, false].map(|secure| CookieAttributes::new(&service, secure));
    for name in [
        "",
        "a;b",
        "a=b",
        "a\r\nSet-Cookie: b",
        "a b",
        "\"a\"",
        "é",
        &"a".repeat(65),
    ] {
        assert_eq!(
            secure.clone().name(name),
            Err(CookieError::Name),
            "{name:?}"
        );
    }
    for name in ["__Host-x", "__Secure-x", "__host-x", "__SECURE-x"] {
        let error = plain.clone().name(name);
        assert_eq!(error, Err(CookieError::PrefixNeedsSecure(name.to_owned())));
        assert!(secure.clone().name(name).is_ok());
    }
    assert_eq!(
        plain.clone().same_site(SameSite::None),
        Err(CookieError::NoneNeedsSecure)
    );
    assert_eq!(
        plain.partitioned(true),
        Err(CookieError::PartitionedNeedsSecure)
    );
    let third_party = secure
        .same_site(SameSite::None)
        .unwrap()
        .partitioned(true)
        .unwrap();
    let site = crate::support::Site::with(|builder| builder.cookie(third_party));
    let seen = site.get(&[]);
    let line = seen.set_cookies()[0];
    assert!(
        line.ends_with("; HttpOnly; SameSite=None; Partitioned; Secure; Path=/; Max-Age=1800"),
        "{line}"
    );
}

#[test]
fn a_setting_of_a_scope_that_could_never_take_effect_is_refused() {
    use tower_affinity::core::{Level, OnNavigation};
    use tower_affinity::wire::{HintSource, Scope};
    use tower_affinity::{AffinityLayer, BuildError, Keyring};

    let scope = |level| Scope::new("/a/*".parse().unwrap()).level(level);
    let hint = |level| scope(level).hint(HintSource::Query("dpl".into()));
    let latest = |level| scope(level).on_navigation(OnNavigation::Latest);
    let refused = |scope: Scope| {
        let layer = AffinityLayer::builder()
            .keyring(Keyring::parse(K1).unwrap())
            .service("checkout")
            .rollout(rollout(1, &[("A", 1)]))
            .scope(scope)
            .build();
        match layer {
            Ok(_) => false,
            Err(BuildError::Scope { path, .. }) => path.to_string() == "/a/*",
            Err(other) => panic!("refused for another reason: {other}"),
        }
    };
    for level in [
        Level::None,
        Level::Connection,
        Level::Group,
        Level::Endpoint,
        Level::Version,
    ] {
        assert!(refused(hint(level)), "a hint at {level:?}");
        let sessions = level.has_session();
        assert_eq!(refused(latest(level)), !sessions, "page loads at {level:?}");
    }
    assert!(!refused(hint(Level::Follow)) && refused(latest(Level::Follow)));
}

/// The balancer in front chooses the process, and no cookie of ours changes that.
#[test]
fn a_process_that_is_one_group_cannot_keep_sessions_on_endpoints() {
    use tower_affinity::core::Level;
    use tower_affinity::wire::{PathPattern, Scope};

    let builder = |level| {
        AffinityLayer::builder()
            .keyring(Keyring::parse(K1).unwrap())
            .service("checkout")
            .rollout(rollout(1, &[("A", 1)]))
            .scope(Scope::new("/upload/*".parse().unwrap()).level(level))
            .scope(Scope::new(PathPattern::all()))
    };
    let serving = |level| builder(level).serving("A".parse().unwrap());
    assert_eq!(
        refused(serving(Level::Endpoint)),
        "the scope /upload/* has the level `endpoint`, which only a gateway can keep; use `group`"
    );
    assert!(serving(Level::Group).build().is_ok());
    assert!(
        builder(Level::Endpoint).build().is_ok(),
        "what balances itself keeps them"
    );
}
