//! Random numbers and names.

use getrandom::Error;

/// A name that no other replica has: 64 random bits. Without them two replicas would take each
/// other's words for their own.
pub(super) fn replica_name() -> Result<String, Error> {
    Ok(format!("{:016x}", random()?))
}

pub(super) fn random() -> Result<u64, Error> {
    getrandom::u64()
}
