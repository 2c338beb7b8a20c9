//! The replicas as one of them sees them: what each says of itself, who hears it, and who is gone.

mod alive;
mod drained;
mod pins;
mod word;

pub(super) use self::pins::{Expiries, Placed, Retired};
pub(super) use self::word::{Heard, Said};
