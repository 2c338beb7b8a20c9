//! Conditions that are refused, because another gateway was first or because what is told is old.

use crate::site::Site;
use crate::support::Mood;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn f38_of_two_first_requests_in_conflict_one_decides_for_both() {
    const USERS: usize = 100;
    let Some(to_a) = Site::start([100, 0]).await else {
        return;
    };
    let to_b = Site::over(to_a.server.clone(), [0, 100]).await;
    let mut won = [0, 0];
    for nth in 0..USERS {
        let user = format!("user-{nth}");
        // in turns the first to ask
        let answers = match nth % 2 {
            0 => tokio::join!(to_a.group_of(&user), to_b.group_of(&user)),
            _ => {
                let (b, a) = tokio::join!(to_b.group_of(&user), to_a.group_of(&user));
                (a, b)
            }
        };
        assert_eq!(answers.0, answers.1, "{user} was split");
        won[usize::from(answers.0 == "B")] += 1;
        for site in [&to_a, &to_b] {
            assert_eq!(site.group_of(&user).await, answers.0, "{user} was moved");
        }
    }
    println!("F38 conflicts: {USERS} pairs of first requests, {won:?} decided by each");
    assert!(won[0] > 0 && won[1] > 0, "there was no race: {won:?}");
}

/// Who reads an old row decides as the client's pin or the rule says, and nobody is led back.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn f38_rows_that_are_told_as_they_were_lead_nobody_back() {
    let Some(site) = Site::start([0, 100]).await else {
        return;
    };
    let mut pins = Vec::new();
    for nth in 0..20 {
        let user = format!("user-{nth}");
        let (pin, group) = site.get(&[("x-user", &user)]).await;
        assert_eq!(group, "B");
        pins.push((user, pin));
    }
    site.clock.advance(std::time::Duration::from_secs(60));
    site.abort_b();
    for (user, pin) in &mut pins {
        let (moved, group) = site.get(&[("x-user", user), ("cookie", pin)]).await;
        assert_eq!(group, "A", "an abort moves everybody");
        *pin = moved;
    }
    // from now on what stands is told as it was before the abort
    site.between.is(Mood::Stale);
    for (user, pin) in &pins {
        let headers = [("x-user", &**user), ("cookie", &**pin)];
        let (cost, (_, group)) = site.cost(site.get(&headers)).await;
        assert_eq!(group, "A", "{user} was led back by an old row");
        assert!(cost[0] + cost[1] <= 8, "{user}: {cost:?} requests");
        assert_eq!(site.group_of(user).await, "A", "{user} without a pin");
    }
    site.between.is(Mood::Well);
    for (user, _) in &pins {
        assert_eq!(site.group_of(user).await, "A", "{user} afterwards");
    }
}
