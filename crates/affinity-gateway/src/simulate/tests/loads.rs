//! New and pinned load, and the capacity that they need.

use super::*;

#[test]
fn new_sessions_follow_the_weights_of_each_step() {
    let report = play(
        STEADY,
        "[[step]]\nweights = { \"9f1c2ab\" = 99, \"c3d4e5f\" = 1 }\nhold = \"20m\"\n\
         [[step]]\nweights = { \"9f1c2ab\" = 70, \"c3d4e5f\" = 30 }\nhold = \"20m\"\n\
         [[step]]\nweights = { \"9f1c2ab\" = 1, \"c3d4e5f\" = 0 }\nhold = \"5m\"\n",
    );
    for (step, share) in [(0, 0.0), (1, 0.01), (2, 0.3), (3, 0.0)] {
        let (old, new) = (report.group(step, OLD), report.group(step, NEW));
        assert_eq!((old.share, new.share), (1.0 - share, share), "step {step}");
        assert_binomial(new.assigned, old.assigned + new.assigned, share);
    }
    let gathered = [1, 2].map(|step| report.group(step, NEW).assigned);
    assert_eq!(
        report.group(3, NEW).assigned_in_all,
        gathered[0] + gathered[1]
    );
    // a Poisson process: the deviation is the root of the mean
    let arrived = report.group(1, OLD).assigned + report.group(1, NEW).assigned;
    assert!(
        (arrived as f64 - 12_000.0).abs() <= 3.3 * 12_000_f64.sqrt(),
        "{arrived}"
    );
}

#[test]
fn pinned_load_stays_with_its_group_and_ends_with_its_sessions() {
    let report = play(STEADY, "[[step]]\npromote = \"c3d4e5f\"\nhold = \"20m\"\n");
    let before = report.group(0, OLD).pinned;
    let live: Vec<_> = report.samples.iter().map(|sample| sample.live[0]).collect();
    assert_eq!(live[0], before);
    assert!(
        live.is_sorted_by(|a, b| a >= b),
        "a session came to a draining group: {live:?}"
    );
    // sessions of one length end as evenly as they began; looks are 20 s apart
    assert!(live[30] == 0 && live[29] > 0, "{live:?}");
    assert_binomial(live[15], before, 0.5);
    let old = report.group(1, OLD);
    assert_eq!(
        (old.moved_out, old.refused, old.assigned, old.pinned),
        (0, 0, 0, 0)
    );
}

#[test]
fn sessions_that_may_end_at_any_time_decay_exponentially() {
    let report = play(
        MEMORYLESS,
        "[[step]]\npromote = \"c3d4e5f\"\nhold = \"20m\"\n",
    );
    let live: Vec<_> = report.samples.iter().map(|sample| sample.live[0]).collect();
    assert_binomial(live[30], live[0], (-1.0_f64).exp());
    assert_binomial(live[60], live[0], (-2.0_f64).exp());
}

#[test]
fn required_capacity_is_pinned_and_the_weight_of_new_load() {
    let capacity = "[capacity]\nrequests_per_second = 50\nendpoints = { \"c3d4e5f\" = 4 }\n";
    let steps = "[[step]]\nweights = { \"9f1c2ab\" = 70, \"c3d4e5f\" = 30 }\nhold = \"20m\"\n";
    let report = play(STEADY, &format!("{capacity}{steps}"));
    let (old, new) = (report.group(1, OLD), report.group(1, NEW));
    for (group, share) in [(old, 0.7), (new, 0.3)] {
        let pinned = group.pinned_peak as f64 / 10.0;
        assert!((group.pinned_per_second - pinned).abs() < 0.01, "{group:?}");
        assert!(
            (group.required_per_second - pinned - share * 10.0).abs() < 0.01,
            "{group:?}"
        );
        let endpoints = (group.required_per_second / 50.0).ceil() as u64;
        assert_eq!(group.endpoints_required, Some(endpoints));
    }
    // the old group is as full as before while the new one fills up
    assert!(old.pinned_peak >= report.group(0, OLD).pinned && old.pinned < old.pinned_peak);
    assert_eq!((old.endpoints, new.endpoints), (2, 4));
    assert_eq!(play(STEADY, steps).group(1, OLD).endpoints_required, None);
}

#[test]
fn every_session_is_somewhere() {
    let report = play(
        MEMORYLESS,
        "[[step]]\nweights = { \"9f1c2ab\" = 1, \"c3d4e5f\" = 1 }\nhold = \"20m\"\n\
         [[step]]\nabort = \"c3d4e5f\"\nhold = \"20m\"\n",
    );
    let assigned: u64 = report
        .steps
        .iter()
        .flat_map(|step| &step.groups)
        .map(|g| g.assigned)
        .sum();
    assert_eq!(
        assigned, report.sessions,
        "no pin is over before its session is"
    );
    for step in &report.steps[1..] {
        let out: u64 = step.groups.iter().map(|group| group.moved_out).sum();
        let into: u64 = step.groups.iter().map(|group| group.moved_in).sum();
        assert_eq!(out, into, "step {}", step.step);
    }
}

#[test]
fn a_session_that_pauses_longer_than_its_pin_lives_is_drawn_anew() {
    let traffic = "[traffic]\narrivals_per_second = 1\n\
        length = { distribution = \"fixed\", mean = \"3h\" }\n\
        think = { distribution = \"fixed\", mean = \"30m\" }\n";
    let report = play(traffic, "[[step]]\nhold = \"1h\"\n");
    let old = report.group(1, OLD);
    assert!(old.lapsed > 0 && old.lapsed <= old.assigned, "{old:?}");
}

#[test]
fn a_changed_weight_moves_sessions_where_the_scope_says_so() {
    let step = "[[step]]\nweights = { \"9f1c2ab\" = 1, \"c3d4e5f\" = 1 }\nhold = \"10m\"\n";
    assert_eq!(play(STEADY, step).group(1, OLD).moved_out, 0);
    let reassign = settings("[[scope]]\npath = \"/*\"\non_step = \"reassign\"\n");
    let report = play_with(&reassign, STEADY, step);
    // nobody is older than 10 s without having asked
    assert_binomial(
        report.group(1, OLD).moved_out,
        report.group(0, OLD).pinned,
        0.5,
    );
}
