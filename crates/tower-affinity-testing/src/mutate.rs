//! Texts that are wrong in ways nobody thought of: a seeded mutator of configuration files.

use crate::dice::Dice;

/// `text` with one to three mutations, the same ones for the same seed.
///
/// A line or a token is deleted, doubled, swapped or cut; or a value is replaced by one of another
/// type, by 0, −1, a huge number, an empty or a 64 KiB string, or by control characters. The text
/// may be anything; values are looked for in the form `key = value`.
#[must_use]
pub fn mutate(seed: u64, text: &str) -> String {
    let mut dice = Dice(seed);
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    for _ in 0..=dice.below(4).saturating_sub(1) {
        match dice.below(8) {
            0 | 1 => shuffle(&mut dice, &mut lines),
            2..=4 => change_line(&mut dice, &mut lines, tokens),
            _ => change_line(&mut dice, &mut lines, value),
        }
    }
    let mut text = lines.join("\n");
    text.push('\n');
    text
}

/// Deletes, doubles or swaps items, be they lines or tokens.
fn shuffle(dice: &mut Dice, items: &mut Vec<String>) {
    if items.is_empty() {
        return;
    }
    let at = dice.below(items.len());
    let other = dice.below(items.len());
    match dice.below(4) {
        0 => drop(items.remove(at)),
        1 => {
            let copy = items.get(at).cloned().unwrap_or_default();
            items.insert(other, copy);
        }
        2 => items.swap(at, other),
        _ => {
            if let Some(item) = items.get_mut(at) {
                let keep = dice.below(item.chars().count() + 1);
                *item = item.chars().take(keep).collect();
            }
        }
    }
}

fn change_line(
    dice: &mut Dice,
    lines: &mut [String],
    change: fn(&mut Dice, &str) -> Option<String>,
) {
    // some lines hold nothing that can be changed; a few tries find one that does
    for _ in 0..8 {
        let at = dice.below(lines.len().max(1));
        let Some(line) = lines.get_mut(at) else {
            return;
        };
        if let Some(changed) = change(dice, line) {
            *line = changed;
            return;
        }
    }
}

/// Words and the signs between them, each a token.
fn tokens(dice: &mut Dice, line: &str) -> Option<String> {
    let mut tokens: Vec<String> = Vec::new();
    let mut in_word = false;
    for c in line.chars() {
        let word = c.is_alphanumeric() || c == '_';
        match tokens.last_mut() {
            Some(last) if word && in_word => last.push(c),
            _ => tokens.push(c.to_string()),
        }
        in_word = word;
    }
    if tokens.is_empty() {
        return None;
    }
    shuffle(dice, &mut tokens);
    Some(tokens.concat())
}

/// The part after one `=` of the line, up to its end or to the next value of the same table.
fn value(dice: &mut Dice, line: &str) -> Option<String> {
    let starts: Vec<usize> = line.match_indices('=').map(|(at, _)| at + 1).collect();
    let start = *starts.get(dice.below(starts.len().max(1)))?;
    let (head, tail) = line.split_at(start);
    let inner = head.contains('{');
    let end = if inner {
        tail.find([',', '}']).unwrap_or(tail.len())
    } else {
        tail.len()
    };
    let rest = tail.split_at(end).1;
    let value = match dice.below(REPLACEMENTS.len() + 2) {
        0 => format!("\"{}\"", "x".repeat(64 << 10)),
        1 => format!("\"{}\"", "\u{1}\u{7f}\u{202e}\u{1b}[31m"),
        n => REPLACEMENTS
            .get(n - 2)
            .copied()
            .unwrap_or_default()
            .to_owned(),
    };
    Some(format!("{head} {value}{rest}"))
}

const REPLACEMENTS: [&str; 26] = [
    "0",
    "-1",
    "1",
    "10000",
    "10001",
    "9223372036854775807",
    "99999999999999999999999999999999",
    "1.5",
    "-0.0",
    "inf",
    "nan",
    "true",
    "false",
    "\"\"",
    "\"word\"",
    "\"/*\"",
    "\"0s\"",
    "\"1s\"",
    "\"127.0.0.1:7001\"",
    "\"\\u0000\\r\\n\\u001b\"",
    "[]",
    "[[[\"a\"]]]",
    "[\"127.0.0.1:7009\"]",
    "{}",
    "{ a = { b = [1] } }",
    "1979-05-27T07:32:00Z",
];

#[cfg(test)]
mod tests {
    use super::mutate;

    const TEXT: &str = "a = 1\n[t]\nb = { c = \"x\", d = 2 }\n";

    #[test]
    fn a_seed_always_makes_the_same_text() {
        for seed in 0..1_000 {
            assert_eq!(mutate(seed, TEXT), mutate(seed, TEXT), "seed {seed}");
        }
    }

    #[test]
    fn most_texts_differ() {
        let changed = (0..1_000)
            .filter(|seed| mutate(*seed, TEXT) != TEXT)
            .count();
        assert!(changed > 900, "only {changed} of 1000 texts were changed");
    }

    #[test]
    fn every_kind_of_value_is_put_in() {
        let texts: Vec<_> = (0..3_000).map(|seed| mutate(seed, TEXT)).collect();
        for piece in [
            "-1", "99999", "\"\"", "xxxx", "\u{1b}", "1979", "[]", "c = true", "d = true",
        ] {
            assert!(
                texts.iter().any(|text| text.contains(piece)),
                "{piece:?} never came"
            );
        }
    }

    #[test]
    fn any_text_can_be_mutated() {
        for text in ["", "\n", "=", "é = é", "= = ="] {
            for seed in 0..300 {
                drop(mutate(seed, text));
            }
        }
    }
}
