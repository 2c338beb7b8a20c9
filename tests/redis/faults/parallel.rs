//! F46: two first requests of one browser at the same time, at two gateways with other weights.

use affinity_tests::Scratch;
use affinity_tests::client::{Answer, Client};
use affinity_tests::config::{COOKIE, Config};
use affinity_tests::fleet::Fleet;
use affinity_tests::history::History;
use affinity_tests::replica::Replica;
use bytes::Bytes;
use http::Request;
use http_body_util::Full;

use super::stage::{NEW, OLD, PATIENT, USER, sections};
use crate::support::RedisServer;

const BROWSERS: u64 = 40;

struct Pair {
    _server: RedisServer,
    fleet: Fleet,
    gateways: [Replica; 2],
    history: History,
    _dir: Scratch,
}

impl Pair {
    /// One gateway that gives everybody the old group, and one that gives everybody the new one.
    async fn start() -> Option<Self> {
        let server = RedisServer::start(&[]).await?;
        let fleet = Fleet::start(&[OLD, NEW], 2).await;
        let dir = Scratch::new();
        let gateway = async |name: &str, weights: [u16; 2]| {
            let mut config = Config::new(&fleet, &[(OLD, weights[0]), (NEW, weights[1])]);
            config.sections = sections(&server.url(), PATIENT);
            config.state = format!("{name}.json");
            Replica::named(&dir, &config, &format!("{name}.toml")).await
        };
        let gateways = [gateway("one", [1, 0]).await, gateway("two", [0, 1]).await];
        Some(Self {
            _server: server,
            fleet,
            gateways,
            history: History::default(),
            _dir: dir,
        })
    }

    /// The first answers of a browser that asks both gateways at once.
    async fn first(&self, tabs: &mut [Client; 2], user: Option<&str>) -> [Answer; 2] {
        let [one, two] = tabs;
        let [here, there] = &self.gateways;
        let answers = tokio::join!(
            one.exchange(here.address(), get(user)),
            two.exchange(there.address(), get(user)),
        );
        let answers = [answers.0, answers.1].map(Result::unwrap);
        for answer in &answers {
            assert_eq!(answer.status, 200);
        }
        answers
    }

    fn session(&self, answer: &Answer) -> String {
        let execution = self.fleet.ledger().of(answer.request);
        let session = execution.field("affinity-session").expect("a session");
        String::from_utf8_lossy(session).into_owned()
    }
}

fn get(user: Option<&str>) -> Request<Full<Bytes>> {
    let mut request = Request::get("/step");
    if let Some(user) = user {
        request = request.header(USER, user);
    }
    request.body(Full::default()).unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn f46_after_two_first_answers_the_pin_that_the_browser_has_kept_decides() {
    let Some(pair) = Pair::start().await else {
        return;
    };
    for number in 0..BROWSERS {
        let browser = Client::new(number, &pair.history);
        let mut tabs = [browser.tab(), browser.tab()];
        let answers = pair.first(&mut tabs, None).await;
        let groups = answers.each_ref().map(|answer| answer.group().unwrap());
        assert_eq!(groups, [OLD, NEW], "each gateway has its own weights");
        let sessions = answers.each_ref().map(|answer| pair.session(answer));
        assert_ne!(sessions[0], sessions[1], "both are on record");
        // whichever comes last
        let last = usize::from(number.is_multiple_of(2));
        let mut browser = browser;
        for answer in [&answers[1 - last], &answers[last]] {
            answer
                .cookies()
                .iter()
                .for_each(|line| browser.jar.take(line));
        }
        let kept = browser.jar.value(COOKIE).map(str::to_owned);
        for turn in 0..6 {
            let to = pair.gateways[turn % 2].address();
            let answer = browser.get(to, "/step").await;
            assert_eq!(answer.group(), Some(groups[last]), "request {turn}");
            assert_eq!(pair.session(&answer), sessions[last]);
        }
        let value = browser.jar.value(COOKIE).map(str::to_owned);
        assert_eq!(value, kept, "it was moved");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn f46_two_first_requests_with_one_id_are_one_session() {
    let Some(pair) = Pair::start().await else {
        return;
    };
    let mut won = [0, 0];
    for number in 0..BROWSERS {
        let user = format!("user-{number}");
        let browser = Client::new(number, &pair.history);
        let mut tabs = [browser.tab(), browser.tab()];
        let answers = pair.first(&mut tabs, Some(&user)).await;
        let group = answers[0].group().unwrap();
        assert_eq!(answers[1].group(), Some(group), "both agree");
        assert_eq!(pair.session(&answers[0]), pair.session(&answers[1]));
        won[usize::from(group == NEW)] += 1;
        // with the pin that either has given, or with nothing but the id
        for (tab, answer) in tabs.iter_mut().zip(&answers) {
            answer.cookies().iter().for_each(|line| tab.jar.take(line));
        }
        let [one, two] = tabs;
        for mut tab in [one, two, browser] {
            for gateway in &pair.gateways {
                let answer = tab.send(gateway.address(), get(Some(&user))).await;
                assert_eq!(answer.group(), Some(group), "it was moved");
                assert_eq!(pair.session(&answer), pair.session(&answers[0]));
            }
        }
    }
    assert_eq!(won[0] + won[1], BROWSERS);
}
