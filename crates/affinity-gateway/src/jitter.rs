//! Times that differ a little, so that what began together does not happen together for ever.

use std::time::Duration;

/// `span`, longer or shorter by up to `percent` of it.
pub(crate) fn around(span: Duration, percent: u32) -> Duration {
    let share = f64::from(percent) / 100.0;
    span.mul_f64(1.0 + share * (2.0 * fastrand::f64() - 1.0))
}
