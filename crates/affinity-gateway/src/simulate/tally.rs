//! What happened in a step, counted for each group.

use tower_affinity::core::Timestamp;

/// How many looks at the live sessions a step is divided into.
pub(super) const LOOKS: usize = 60;

/// Counts of one step.
#[derive(Clone, Debug)]
pub(super) struct Tally {
    pub(super) from: Timestamp,
    pub(super) until: Timestamp,
    pub(super) groups: Vec<Counts>,
    /// The latest expiry of all pins to each group, since the beginning of all.
    pub(super) last_expiry: Vec<Option<Timestamp>>,
}

/// Counts of one group in one step.
#[derive(Clone, Debug)]
pub(super) struct Counts {
    /// Sessions assigned to it.
    pub(super) assigned: u64,
    /// Sessions moved to it.
    pub(super) arrived: u64,
    /// Sessions moved away from it.
    pub(super) left: u64,
    /// Sessions refused, which ends them.
    pub(super) refused: u64,
    /// Sessions whose pin to it was over while their client went on.
    pub(super) lapsed: u64,
    /// By how much the number of live sessions changed before each look.
    changes: [i64; LOOKS + 1],
}

impl Tally {
    pub(super) fn new(
        from: Timestamp,
        until: Timestamp,
        last_expiry: Vec<Option<Timestamp>>,
    ) -> Self {
        let counts = Counts {
            assigned: 0,
            arrived: 0,
            left: 0,
            refused: 0,
            lapsed: 0,
            changes: [0; LOOKS + 1],
        };
        Self {
            from,
            until,
            groups: vec![counts; last_expiry.len()],
            last_expiry,
        }
    }

    /// A session that was live before the step.
    pub(super) fn carried(&mut self, group: Option<usize>) {
        self.change(group, self.from, 1);
    }

    pub(super) fn assigned(&mut self, to: Option<usize>, at: Timestamp) {
        if let Some(counts) = self.of(to) {
            counts.assigned += 1;
        }
        self.change(to, at, 1);
    }

    pub(super) fn lapsed(&mut self, from: usize, at: Timestamp) {
        if let Some(counts) = self.of(Some(from)) {
            counts.lapsed += 1;
        }
        self.change(Some(from), at, -1);
    }

    pub(super) fn moved(&mut self, from: Option<usize>, to: Option<usize>, at: Timestamp) {
        if let Some(counts) = self.of(from) {
            counts.left += 1;
        }
        if let Some(counts) = self.of(to) {
            counts.arrived += 1;
        }
        self.change(from, at, -1);
        self.change(to, at, 1);
    }

    pub(super) fn refused(&mut self, group: Option<usize>, at: Timestamp) {
        if let Some(counts) = self.of(group) {
            counts.refused += 1;
        }
        self.change(group, at, -1);
    }

    pub(super) fn over(&mut self, group: Option<usize>, at: Timestamp) {
        self.change(group, at, -1);
    }

    pub(super) fn issued(&mut self, group: Option<usize>, expires: Timestamp) {
        if let Some(last) = group.and_then(|group| self.last_expiry.get_mut(group)) {
            *last = Some(last.map_or(expires, |last| last.max(expires)));
        }
    }

    /// When the looks of the step are.
    pub(super) fn looks(&self) -> impl Iterator<Item = Timestamp> {
        let (from, span) = (self.from, self.until.since(self.from));
        (0..=LOOKS as u32).map(move |look| from.plus(span * look / LOOKS as u32))
    }

    fn of(&mut self, group: Option<usize>) -> Option<&mut Counts> {
        self.groups.get_mut(group?)
    }

    fn change(&mut self, group: Option<usize>, at: Timestamp, by: i64) {
        let since = at.as_millis().saturating_sub(self.from.as_millis());
        let span = self.until.as_millis().saturating_sub(self.from.as_millis());
        // the first look that is not before it
        let look = (since * LOOKS as u64).div_ceil(span.max(1));
        let look = usize::try_from(look).unwrap_or(LOOKS).min(LOOKS);
        if let Some(counts) = self.of(group)
            && let Some(change) = counts.changes.get_mut(look)
        {
            *change += by;
        }
    }
}

impl Counts {
    /// The live sessions at each look; the first is at the step's beginning, the last at its end.
    pub(super) fn live(&self) -> impl Iterator<Item = u64> {
        self.changes.iter().scan(0_i64, |live, change| {
            *live += change;
            Some(u64::try_from(*live).unwrap_or_default())
        })
    }
}
