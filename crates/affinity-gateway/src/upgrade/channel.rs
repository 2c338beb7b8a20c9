//! Words and sockets between two processes.

use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{BorrowedFd, OwnedFd};

use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recvmsg, sendmsg,
};
use tokio::io::Interest;
use tokio::net::UnixStream;

use super::UpgradeError;

/// The most sockets that one word can carry: above one for each core of a large machine.
const MOST_SOCKETS: usize = 128;
/// The longest word.
const LONGEST_WORD: usize = 4096;

/// One end of the talk. Both speak in turn, a line each.
#[derive(Debug)]
pub(super) struct Channel(UnixStream);

impl Channel {
    pub(super) fn new(stream: UnixStream) -> Self {
        Self(stream)
    }

    /// Refuses the other process unless it runs as `user`.
    pub(super) fn admit(&self, user: u32) -> Result<(), UpgradeError> {
        match self.0.peer_cred()?.uid() {
            other if other == user => Ok(()),
            other => Err(UpgradeError::User(other)),
        }
    }

    pub(super) async fn say(&self, word: &str) -> io::Result<()> {
        self.hand(word, &[]).await
    }

    /// Says a word that sockets come with.
    pub(super) async fn hand(&self, word: &str, sockets: &[BorrowedFd<'_>]) -> io::Result<()> {
        let line = format!("{word}\n");
        let mut sent = 0;
        while let Some(rest) = line.as_bytes().get(sent..)
            && !rest.is_empty()
        {
            let send = || {
                let mut space = [MaybeUninit::uninit(); SPACE];
                let mut ancillary = SendAncillaryBuffer::new(&mut space);
                // they go with the first byte
                if sent == 0 && !sockets.is_empty() {
                    let rights = SendAncillaryMessage::ScmRights(sockets);
                    if !ancillary.push(rights) {
                        return Err(io::Error::other("too many sockets"));
                    }
                }
                let bytes = [IoSlice::new(rest)];
                let flags = SendFlags::NOSIGNAL | SendFlags::DONTWAIT;
                Ok(sendmsg(&self.0, &bytes, &mut ancillary, flags)?)
            };
            sent += self.0.async_io(Interest::WRITABLE, send).await?;
        }
        Ok(())
    }

    /// The next word and the sockets that came with it.
    pub(super) async fn hear(&self) -> io::Result<(String, Vec<OwnedFd>)> {
        let (mut line, mut sockets) = (Vec::new(), Vec::new());
        while !line.ends_with(b"\n") {
            let receive = || {
                let mut bytes = [0; 512];
                let mut space = [MaybeUninit::uninit(); SPACE];
                let mut ancillary = RecvAncillaryBuffer::new(&mut space);
                let mut into = [IoSliceMut::new(&mut bytes)];
                let flags = RecvFlags::CMSG_CLOEXEC | RecvFlags::DONTWAIT;
                let count = recvmsg(&self.0, &mut into, &mut ancillary, flags)?.bytes;
                let came = ancillary.drain().filter_map(|message| match message {
                    RecvAncillaryMessage::ScmRights(rights) => Some(rights),
                    _ => None,
                });
                let came: Vec<OwnedFd> = came.flatten().collect();
                let bytes = bytes.get(..count).unwrap_or_default();
                Ok((bytes.to_owned(), came))
            };
            let (bytes, came) = self.0.async_io(Interest::READABLE, receive).await?;
            if bytes.is_empty() {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            line.extend(bytes);
            sockets.extend(came);
            if line.len() > LONGEST_WORD || sockets.len() > MOST_SOCKETS {
                return Err(io::ErrorKind::InvalidData.into());
            }
        }
        line.pop();
        let word = String::from_utf8(line).map_err(|_| io::ErrorKind::InvalidData)?;
        Ok((word, sockets))
    }

    /// Waits for one word; any other ends the talk.
    pub(super) async fn expect(&self, expected: &'static str) -> Result<(), UpgradeError> {
        match self.hear().await? {
            (word, _) if word == expected => Ok(()),
            (said, _) => Err(UpgradeError::Word { expected, said }),
        }
    }
}

const SPACE: usize = rustix::cmsg_space!(ScmRights(MOST_SOCKETS));

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing)]

    use std::net::{TcpListener, TcpStream};
    use std::os::fd::AsFd;

    use super::*;

    fn pair() -> (Channel, Channel) {
        let (one, other) = UnixStream::pair().unwrap();
        (Channel::new(one), Channel::new(other))
    }

    #[tokio::test]
    async fn sockets_arrive_in_order_and_are_the_same_sockets() {
        let (one, other) = pair();
        let sockets: Vec<_> = (0..20)
            .map(|_| TcpListener::bind("127.0.0.1:0").unwrap())
            .collect();
        let borrowed: Vec<_> = sockets.iter().map(AsFd::as_fd).collect();
        one.hand("sockets", &borrowed).await.unwrap();
        let (word, came) = other.hear().await.unwrap();
        assert_eq!((word.as_str(), came.len()), ("sockets", sockets.len()));
        for (socket, came) in sockets.into_iter().zip(came) {
            let address = socket.local_addr().unwrap();
            // what waits in the queue is still there when only the other process has it
            let client = TcpStream::connect(address).unwrap();
            drop(socket);
            let came = TcpListener::from(came);
            assert_eq!(came.local_addr().unwrap(), address);
            assert_eq!(came.accept().unwrap().1, client.local_addr().unwrap());
        }
    }

    #[tokio::test]
    async fn a_process_of_another_user_is_not_talked_to() {
        let own = rustix::process::geteuid().as_raw();
        let (one, other) = pair();
        for end in [one, other] {
            assert!(end.admit(own).is_ok(), "it is our own");
            let refused = end.admit(own + 1).unwrap_err();
            assert!(matches!(refused, UpgradeError::User(user) if user == own));
        }
    }

    #[tokio::test]
    async fn another_word_and_the_end_are_told() {
        let (one, other) = pair();
        one.say("later").await.unwrap();
        let said = other.expect("ready").await.unwrap_err().to_string();
        assert!(said.contains("later") && said.contains("ready"), "{said}");
        drop(one);
        let gone = other.expect("ready").await.unwrap_err();
        assert!(matches!(gone, UpgradeError::Gone(_)), "{gone}");
    }

    #[tokio::test]
    async fn an_endless_word_is_refused() {
        let (one, other) = pair();
        let saying = tokio::spawn(async move { one.say(&"x".repeat(1 << 20)).await });
        assert!(other.hear().await.is_err());
        drop(other);
        assert!(saying.await.unwrap().is_err());
    }
}
