//! `[[experiment]]`.

use super::{MINIMAL, read, settings};

const BUTTON: &str = "[[experiment]]\nname = \"button\"\narms = { a = 50, b = 50 }\n";

fn refused(experiments: &str) -> String {
    let text = format!("{MINIMAL}{experiments}");
    match read(&text) {
        Ok(_) => panic!("accepted:\n{text}"),
        Err(error) => error.to_string(),
    }
}

#[test]
fn experiments_are_drawn_by_what_they_name() {
    for by in ["session", "header:x-user-id", "cookie:uid"] {
        let text = format!("{MINIMAL}{BUTTON}by = \"{by}\"\n");
        let settings = settings(&text);
        let written = format!("by = \"{by}\"");
        assert!(
            settings.effective().contains(&written),
            "{}",
            settings.effective()
        );
        let again = super::settings(&settings.effective());
        assert_eq!(again, settings, "of\n{}", settings.effective());
    }
    let default = settings(&format!("{MINIMAL}{BUTTON}"));
    assert_eq!(
        default,
        settings(&format!("{MINIMAL}{BUTTON}by = \"session\"\n"))
    );
}

#[test]
fn a_wrong_experiment_is_refused_with_its_key_its_value_and_what_is_accepted() {
    let arms = |arms: &str| BUTTON.replace("{ a = 50, b = 50 }", arms);
    let by = |by: &str| format!("{BUTTON}by = \"{by}\"\n");
    let nine = (0..9)
        .map(|n| format!("a{n} = 1"))
        .collect::<Vec<_>>()
        .join(", ");
    for (text, key, said) in [
        (
            BUTTON.replace("button", "Button"),
            "name",
            "1 to 32 of a-z 0-9 -",
        ),
        (
            BUTTON.replace("name = \"button\"\n", ""),
            "name",
            "is missing",
        ),
        (
            "[[experiment]]\nname = \"button\"\n".to_owned(),
            "arms",
            "is missing",
        ),
        (arms("{}"), "arms", "no arm"),
        (arms("{ a = 0 }"), "arms", "no arm"),
        (arms("{ a = -1 }"), "arms.a", "from 0 to 10000"),
        (arms("{ a = 10001 }"), "arms.a", "from 0 to 10000"),
        (arms("{ a = \"50\" }"), "arms.a", "from 0 to 10000"),
        (arms("{ \"A b\" = 1 }"), "arms.A b", "1 to 32 of a-z 0-9 -"),
        (arms("[\"a\"]"), "arms", "a table"),
        (arms(&format!("{{ {nine} }}")), "arms", "more than 8"),
        (by("user"), "by", "\"session\""),
        (by("header:affinity-pin"), "by", "header:NAME"),
        (by("cookie:a b"), "by", "cookie:NAME"),
        (
            by("cookie:__Host-affinity-checkout"),
            "by",
            "another cookie",
        ),
        (by("claim:sub"), "by", "\"session\""),
        (format!("{BUTTON}{BUTTON}"), "name", "another name"),
    ] {
        let error = refused(&text);
        assert!(
            error.contains(key) && error.contains(said),
            "{error}\nof\n{text}"
        );
    }
}

#[test]
fn no_more_experiments_are_read_than_a_pin_has_room_for() {
    let all = |count: usize| -> String {
        let one = |n| BUTTON.replace("button", &format!("button-{n}"));
        (0..count).map(one).collect()
    };
    assert_eq!(
        settings(&format!("{MINIMAL}{}", all(8)))
            .experiments
            .iter()
            .count(),
        8
    );
    assert!(
        refused(&all(9)).contains("experiment"),
        "{}",
        refused(&all(9))
    );
}
