//! A name server that says what a story wants.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex};

use tokio::net::UdpSocket;
use tokio::task::JoinHandle;

/// What it answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Says {
    /// These addresses, to be believed for a second; none: the name has no addresses.
    Addresses(Vec<Ipv4Addr>),
    /// There is no such name.
    NoSuchName,
    /// It cannot tell.
    ServerFailure,
    /// Bytes that are no answer.
    Garbage,
    /// Nothing at all.
    Nothing,
}

/// A name server on a free port that answers every name alike. Gone when dropped.
#[derive(Debug)]
pub struct Dns {
    address: SocketAddr,
    says: Arc<Mutex<Says>>,
    task: JoinHandle<()>,
}

impl Dns {
    /// Starts one.
    ///
    /// # Panics
    ///
    /// If there is no port.
    pub async fn start(says: Says) -> Self {
        let socket = UdpSocket::bind(("127.0.0.1", 0)).await.expect("a port");
        let address = socket.local_addr().expect("it is bound");
        let says = Arc::new(Mutex::new(says));
        let task = tokio::spawn(serve(socket, Arc::clone(&says)));
        Self {
            address,
            says,
            task,
        }
    }

    /// Where it is asked.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// From now on it says something else.
    ///
    /// # Panics
    ///
    /// If the server has.
    pub fn say(&self, says: Says) {
        *self.says.lock().expect("it does not panic") = says;
    }
}

impl Drop for Dns {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn serve(socket: UdpSocket, says: Arc<Mutex<Says>>) {
    let mut buffer = [0; 512];
    loop {
        let Ok((length, from)) = socket.recv_from(&mut buffer).await else {
            // who asked has gone away
            continue;
        };
        let says = says.lock().expect("it does not panic").clone();
        if let Some(answer) = answer(&buffer[..length], &says) {
            let _ = socket.send_to(&answer, from).await;
        }
    }
}

/// The answer to one question, if it is one.
fn answer(asked: &[u8], says: &Says) -> Option<Vec<u8>> {
    let (code, addresses) = match says {
        Says::Addresses(addresses) => (0, addresses.as_slice()),
        Says::NoSuchName => (3, [].as_slice()),
        Says::ServerFailure => (2, [].as_slice()),
        Says::Garbage => return Some(asked.iter().map(|byte| !byte).collect()),
        Says::Nothing => return None,
    };
    // a name is labels up to an empty one; type and class follow
    let mut end = 12;
    while *asked.get(end)? != 0 {
        end += usize::from(asked[end]) + 1;
    }
    let question = asked.get(12..end + 5)?;
    let is_four = question[question.len() - 4..] == [0, 1, 0, 1];
    let addresses = if is_four { addresses } else { &[] };
    let mut answer = asked[..2].to_vec();
    // an answer, recursion desired and available
    answer.extend([0x81, 0x80 | code, 0, 1]);
    answer.extend(u16::try_from(addresses.len()).ok()?.to_be_bytes());
    answer.extend([0; 4]);
    answer.extend(question);
    for address in addresses {
        // the name of the question, A, IN, one second, four bytes
        answer.extend([0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 1, 0, 4]);
        answer.extend(address.octets());
    }
    Some(answer)
}
