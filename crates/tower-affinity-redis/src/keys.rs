//! The names of keys.
//!
//! Sessions are spread over 64 buckets. All keys of one bucket have the same hash tag, so they lie in
//! one slot of a cluster, and a script that writes a row and counts it touches no other node.

use tower_affinity_core::RowKey;

/// How many buckets there are; part of the keys' form.
pub(crate) const BUCKETS: u8 = 64;

/// The names under one prefix.
#[derive(Clone, Debug)]
pub(crate) struct Names {
    prefix: String,
}

impl Names {
    pub(crate) fn new(prefix: &str) -> Self {
        Self {
            prefix: prefix.to_owned(),
        }
    }

    pub(crate) fn bucket(&self, number: u8) -> Bucket {
        let tag = format!("{{{}:{number:02}}}", self.prefix);
        Bucket {
            labels: format!("{tag}:labels"),
            sets: format!("{tag}:live:"),
            tag,
        }
    }

    pub(crate) fn bucket_of(&self, key: RowKey) -> Bucket {
        // the bits are random, or a hash
        let (_, bits) = key.parts();
        let [.., last] = bits.to_be_bytes();
        self.bucket(last % BUCKETS)
    }
}

/// The names in one bucket.
#[derive(Debug)]
pub(crate) struct Bucket {
    tag: String,
    /// The set of the labels that rows are counted under.
    pub(crate) labels: String,
    /// What the sorted set of a label begins with.
    pub(crate) sets: String,
}

impl Bucket {
    pub(crate) fn row(&self, key: RowKey) -> String {
        format!("{}:{key}", self.tag)
    }
}

#[cfg(test)]
mod tests {
    use tower_affinity_core::{DrawKey, SessionId};

    use super::*;

    #[test]
    fn all_keys_of_a_bucket_have_one_tag() {
        let session = SessionId::from_random(0x1ff);
        let bucket = Names::new("affinity:shop").bucket_of(RowKey::Session(session));
        let tag = "{affinity:shop:63}";
        assert_eq!(bucket.labels, format!("{tag}:labels"));
        assert_eq!(bucket.sets, format!("{tag}:live:"));
        let row = bucket.row(RowKey::Session(session));
        assert_eq!(row, format!("{tag}:s:{:032x}", 0x1ff));
        let row = bucket.row(RowKey::Named(DrawKey::from(session)));
        assert_eq!(row, format!("{tag}:k:{:032x}", 0x1ff));
    }
}
