//! Chance from one seed: the same course for ever.

/// A small seeded generator (splitmix64).
#[derive(Clone, Debug)]
pub(crate) struct Dice(u64);

impl Dice {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// A number from 0 to 1, without 1.
    pub(crate) fn part(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
    }

    fn normal(&mut self) -> f64 {
        let (radius, turn) = (1.0 - self.part(), self.part());
        (-2.0 * radius.ln()).sqrt() * (std::f64::consts::TAU * turn).cos()
    }

    /// How many times something with these odds fails before it comes.
    pub(crate) fn wait(&mut self, odds: f64) -> usize {
        ((1.0 - self.part()).ln() / (1.0 - odds).ln()) as usize
    }
}

/// How many of `n` have an event of one rate.
#[derive(Debug)]
pub(crate) struct Binomial {
    rate: f64,
    /// For each `n` up to [`TABLE`], the chances of at most 0, 1, 2…
    tables: Vec<Vec<f64>>,
}

const TABLE: usize = 100;

/// From this variance on it is normal.
const NORMAL: f64 = 400.0;

impl Binomial {
    pub(crate) fn new(rate: f64) -> Self {
        let tables = (0..=TABLE).map(|n| cumulated(n, rate));
        Self {
            rate,
            tables: tables.collect(),
        }
    }

    pub(crate) fn draw(&self, n: u64, dice: &mut Dice) -> u64 {
        let all = n as f64;
        let variance = all * self.rate * (1.0 - self.rate);
        if variance >= NORMAL {
            let drawn = all * self.rate + variance.sqrt() * dice.normal();
            return drawn.round().clamp(0.0, all) as u64;
        }
        let (tables, rest) = (n / TABLE as u64, n as usize % TABLE);
        let mut one = |table: &[f64]| {
            let part = dice.part();
            table.partition_point(|&most| most <= part) as u64
        };
        let whole: u64 = (0..tables).map(|_| one(&self.tables[TABLE])).sum();
        whole + one(&self.tables[rest])
    }
}

fn cumulated(n: usize, rate: f64) -> Vec<f64> {
    let odds = rate / (1.0 - rate);
    let mut chance = (1.0 - rate).powi(n as i32);
    let mut sum = 0.0;
    // the last one takes what rounding leaves
    (0..n)
        .map(|k| {
            sum += chance;
            chance *= odds * (n - k) as f64 / (k + 1) as f64;
            sum
        })
        .collect()
}

#[test]
fn draws_have_the_mean_and_the_variance_of_a_binomial() {
    for (n, rate) in [
        (100, 0.01),
        (100, 0.5),
        (37, 0.2),
        (250, 0.05),
        (50_000, 0.05),
    ] {
        let (binomial, mut dice) = (Binomial::new(rate), Dice::new(7));
        let draws: Vec<f64> = (0..20_000)
            .map(|_| binomial.draw(n, &mut dice) as f64)
            .collect();
        let mean = draws.iter().sum::<f64>() / draws.len() as f64;
        let squares = draws.iter().map(|draw| (draw - mean).powi(2)).sum::<f64>();
        let (variance, expected) = (squares / draws.len() as f64, n as f64 * rate * (1.0 - rate));
        let off = (mean - n as f64 * rate).abs() / (expected / 20_000.0).sqrt();
        assert!(
            off < 4.0,
            "{n} by {rate}: the mean {mean} is {off} errors off"
        );
        let ratio = variance / expected;
        assert!(
            (0.95..1.05).contains(&ratio),
            "{n} by {rate}: {ratio} of the variance"
        );
    }
}
