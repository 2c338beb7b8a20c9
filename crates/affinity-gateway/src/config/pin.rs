//! `[pin]`: keys, carriers and lifetimes of the pins.

use std::time::Duration;

use tower_affinity::Carrier;
use tower_affinity::core::{
    IdSecret, KeyError, KeyId, Keyring, Lifetimes, LifetimesError, ServiceName,
};

use super::Sources;
use super::cookie::{self, Cookie};
use super::id_secret::{self, IdSecretSetting};
use super::keys::{self, KeySetting};
use super::section::Section;
use super::span::{Bounds, in_words};

/// How pins are signed, carried, and how long they live.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PinSettings {
    /// 1 to 16 keys with unique ids; the first one signs, the others verify.
    pub keys: Vec<KeySetting>,
    /// What hides the names of groups in the pins of keys for Ed25519; required with one.
    pub id_secret: Option<IdSecretSetting>,
    /// How pins travel: the cookie, the header, or both in this order.
    pub carriers: Vec<Carrier>,
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

impl PinSettings {
    /// The ring that signs and verifies, made from the keys.
    ///
    /// # Errors
    ///
    /// If no cryptography was chosen; the keys themselves were checked.
    pub fn keyring(&self) -> Result<Keyring, KeyError> {
        let keys = self.keys.iter().map(KeySetting::key);
        let keys = keys.collect::<Result<Vec<_>, _>>()?;
        match &self.id_secret {
            Some(ids) => Keyring::with_id_secret(keys, IdSecret::new(ids.secret.expose())?),
            None => Keyring::new(keys),
        }
    }
}

pub(super) fn read(
    pin: &Section<'_>,
    service: Option<&ServiceName>,
    default_skew: Duration,
    sources: &Sources<'_>,
) -> Option<PinSettings> {
    let keys = keys::read(pin, sources);
    let id_secret = id_secret::read(pin, &keys, sources);
    let drop_early = keys::dropped(pin, &keys);
    let carriers = carriers(pin);
    let cookie = cookie::read(pin, service);

    let skew = pin.field("clock_skew");
    let clock_skew = skew.and_then(|field| field.duration(&SKEW));
    let (lifetimes, local_idle_timeout) = two_clocks(pin);
    pin.finish();
    let settings = PinSettings {
        keys,
        id_secret,
        carriers,
        lifetimes,
        local_idle_timeout,
        clock_skew: clock_skew.unwrap_or(default_skew),
        cookie: cookie?,
        drop_early,
    };
    if pin.is_clean()
        && let Err(error) = settings.keyring()
    {
        let accepted = "keys that can be in one ring";
        pin.refuse_whole("keys", format!("{error}; accepted: {accepted}"));
    }
    Some(settings)
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

fn carriers(pin: &Section<'_>) -> Vec<Carrier> {
    let Some(field) = pin.field("carriers") else {
        return CARRIERS.map(|(_, carrier)| carrier).into();
    };
    let accepted = "\"cookie\", \"header\" or both, each once";
    let mut named: Vec<Carrier> = Vec::new();
    for item in field.items(CARRIERS.len(), accepted).unwrap_or_default() {
        match item.word(&CARRIERS) {
            Some(carrier) if named.contains(&carrier) => {
                item.refuse(format!("is named twice; accepted: {accepted}"));
            }
            Some(carrier) => named.push(carrier),
            None => {}
        }
    }
    if named.is_empty() && pin.is_clean() {
        field.refuse(format!("no pin could travel; accepted: {accepted}"));
    }
    // the order of the file means nothing
    let words = CARRIERS.into_iter().map(|(_, carrier)| carrier);
    words.filter(|carrier| named.contains(carrier)).collect()
}

pub(super) const CARRIERS: [(&str, Carrier); 2] =
    [("cookie", Carrier::Cookie), ("header", Carrier::Header)];
/// A pin may live for a leap year; browsers cut cookies off at 400 days.
const LIFETIME: Bounds = Bounds::seconds(1, 366 * 86_400);
const SKEW: Bounds = Bounds::seconds(0, 3_600);
