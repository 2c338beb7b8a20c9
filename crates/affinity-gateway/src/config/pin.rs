//! `[pin]`: keys, carriers and lifetimes of the pins.

use std::time::Duration;

use tower_affinity::core::{Key, KeyError, KeyId, Keyring, Lifetimes, LifetimesError, ServiceName};

use super::Sources;
use super::cookie::{self, Cookie};
use super::keys::{self, KeySetting};
use super::section::Section;
use super::span::{Bounds, in_words};

/// How pins are signed, carried, and how long they live.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PinSettings {
    /// 1 to 16 keys with unique ids; the first one signs, the others verify.
    pub keys: Vec<KeySetting>,
    /// How pins travel; at least one way.
    pub carriers: Carriers,
    /// How long an unused pin is valid, and a session's pins in all.
    pub lifetimes: Lifetimes,
    /// The application's own idle timeout; shorter than three quarters of `idle_ttl`.
    pub local_idle_timeout: Duration,
    /// How far clocks of replicas may differ, for *drained* only.
    pub clock_skew: Duration,
    /// The pin's cookie.
    pub cookie: Cookie,
    /// Ids of removed keys that may go before the pins they signed have expired.
    pub drop_early: Vec<KeyId>,
}

/// How pins travel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Carriers {
    /// In a cookie.
    pub cookie: bool,
    /// In the `affinity-pin` header.
    pub header: bool,
}

impl PinSettings {
    /// The ring that signs and verifies, made from the keys.
    ///
    /// # Errors
    ///
    /// If no cryptography was chosen; the keys themselves were checked.
    pub fn keyring(&self) -> Result<Keyring, KeyError> {
        let keys = self
            .keys
            .iter()
            .map(|key| Key::hs256(key.id.clone(), key.secret.expose()));
        Keyring::new(keys.collect::<Result<Vec<_>, _>>()?)
    }
}

pub(super) fn read(
    pin: &Section<'_>,
    service: Option<&ServiceName>,
    sources: &Sources<'_>,
) -> PinSettings {
    let keys = keys::read(pin, sources);
    let drop_early = keys::dropped(pin, &keys);
    let carriers = carriers(pin);
    let cookie = cookie::read(pin, service);

    let skew = pin.field("clock_skew");
    let clock_skew = skew.and_then(|field| field.duration(&SKEW));
    pin.unsupported("id_secret");
    let (lifetimes, local_idle_timeout) = two_clocks(pin);
    pin.finish();
    PinSettings {
        keys,
        carriers,
        lifetimes,
        local_idle_timeout,
        clock_skew: clock_skew.unwrap_or_default(),
        cookie,
        drop_early,
    }
}

/// How long pins live, and the application's own idle timeout, which they must outlast.
fn two_clocks(pin: &Section<'_>) -> (Lifetimes, Duration) {
    let default = Lifetimes::default();
    let span = |name, default| {
        let field = pin.field(name);
        let read = field.as_ref().and_then(|field| field.duration(&LIFETIME));
        (field, read.unwrap_or(default))
    };
    let (idle, idle_ttl) = span("idle_ttl", default.idle());
    let (age, max_age) = span("max_age", default.max_age());
    let (local, local_timeout) = span("local_idle_timeout", Duration::from_secs(600));
    let checked = Lifetimes::new(idle_ttl, max_age);
    let lifetimes = match checked.and_then(|lifetimes| lifetimes.outlasts(local_timeout)) {
        Ok(lifetimes) => lifetimes,
        Err(_) if !pin.is_clean() => default,
        Err(error) => {
            // told where somebody wrote a value; the defaults alone break no rule
            let local =
                local.filter(|_| matches!(error, LifetimesError::LocalOutlastsRouting { .. }));
            match local.or(idle).or(age) {
                Some(field) => field.refuse(broken(&error)),
                None => pin.refuse("idle_ttl", broken(&error)),
            }
            default
        }
    };
    (lifetimes, local_timeout)
}

/// The rule that is broken, with both values as the file would write them.
fn broken(error: &LifetimesError) -> String {
    match error {
        LifetimesError::LocalOutlastsRouting { idle, local, .. } => format!(
            "pin.local_idle_timeout ({}) is not shorter than three quarters of pin.idle_ttl ({}); \
             accepted: a routing clock that outlasts the application's own",
            in_words(*local),
            in_words(*idle)
        ),
        LifetimesError::IdleOverMaxAge { idle, max_age } => format!(
            "pin.idle_ttl ({}) is longer than pin.max_age ({}); accepted: an idle_ttl of at most max_age",
            in_words(*idle),
            in_words(*max_age)
        ),
        LifetimesError::TooShort(_) => format!("accepted: {LIFETIME}"),
    }
}

fn carriers(pin: &Section<'_>) -> Carriers {
    let both = Carriers {
        cookie: true,
        header: true,
    };
    let Some(field) = pin.field("carriers") else {
        return both;
    };
    let accepted = "\"cookie\", \"header\" or both, each once";
    let Some(items) = field.items(2, accepted) else {
        return both;
    };
    let mut carriers = Carriers {
        cookie: false,
        header: false,
    };
    for item in &items {
        let cookie = item.word(&[("cookie", true), ("header", false)], &[]);
        let carrier = match cookie {
            Some(true) => &mut carriers.cookie,
            Some(false) => &mut carriers.header,
            None => continue,
        };
        if *carrier {
            item.refuse(format!("is named twice; accepted: {accepted}"));
        }
        *carrier = true;
    }
    if items.is_empty() {
        field.refuse(format!("no pin could travel; accepted: {accepted}"));
    }
    carriers
}

/// A pin may live for a leap year; browsers cut cookies off at 400 days.
const LIFETIME: Bounds = Bounds::seconds(1, 366 * 86_400);
const SKEW: Bounds = Bounds::seconds(0, 3_600);
