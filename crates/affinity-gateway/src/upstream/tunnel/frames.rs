//! The frames of a WebSocket, by their lengths only.

/// Follows one direction of a WebSocket and knows where frames end. It reads no payload and keeps
/// none.
#[derive(Debug, Default)]
pub(super) struct Frames {
    head: Head,
    /// Bytes of the present frame, behind what was read of its head.
    payload: u64,
    closed: bool,
}

/// What was read of a head so far.
#[derive(Debug, Default)]
struct Head {
    bytes: [u8; LONGEST_HEAD],
    length: usize,
}

/// Two bytes, a length of eight and a mask of four.
const LONGEST_HEAD: usize = 14;
const CLOSE: u8 = 0x8;

impl Frames {
    /// Whether a frame has ended and the next has not begun.
    pub(super) fn at_boundary(&self) -> bool {
        self.head.length == 0 && self.payload == 0
    }

    /// Whether a close frame was seen: nothing may follow it.
    pub(super) fn is_closed(&self) -> bool {
        self.closed
    }

    /// Takes all of `bytes`.
    pub(super) fn pass(&mut self, bytes: &[u8]) {
        let mut rest = bytes;
        while !rest.is_empty() {
            rest = rest.get(self.pass_frame(rest)..).unwrap_or_default();
        }
    }

    /// Takes bytes up to the end of the present frame; answers how many.
    pub(super) fn pass_frame(&mut self, bytes: &[u8]) -> usize {
        let mut taken = 0;
        while let Some(byte) = bytes.get(taken)
            && self.payload == 0
        {
            taken += 1;
            if let Some(length) = self.head.take(*byte) {
                self.closed |= self.head.is_close();
                self.head = Head::default();
                self.payload = length;
                if length == 0 {
                    return taken;
                }
            }
        }
        let left = bytes.len() - taken;
        let payload = usize::try_from(self.payload)
            .unwrap_or(usize::MAX)
            .min(left);
        self.payload -= payload as u64;
        taken + payload
    }
}

impl Head {
    /// Takes one more byte; the length of the payload once the head is whole.
    fn take(&mut self, byte: u8) -> Option<u64> {
        *self.bytes.get_mut(self.length)? = byte;
        self.length += 1;
        let [_, second, extended @ ..] = self.bytes;
        let mask = if second & 0x80 == 0 { 0 } else { 4 };
        let [a, b, c, d, e, f, g, h, ..] = extended;
        let (length, more) = match second & 0x7f {
            126 => (u64::from(u16::from_be_bytes([a, b])), 2),
            127 => (u64::from_be_bytes([a, b, c, d, e, f, g, h]), 8),
            short => (u64::from(short), 0),
        };
        (self.length >= 2 && self.length == 2 + more + mask).then_some(length)
    }

    fn is_close(&self) -> bool {
        let [first, ..] = self.bytes;
        first & 0xf == CLOSE
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing)]

    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    /// A frame as it is written: the opcode, the payload's length and form, and a mask.
    fn frame(opcode: u8, length: usize, longer: bool, masked: bool) -> Vec<u8> {
        let mask = if masked { 0x80 } else { 0 };
        let mut bytes = vec![0x80 | opcode];
        match length {
            0..=125 if !longer => bytes.push(mask | length as u8),
            0..=65_535 => {
                bytes.push(mask | 126);
                bytes.extend((length as u16).to_be_bytes());
            }
            _ => {
                bytes.push(mask | 127);
                bytes.extend((length as u64).to_be_bytes());
            }
        }
        bytes.extend(vec![0xff; if masked { 4 } else { 0 }]);
        // looks like heads of frames, which it is not
        bytes.extend((0..length).map(|at| [0x88, 0x7f, 0x00][at % 3]));
        bytes
    }

    fn frames() -> impl Strategy<Value = Vec<Vec<u8>>> {
        let length = prop_oneof![0..300_usize, 65_530..65_540_usize];
        let opcode = prop_oneof![Just(0), Just(1), Just(2), Just(9), Just(10)];
        vec(
            (opcode, length, any::<bool>(), any::<bool>())
                .prop_map(|(opcode, length, longer, masked)| frame(opcode, length, longer, masked)),
            1..6,
        )
    }

    proptest! {
        #[test]
        fn boundaries_are_where_frames_end_however_they_are_cut(
            frames in frames(),
            cuts in vec(1..40_000_usize, 1..20),
        ) {
            let ends: Vec<usize> = frames
                .iter()
                .scan(0, |end, frame| { *end += frame.len(); Some(*end) })
                .collect();
            let stream = frames.concat();
            let (mut tracker, mut at, mut cuts) = (Frames::default(), 0, cuts.iter().cycle());
            while at < stream.len() {
                let to = (at + cuts.next().unwrap()).min(stream.len());
                tracker.pass(&stream[at..to]);
                at = to;
                prop_assert_eq!(tracker.at_boundary(), ends.contains(&at), "after {} bytes", at);
                prop_assert!(!tracker.is_closed(), "a payload was taken for a close frame");
            }
        }

        #[test]
        fn from_anywhere_the_present_frame_can_be_passed_to_its_end(
            frames in frames(),
            place in any::<prop::sample::Index>(),
        ) {
            let stream = frames.concat();
            let at = place.index(stream.len());
            let mut tracker = Frames::default();
            tracker.pass(&stream[..at]);
            let mut end = 0;
            for frame in &frames {
                if end >= at { break }
                end += frame.len();
            }
            if tracker.at_boundary() {
                prop_assert_eq!(at, end);
            } else {
                prop_assert_eq!(at + tracker.pass_frame(&stream[at..]), end);
                prop_assert!(tracker.at_boundary());
            }
        }

        #[test]
        fn no_bytes_are_too_strange(bytes in vec(any::<u8>(), 0..200)) {
            let mut tracker = Frames::default();
            tracker.pass(&bytes);
            let (mut other, mut taken) = (Frames::default(), 0);
            while taken < bytes.len() {
                let frame = other.pass_frame(&bytes[taken..]);
                prop_assert!(frame > 0, "it does not go on");
                taken += frame;
            }
            prop_assert_eq!(tracker.at_boundary(), other.at_boundary());
        }
    }

    #[test]
    fn a_close_frame_is_seen() {
        let mut tracker = Frames::default();
        tracker.pass(&frame(1, 5, false, false));
        assert!(!tracker.is_closed());
        tracker.pass(&frame(CLOSE, 2, false, false));
        assert!(tracker.is_closed() && tracker.at_boundary());
    }
}
