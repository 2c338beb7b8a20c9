//! A few words with a server, past any client.

use std::net::SocketAddr;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

/// Far above what a server takes for an answer.
const ANSWER: Duration = Duration::from_secs(5);

/// Sends one command and gives its answer as it is on the wire; an error for one that does not
/// answer.
pub(super) async fn talk(server: SocketAddr, words: &[&[u8]]) -> std::io::Result<String> {
    let ask = async {
        let mut stream = TcpStream::connect(server).await?;
        let mut command = format!("*{}\r\n", words.len()).into_bytes();
        for word in words {
            command.extend(format!("${}\r\n", word.len()).into_bytes());
            command.extend(*word);
            command.extend(b"\r\n");
        }
        command.extend(b"*1\r\n$4\r\nQUIT\r\n");
        stream.write_all(&command).await?;
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).await?;
        let answer = String::from_utf8_lossy(&answer).into_owned();
        // the last answer is that to QUIT
        Ok(answer.strip_suffix("+OK\r\n").unwrap_or(&answer).to_owned())
    };
    match timeout(ANSWER, ask).await {
        Ok(answer) => answer,
        Err(late) => Err(std::io::Error::other(late)),
    }
}
