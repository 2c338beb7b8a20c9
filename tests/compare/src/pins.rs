//! Pins as a proxy gives them to clients that come for the first time.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};

use affinity_tests::BOUND;

use crate::load::Client;
use crate::pods::GROUPS;

/// How many clients ask for a pin.
const ASKED: usize = 500;

/// How many of them ask again, of each group in its order.
const KEPT: [usize; 2] = [57, 7];

/// Clients with pins of both groups, mixed.
pub(crate) fn gather(to: SocketAddr) -> Vec<Client> {
    let mut of = [const { Vec::new() }; 2];
    for _ in 0..ASKED {
        let (group, pin) = ask(to, None);
        let pin = pin.unwrap_or_else(|| panic!("{to} gives no pin"));
        of[group].push(Client {
            group: Some(group),
            pin: Some(pin),
        });
    }
    let share = of[0].len() as f64 / ASKED as f64;
    assert!(
        (0.85..0.95).contains(&share),
        "{share} of new sessions are of {}",
        GROUPS[0]
    );
    let [blue, green] = of.map(Vec::into_iter);
    let (mut blue, mut green) = (blue.take(KEPT[0]), green.take(KEPT[1]));
    let clients = (0..KEPT[0] + KEPT[1]).filter_map(|nth| {
        if nth % 9 == 8 {
            green.next()
        } else {
            blue.next()
        }
    });
    clients.collect()
}

/// Fails if a pin counts whose signature was changed.
pub(crate) fn refuses_forged(to: SocketAddr, clients: &[Client]) {
    for pin in clients.iter().filter_map(|client| client.pin.as_ref()) {
        let (rest, last) = pin.split_at(pin.len() - 10);
        let forged: String = last
            .chars()
            .map(|c| if c == 'A' { 'B' } else { 'A' })
            .collect();
        let (_, given) = ask(to, Some(&format!("{rest}{forged}")));
        assert!(given.is_some(), "a forged pin counts at {to}");
    }
}

/// Asks once; the group that answers, and the pin that it gives.
fn ask(to: SocketAddr, pin: Option<&str>) -> (usize, Option<String>) {
    let mut stream = TcpStream::connect(to).expect("the proxy is there");
    stream.set_read_timeout(Some(BOUND)).expect("a bound");
    let cookie = pin
        .map(|pin| format!("cookie: {pin}\r\n"))
        .unwrap_or_default();
    let request = format!("GET / HTTP/1.1\r\nhost: {to}\r\n{cookie}connection: close\r\n\r\n");
    stream
        .write_all(request.as_bytes())
        .expect("the proxy reads");
    let mut answer = String::new();
    stream
        .read_to_string(&mut answer)
        .expect("the proxy answers");
    let (head, _) = answer
        .split_once("\r\n\r\n")
        .unwrap_or_else(|| panic!("no answer: {answer}"));
    let field = |name: &str| {
        head.lines().find_map(|line| {
            let (found, value) = line.split_once(':')?;
            found.eq_ignore_ascii_case(name).then_some(value.trim())
        })
    };
    let group = GROUPS
        .iter()
        .position(|group| field("x-group") == Some(group));
    let given = field("set-cookie").and_then(|cookie| cookie.split(';').next());
    (
        group.unwrap_or_else(|| panic!("no group has answered: {head}")),
        given.map(str::to_owned),
    )
}
