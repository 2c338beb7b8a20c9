//! Session ids from the system's random generator.

use std::cell::RefCell;

use tower_affinity_core::SessionId;

const IDS: usize = 32;

thread_local! {
    /// One call of the system fills many ids, so that the common path makes no system call.
    static BUFFER: RefCell<Buffer> = const { RefCell::new(Buffer { bytes: [0; 16 * IDS], left: 0 }) };
}

struct Buffer {
    bytes: [u8; 16 * IDS],
    left: usize,
}

/// 128 fresh random bits.
///
/// # Panics
///
/// If the system's random generator fails after it has answered at start; see [`check`].
pub(crate) fn fresh_session() -> SessionId {
    BUFFER.with_borrow_mut(|buffer| {
        if buffer.left == 0 {
            #[expect(clippy::expect_used, reason = "the generator was asked once at start")]
            getrandom::fill(&mut buffer.bytes)
                .expect("the random generator that answered at start");
            buffer.left = IDS;
        }
        buffer.left -= 1;
        let mut bits = [0; 16];
        if let Some(id) = buffer.bytes.chunks_exact_mut(16).nth(buffer.left) {
            bits.copy_from_slice(id);
            // an id that is in use must not be found in memory next to those to come
            id.fill(0);
        }
        SessionId::from_random(u128::from_be_bytes(bits))
    })
}

/// Whether the system's random generator answers.
pub(crate) fn check() -> Result<(), getrandom::Error> {
    getrandom::fill(&mut [0; 16])
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn no_session_id_comes_twice_from_any_thread() {
        let threads = (0..4).map(|_| {
            std::thread::spawn(|| (0..10_000).map(|_| fresh_session()).collect::<Vec<_>>())
        });
        let threads: Vec<_> = threads.collect();
        let ids: Vec<_> = threads
            .into_iter()
            .flat_map(|thread| thread.join().unwrap())
            .collect();
        let distinct: HashSet<_> = ids.iter().collect();
        assert_eq!(distinct.len(), ids.len(), "an id came twice");
        assert!(
            !distinct.contains(&SessionId::from_random(0)),
            "an id was not random"
        );
    }
}
