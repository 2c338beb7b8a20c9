//! Sessions go to their commit, whichever process the balancer in front has chosen.

use tower_affinity::core::SessionId;
use tower_affinity_testing::name;

use super::mesh::{Mesh, Process, ask, token, town};

#[tokio::test]
async fn a_session_of_another_group_is_served_by_a_process_of_it() {
    let mesh = Mesh::new();
    let [a, b] = mesh.two();
    let reply = a.get(&token("B", 7), &[]).await;
    assert_eq!(reply.served(), (200, "B"));
    assert!(a.asked().is_empty(), "the wrong commit was asked");
    let asked = b.asked();
    assert_eq!(asked.len(), 1, "served more than once");
    assert_eq!(asked[0].said, "pinned/ok@B");
    assert_eq!(asked[0].session, Some(SessionId::from_random(7)));
    let own = a.get(&token("A", 8), &[]).await;
    assert_eq!(own.served(), (200, "A"));
    assert!(
        b.asked().is_empty(),
        "a request left the commit that it belongs to"
    );
    let counted = a.counted("affinity_peer_requests_total");
    assert_eq!(
        counted,
        [("A local".to_owned(), 1), ("B forwarded".to_owned(), 1)]
    );
    let counted = b.counted("affinity_peer_requests_total");
    assert_eq!(counted, [("B received".to_owned(), 1)]);
}

#[tokio::test]
async fn the_process_that_was_reached_writes_the_pin_and_no_other() {
    let mesh = Mesh::new();
    let [a, b] = mesh.two();
    let first = b.send(ask(&[])).await;
    let pin = first.cookie().expect("a session began");
    // renewed once a quarter of its idle lifetime is over
    mesh.clock.advance(std::time::Duration::from_secs(900));
    let renewed = a.get(&pin, &[]).await;
    assert_eq!(renewed.served(), (200, "B"));
    assert_eq!(renewed.headers.get_all("set-cookie").iter().count(), 1);
    assert_ne!(renewed.cookie().unwrap(), pin, "the pin was not renewed");
    let counted = b.counted("affinity_pins_verified_total");
    assert!(
        counted.is_empty(),
        "the process that was sent to read a pin: {counted:?}"
    );
    assert!(
        a.counted("affinity_pins_planted_total").is_empty(),
        "it wrote one"
    );
}

#[tokio::test]
async fn new_sessions_are_the_processes_own_while_its_group_is_active_whatever_the_weights() {
    let mesh = Mesh::new();
    let [a, b] = mesh.two();
    for process in [&a, &b] {
        for _ in 0..20 {
            assert!(process.send(ask(&[])).await.cookie().is_some());
        }
        assert_eq!(process.asked().len(), 20);
    }
    assert!(a.asked().is_empty() && b.asked().is_empty());
}

#[tokio::test]
async fn new_sessions_are_drawn_by_weight_and_forwarded_where_that_is_wanted() {
    let mesh = Mesh::new();
    let (a, b) = (
        mesh.process("A", 1, town()),
        mesh.by_weight("B", 2, town()), // of weight 0
    );
    b.knows("A", &[1]);
    let mut pins = Vec::new();
    for _ in 0..20 {
        let reply = b.send(ask(&[])).await;
        assert_eq!(reply.served(), (200, "A"));
        assert_eq!(reply.headers.get_all("set-cookie").iter().count(), 1);
        pins.push(reply.cookie().expect("a session began"));
    }
    assert!(b.asked().is_empty(), "weight 0 served a new session");
    let said: Vec<String> = a.asked().into_iter().map(|asked| asked.said).collect();
    assert_eq!(said, vec!["assigned/new@A"; 20]);
    let counted = b.counted("affinity_peer_requests_total");
    assert_eq!(counted, [("A forwarded".to_owned(), 20)]);
    assert!(
        a.counted("affinity_pins_planted_total").is_empty(),
        "the process that was sent to wrote a pin"
    );
    // whoever is reached next knows the session by it
    for (pin, process) in pins.iter().zip([&a, &b].into_iter().cycle()) {
        assert_eq!(process.get(pin, &[]).await.served(), (200, "A"));
    }
    assert!(a.asked().iter().all(|asked| asked.said == "pinned/ok@A"));
    // a session that is pinned here stays, whatever the weight
    assert_eq!(b.get(&token("B", 7), &[]).await.served(), (200, "B"));
}

/// What a process of an aborted commit does with everything that it still gets.
async fn serves_nobody(mesh: &Mesh, a: &Process, b: &Process) {
    let fresh = b.send(ask(&[])).await;
    assert_eq!(fresh.served(), (200, "A"));
    assert!(fresh.cookie().is_some(), "a new session has no pin");
    let moved = b.get(&token("B", 7), &[]).await;
    assert_eq!(moved.served(), (200, "A"));
    let pin = moved.cookie().expect("a moved session gets a new pin");
    let again = b.get(&pin, &[]).await;
    assert_eq!(
        (again.served(), again.cookie()),
        ((200, "A"), None),
        "moved twice"
    );
    let said: Vec<String> = a.asked().into_iter().map(|asked| asked.said).collect();
    assert_eq!(said, ["assigned/new@A", "moved/aborted@A", "pinned/ok@A"]);
    assert!(b.asked().is_empty(), "the aborted commit served a request");
    mesh.clock.advance(std::time::Duration::from_secs(1));
}

#[tokio::test]
async fn an_aborted_commits_processes_serve_nobody_though_the_balancer_goes_on() {
    let mesh = Mesh::new();
    let [a, b] = mesh.two();
    b.abort(&mesh.clock, "B");
    // the other one has not heard of it yet, and then it has
    serves_nobody(&mesh, &a, &b).await;
    a.abort(&mesh.clock, "B");
    serves_nobody(&mesh, &a, &b).await;
}

#[tokio::test]
async fn a_draining_commit_keeps_its_sessions_and_gives_new_ones_away() {
    let mesh = Mesh::new();
    let [a, b] = mesh.two();
    for process in [&a, &b] {
        process.change(&mesh.clock, |rollout, change| {
            rollout.drain(&name("B"), change)
        });
    }
    assert_eq!(b.get(&token("B", 7), &[]).await.served(), (200, "B"));
    assert_eq!(a.get(&token("B", 7), &[]).await.served(), (200, "B"));
    assert_eq!(b.send(ask(&[])).await.served(), (200, "A"));
}

#[tokio::test]
async fn a_move_is_told_to_the_application_of_the_peer() {
    let mesh = Mesh::new();
    let [a, b] = mesh.two();
    b.abort(&mesh.clock, "B");
    b.get(&token("B", 7), &[]).await;
    let asked = a.asked();
    assert_eq!(asked[0].moved_from.as_deref(), Some("B"));
    let told = asked[0].headers["affinity-moved-from"].to_str().unwrap();
    assert!(told.starts_with("B; at="), "{told}");
}

#[tokio::test]
async fn a_list_of_peers_that_names_this_process_itself_does_no_harm() {
    let mesh = Mesh::new();
    let a = mesh.process("A", 1, town());
    a.knows("A", &[1]);
    a.knows("B", &[1]);
    assert_eq!(a.get(&token("A", 7), &[]).await.served(), (200, "A"));
    // an old address that is this very process now
    let reply = a.get(&token("B", 7), &[]).await;
    assert_eq!(reply.status, 503);
    assert!(reply.body.contains("wrong-group"), "{}", reply.body);
    let asked: Vec<String> = a.asked().into_iter().map(|asked| asked.said).collect();
    assert_eq!(asked, ["pinned/ok@A"], "another commit served the session");
}

#[tokio::test]
async fn two_processes_that_each_give_a_request_to_the_other_serve_it_after_one_hop() {
    let mesh = Mesh::new();
    let [a, b] = mesh.two();
    // neither knows its own commit, and each holds that the other one is all there is
    let only = |group: &str| tower_affinity_testing::rollout(20, &[(group, 1)]);
    a.rollouts.update(|_| Ok::<_, ()>(only("B"))).unwrap();
    b.rollouts.update(|_| Ok::<_, ()>(only("A"))).unwrap();
    for (reached, other, group) in [(&a, &b, "B"), (&b, &a, "A")] {
        let new = reached.send(ask(&[])).await;
        assert_eq!(new.served(), (200, group));
        assert!(new.cookie().is_some());
        assert_eq!(other.asked().len(), 1, "not exactly one hop");
        assert!(reached.asked().is_empty(), "it came back");
    }
    let hops = |process: &Process| process.counted("affinity_peer_requests_total");
    let expected = |to: &str, here: &str| {
        [
            (format!("{here} received"), 1),
            (format!("{to} forwarded"), 1),
        ]
    };
    let mut counted = [hops(&a), hops(&b)];
    counted.iter_mut().for_each(|counted| counted.sort());
    let mut expected = [expected("B", "A"), expected("A", "B")];
    expected.iter_mut().for_each(|expected| expected.sort());
    assert_eq!(counted, expected);
}

#[tokio::test]
async fn a_peer_serves_what_it_was_sent_although_it_knows_less_or_more() {
    let mesh = Mesh::new();
    let [a, b] = mesh.two();
    // the peer has not heard of its own commit yet
    b.rollouts
        .update(|_| Ok::<_, ()>(tower_affinity_testing::rollout(5, &[("A", 1)])))
        .unwrap();
    assert_eq!(a.get(&token("B", 7), &[]).await.served(), (200, "B"));
    let asked = b.asked();
    assert_eq!(asked[0].said, "pinned/ok@B");
    // a process that does not forward takes what it is sent too
    let c = mesh.lonely("B", 3, town());
    a.knows("B", &[3]);
    assert_eq!(a.get(&token("B", 7), &[]).await.served(), (200, "B"));
    assert_eq!(c.asked().len(), 1);
}
