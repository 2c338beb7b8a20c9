//! Failures that come long after their session was counted make no difference where there is none.

use tower_affinity_core::analysis::Tally;

use crate::alarms::ours;
use crate::chance::{Binomial, Dice};
use crate::course::is_alarm;

/// Whether an equal canary is ever called different when failures come late: a session fails so
/// many looks after its beginning, with these odds at each. No session begins after `arrivals`
/// looks.
fn alarms(
    [of_weight, of_rate]: &[Binomial; 2],
    odds: f64,
    arrivals: usize,
    dice: &mut Dice,
) -> bool {
    const LOOKS: usize = 200;
    let mut due = vec![(0_u64, 0_u64); LOOKS];
    let (mut canary, mut stable) = (Tally::default(), Tally::default());
    for look in 0..LOOKS {
        if look < arrivals {
            let sessions = of_weight.draw(100, dice);
            canary.sessions += sessions;
            stable.sessions += 100 - sessions;
            for _ in 0..of_rate.draw(sessions, dice) {
                if let Some(due) = due.get_mut(look + dice.wait(odds)) {
                    due.0 += 1;
                }
            }
            for _ in 0..of_rate.draw(100 - sessions, dice) {
                if let Some(due) = due.get_mut(look + dice.wait(odds)) {
                    due.1 += 1;
                }
            }
        }
        canary.failed += due[look].0;
        stable.failed += due[look].1;
        if is_alarm(ours(&canary, &stable)) {
            return true;
        }
    }
    false
}

#[test]
fn late_failures_are_no_false_alarms() {
    const RUNS: u64 = 1_000;
    for (rate, weight) in [(0.01, 0.1), (0.05, 0.5), (0.3, 0.1), (0.3, 0.5)] {
        let tables = [Binomial::new(weight), Binomial::new(rate)];
        // a steady stream; and a crowd that comes at once and fails for hours
        for (odds, arrivals) in [(0.05, 200), (0.02, 10)] {
            let alarmed = (0..RUNS)
                .filter(|run| {
                    let mut dice = Dice::new(run << 32 | 0x1a7e);
                    alarms(&tables, odds, arrivals, &mut dice)
                })
                .count();
            let share = alarmed as f64 / RUNS as f64;
            println!(
                "late failures, rate {rate}, weight {weight}, sessions for {arrivals} looks: {:.2} %",
                share * 100.0
            );
            assert!(
                share <= 0.05,
                "rate {rate}, weight {weight}, odds {odds}: {share} are alarms"
            );
        }
    }
}
