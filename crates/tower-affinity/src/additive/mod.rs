//! [`Additive`]: a session's payload that several releases write.

mod carried;
mod kept;
mod read;
#[cfg(test)]
mod tests;
mod write;

use std::fmt;
use std::ops::{Deref, DerefMut};

use self::carried::Carried;

/// A value for a store of sessions that old and new code share: fields that this release does not
/// know are carried from reading to writing.
///
/// While a rollout goes on, and after a rollback, one session's payload is read and written by
/// several releases. Read into a plain struct and written again, it loses every field that the other
/// release has added. In an `Additive` it does not: `T` is a struct with named fields, and what else
/// the payload holds stays beside it, in the order in which it came.
///
/// The other half is `T`'s own: it must do without fields that older code did not write, so it has
/// `#[serde(default)]`.
///
/// ```
/// use serde::{Deserialize, Serialize};
/// use tower_affinity::Additive;
///
/// #[derive(Default, Serialize, Deserialize)]
/// #[serde(default)]
/// struct Flow {
///     step: u32,
/// }
///
/// # fn main() -> Result<(), serde_json::Error> {
/// // the next release has added a field
/// let stored = r#"{"step":1,"coupon":"SPRING"}"#;
/// let mut flow: Additive<Flow> = serde_json::from_str(stored)?;
/// flow.step += 1;
/// assert_eq!(serde_json::to_string(&flow)?, r#"{"step":2,"coupon":"SPRING"}"#);
/// # Ok(()) }
/// ```
///
/// Customised: structs inside are structs of their own, so they are wrapped as well where they may
/// grow.
///
/// ```
/// use serde::{Deserialize, Serialize};
/// use tower_affinity::Additive;
///
/// #[derive(Default, Serialize, Deserialize)]
/// #[serde(default)]
/// struct Order {
///     address: Additive<Address>,
///     items: Vec<Additive<Item>>,
/// }
///
/// #[derive(Default, Serialize, Deserialize)]
/// #[serde(default)]
/// struct Address {
///     city: String,
/// }
///
/// #[derive(Default, Serialize, Deserialize)]
/// #[serde(default)]
/// struct Item {
///     count: u32,
/// }
/// # fn main() -> Result<(), serde_json::Error> {
/// let stored = r#"{"address":{"city":"Ulm","zip":"89073"},"items":[{"count":2,"gift":true}]}"#;
/// let mut order: Additive<Order> = serde_json::from_str(stored)?;
/// order.address.city = "Bonn".to_owned();
/// assert_eq!(
///     serde_json::to_string(&order)?,
///     r#"{"address":{"city":"Bonn","zip":"89073"},"items":[{"count":2,"gift":true}]}"#
/// );
/// # Ok(()) }
/// ```
///
/// # What is carried
///
/// Fields of the top level that `T` does not read, whatever they hold, by any format that describes
/// itself and writes structs by their names: JSON, or MessagePack by maps. Structs below it are
/// values of `T`, and lose what they do not know unless they are `Additive` themselves.
///
/// Numbers are as the format gives them: `serde_json` reads decimals to the last bit only with its
/// feature `float_roundtrip`, and makes integers of more than 64 bits decimals. MessagePack's
/// extension types cannot be carried.
///
/// # What is not
///
/// At most [`Additive::LIMIT`] bytes are carried, and at most 32 levels of nesting, so that no
/// payload can grow without bound in releases that do not know it. If there is more, or something
/// that cannot be carried, *all* unknown fields are dropped rather than some of them: the next
/// release then sees a payload as this one writes it, which it has to be able to read anyway. It is
/// no error, since the session would be lost with it. It is counted in
/// `affinity_session_fields_dropped_total` and in [`Additive::dropped`], and logged.
///
/// # Rules for those who write releases
///
/// Adding a field is all that is additive. A field keeps its name and its meaning while any release
/// that reads it can come back; a rename is a new field, written beside the old one and *not* an
/// `alias` of it. A field goes away only after the last release that reads it.
///
/// # Errors
///
/// Reading and writing fail if `T` is not a struct with named fields, or has a field with
/// `#[serde(flatten)]`, since then nobody can say what it does not know; and as `T`'s own do.
#[derive(Clone, Default, PartialEq)]
pub struct Additive<T> {
    known: T,
    carried: Carried,
}

impl<T> Additive<T> {
    /// How many bytes of unknown fields are carried, counted as they are in memory: 16 KiB.
    pub const LIMIT: usize = carried::LIMIT;

    /// A value with nothing to carry.
    #[must_use]
    pub fn new(known: T) -> Self {
        Self {
            known,
            carried: Carried::default(),
        }
    }

    /// The value without what it carries.
    #[must_use]
    pub fn into_inner(self) -> T {
        self.known
    }

    /// How many unknown fields are carried.
    #[must_use]
    pub fn carried(&self) -> usize {
        self.carried.len()
    }

    /// How many unknown fields were dropped when this was read, because they were too much.
    #[must_use]
    pub fn dropped(&self) -> usize {
        self.carried.dropped()
    }
}

impl<T> From<T> for Additive<T> {
    fn from(known: T) -> Self {
        Self::new(known)
    }
}

impl<T> Deref for Additive<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.known
    }
}

impl<T> DerefMut for Additive<T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.known
    }
}

impl<T: fmt::Debug> fmt::Debug for Additive<T> {
    /// What is carried is counted and not shown: it may be anything of the user's.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Additive")
            .field("known", &self.known)
            .field("carried", &self.carried())
            .field("dropped", &self.dropped())
            .finish()
    }
}
