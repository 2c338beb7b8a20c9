//! The admin side of a running gateway, as a client sees it.
//!
//! `place` and `token` say where it is and what it wants to see, `call` what is asked of it,
//! `client` asks, and `answer` reads what comes back.

mod answer;
mod call;
mod client;
mod place;
mod token;

#[cfg(test)]
mod tests;

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use tokio::runtime::Runtime;
use tokio::time::{sleep, timeout};

pub(crate) use self::answer::Answer;
pub(crate) use self::call::Call;
use self::client::{Client, Limits};
use self::place::Place;
use crate::exit::Failure;

/// Where the admin side is, and the token.
#[derive(Args, Debug)]
#[command(after_help = TOKEN_HELP)]
pub(crate) struct Admin {
    /// The admin side's address; give it again for others, which are tried in this order
    /// (an abort that the shared state cannot take is asked of each)
    #[arg(
        long = "admin",
        value_name = "URL",
        default_value = "http://127.0.0.1:9090",
        global = true
    )]
    places: Vec<Place>,
    /// The file with the admin token [default: admin.token]
    #[arg(long, value_name = "FILE", global = true)]
    token_file: Option<PathBuf>,
}

/// One admin side of several, and what came of asking it.
#[derive(Debug)]
pub(crate) struct Asked {
    pub(crate) place: Place,
    pub(crate) answer: Result<Answer, Failure>,
}

impl Admin {
    /// Asks the first admin side that answers.
    pub(crate) fn ask(&self, call: &Call) -> Result<Answer, Failure> {
        let (client, runtime) = self.client(&self.places)?;
        runtime.block_on(client.ask(call))
    }

    /// Whether more than one admin side is named.
    pub(crate) fn are_many(&self) -> bool {
        self.places.len() > 1
    }

    /// Asks every admin side, whatever the others answer.
    pub(crate) fn ask_each(&self, call: &Call) -> Result<Vec<Asked>, Failure> {
        let asked = self.places.iter().map(|place| {
            let (client, runtime) = self.client(std::slice::from_ref(place))?;
            Ok(Asked {
                place: place.clone(),
                answer: runtime.block_on(client.ask(call)),
            })
        });
        asked.collect()
    }

    /// Asks again and again until `done` makes something of an answer; `None` if it has not within
    /// `limit`.
    pub(crate) fn ask_until<T>(
        &self,
        call: &Call,
        limit: Option<Duration>,
        mut done: impl FnMut(&Answer) -> Result<Option<T>, Failure>,
    ) -> Result<Option<T>, Failure> {
        let (client, runtime) = self.client(&self.places)?;
        let asked = async {
            loop {
                if let Some(value) = done(&client.ask(call).await?)? {
                    return Ok(value);
                }
                sleep(PAUSE).await;
            }
        };
        runtime.block_on(async {
            match limit {
                None => asked.await.map(Some),
                Some(limit) => match timeout(limit, asked).await {
                    Ok(value) => value.map(Some),
                    Err(_) => Ok(None),
                },
            }
        })
    }

    fn client(&self, places: &[Place]) -> Result<(Client, Runtime), Failure> {
        let variable = std::env::var(token::VARIABLE).ok();
        let token = token::find(variable, self.token_file.as_deref(), token::FILE.as_ref())?;
        let client = Client::new(places.to_vec(), token, Limits::default());
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        Ok((client, runtime))
    }
}

/// Between two questions of [`Admin::ask_until`].
const PAUSE: Duration = Duration::from_millis(200);

const TOKEN_HELP: &str = "\
The admin token is taken from the environment variable AFFINITY_ADMIN_TOKEN, else from --token-file,
else from admin.token in the working directory. The gateway makes that file beside its configuration,
unless listen.admin_token_file names another one.

Exit codes: 0 done, 1 failed, 2 bad usage or configuration, 3 timed out, 4 refused by a rule,
5 done on the asked replica only.";
