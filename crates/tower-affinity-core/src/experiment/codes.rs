//! What a pin carries of experiments; see the [module](super) for its form.

use std::fmt;
use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use super::{ArmName, ExperimentName};
use crate::assign::salt_of;

/// The most entries that a pin carries: those of a whole set, and some of another release.
pub const MAX_CARRIED: usize = 12;

/// One experiment and its arm: 20 bits of the one, 12 bits of the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ArmCode(u32);

/// The arms that a session was given, as its pin carries them: by default none.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct ArmCodes {
    entries: Option<Arc<[ArmCode]>>,
    is_cut: bool,
}

impl ArmCode {
    pub(super) const fn new(experiment: u32, arm: u16) -> Self {
        Self(experiment << ARM_BITS | arm as u32)
    }

    const fn experiment(self) -> u32 {
        self.0 >> ARM_BITS
    }
}

impl ArmCodes {
    /// The first so many entries, of which no two are of one experiment.
    pub(super) fn new(entries: impl IntoIterator<Item = ArmCode>) -> Self {
        let mut kept: Vec<ArmCode> = Vec::new();
        for entry in entries {
            let is_new = |kept: &ArmCode| kept.experiment() != entry.experiment();
            if kept.len() < MAX_CARRIED && kept.iter().all(is_new) {
                kept.push(entry);
            }
        }
        Self {
            entries: (!kept.is_empty()).then(|| kept.into()),
            is_cut: false,
        }
    }

    /// Whether nothing is carried, not even that something did not fit.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_none() && !self.is_cut
    }

    /// Whether entries were left out, because the pin would have been too long.
    #[must_use]
    pub fn is_cut(&self) -> bool {
        self.is_cut
    }

    /// These entries and those of `others` for experiments that are not among them.
    #[must_use]
    pub fn and(&self, others: &Self) -> Self {
        let all = self.entries().iter().chain(others.entries());
        Self {
            is_cut: self.is_cut,
            ..Self::new(all.copied())
        }
    }

    pub(super) fn entries(&self) -> &[ArmCode] {
        self.entries.as_deref().unwrap_or_default()
    }

    pub(super) fn of(&self, experiment: u32) -> Option<ArmCode> {
        let mut entries = self.entries().iter().copied();
        entries.find(|entry| entry.experiment() == experiment)
    }

    /// These without the last entry, which they then say; of none, nothing is left.
    pub(crate) fn without_last(&self) -> Self {
        match self.entries().split_last() {
            Some((_, rest)) => Self {
                is_cut: true,
                ..Self::new(rest.iter().copied())
            },
            None => Self::default(),
        }
    }

    /// The claim; `None` if there is nothing to say.
    pub(crate) fn encode(&self) -> Option<String> {
        if self.is_empty() {
            return None;
        }
        let bytes: Vec<u8> = self
            .entries()
            .iter()
            .flat_map(|e| e.0.to_be_bytes())
            .collect();
        let mut text = URL_SAFE_NO_PAD.encode(bytes);
        if self.is_cut {
            text.push(CUT);
        }
        Some(text)
    }

    /// Reads the claim. A text of another form is one of another release: arms are given anew then.
    pub(crate) fn decode(text: &str) -> Self {
        let entries = text.strip_suffix(CUT);
        let is_cut = entries.is_some();
        let mut bytes = [0; MAX_CARRIED * 4];
        let read = URL_SAFE_NO_PAD.decode_slice(entries.unwrap_or(text), &mut bytes);
        let bytes = read.ok().and_then(|len| bytes.get(..len));
        let Some((entries, [])) = bytes.map(<[u8]>::as_chunks) else {
            return Self::default();
        };
        let entries = entries
            .iter()
            .map(|entry| ArmCode(u32::from_be_bytes(*entry)));
        Self {
            is_cut,
            ..Self::new(entries)
        }
    }
}

impl fmt::Debug for ArmCodes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let cut = if self.is_cut { ", cut" } else { "" };
        write!(f, "{} arms{cut}", self.entries().len())
    }
}

pub(super) fn experiment_code(experiment: &ExperimentName) -> u32 {
    first_bits(&salt_of("experiment-code", experiment.as_str())) >> ARM_BITS
}

pub(super) fn arm_code(experiment: &ExperimentName, arm: &ArmName) -> u16 {
    // neither name holds a space
    let both = format!("{experiment} {arm}");
    (first_bits(&salt_of("arm-code", &both)) >> EXPERIMENT_BITS) as u16
}

fn first_bits(hash: &[u8; 16]) -> u32 {
    hash.first_chunk()
        .map_or(0, |first| u32::from_be_bytes(*first))
}

const EXPERIMENT_BITS: u32 = 20;
const ARM_BITS: u32 = 12;
/// What base64url never has.
const CUT: char = '~';
