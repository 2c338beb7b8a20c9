//! [`Experiment`]: its arms and their draw.

use siphasher::sip::SipHasher24;

use super::codes::{ArmCode, arm_code, experiment_code};
use super::{ArmName, ExperimentError, ExperimentName};
use crate::assign::{race, salt_of};
use crate::{DrawKey, Weight};

/// The most arms of one experiment.
///
/// Twelve bits tell them apart in a pin: of so many arms with names at random, two look alike once in
/// 146 times, and one of them has to be renamed then.
pub const MAX_ARMS: usize = 8;

/// An experiment: a name, and at least one arm that has weight.
#[derive(Clone, Debug)]
pub struct Experiment {
    name: ExperimentName,
    arms: Vec<Arm>,
    salt: SipHasher24,
    code: u32,
}

/// One arm of an [`Experiment`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Arm {
    name: ArmName,
    weight: Weight,
    code: u16,
}

impl Experiment {
    /// An experiment with these arms, in any order.
    ///
    /// # Errors
    ///
    /// If none of them has weight, there are more than [`MAX_ARMS`], or two cannot be told apart.
    pub fn new(
        name: ExperimentName,
        arms: impl IntoIterator<Item = (ArmName, Weight)>,
    ) -> Result<Self, ExperimentError> {
        let code = experiment_code(&name);
        let mut known: Vec<Arm> = Vec::new();
        for (arm, weight) in arms {
            let code = arm_code(&name, &arm);
            if let Some(same) = known.iter().find(|known| known.code == code) {
                return Err(ExperimentError::SameArms(name, same.name.clone(), arm));
            }
            if known.len() == MAX_ARMS {
                return Err(ExperimentError::TooManyArms(name));
            }
            known.push(Arm {
                name: arm,
                weight,
                code,
            });
        }
        if known.iter().all(|arm| arm.weight.is_zero()) {
            return Err(ExperimentError::NoWeight(name));
        }
        Ok(Self {
            salt: SipHasher24::new_with_key(&salt_of("experiment-arm", name.as_str())),
            name,
            arms: known,
            code,
        })
    }

    /// The name.
    #[must_use]
    pub fn name(&self) -> &ExperimentName {
        &self.name
    }

    /// The arms, in the order in which they were given.
    #[must_use]
    pub fn arms(&self) -> &[Arm] {
        &self.arms
    }

    /// The arm that `key` draws by weight.
    #[must_use]
    pub fn draw(&self, key: DrawKey) -> Option<&Arm> {
        let arms = self.arms.iter();
        race(
            self.salt,
            key,
            arms.map(|arm| (arm, arm.name.as_str(), arm.weight)),
        )
    }

    pub(super) fn code(&self) -> u32 {
        self.code
    }

    /// An arm of this experiment as pins carry it.
    pub(super) fn code_of(&self, arm: &Arm) -> ArmCode {
        ArmCode::new(self.code, arm.code)
    }

    /// Where the arm is that a pin carries; `None` if it is none of the arms, or not any more.
    pub(super) fn position(&self, code: ArmCode) -> Option<usize> {
        self.arms.iter().position(|arm| self.code_of(arm) == code)
    }
}

impl PartialEq for Experiment {
    /// All else follows from these.
    fn eq(&self, other: &Self) -> bool {
        (&self.name, &self.arms) == (&other.name, &other.arms)
    }
}

impl Eq for Experiment {}

impl Arm {
    /// The name.
    #[must_use]
    pub fn name(&self) -> &ArmName {
        &self.name
    }

    /// The arm's relative share of sessions that begin; 0 for none.
    #[must_use]
    pub fn weight(&self) -> Weight {
        self.weight
    }
}
