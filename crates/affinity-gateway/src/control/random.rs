//! Random numbers and names.

/// A name that no other replica has: 64 random bits.
pub(super) fn replica_name() -> String {
    format!("{:016x}", random())
}

pub(super) fn random() -> u64 {
    let mut bytes = [0; 8];
    // without the system's random source no key was made either: any number will do
    let _ = getrandom::fill(&mut bytes);
    u64::from_le_bytes(bytes)
}
