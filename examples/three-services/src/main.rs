//! Runs the shop, sends visitors through it while all services are promoted, and shows what they
//! met.

use std::error::Error;
use std::io::Write;
use std::sync::Arc;

use three_services::{Shop, show, visits};

const VISITORS: usize = 12;
/// Of each, one half before the promote.
const VISITS: usize = 6;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error + Send + Sync>> {
    let shop = Arc::new(Shop::open().await?);
    let met = visits(&shop, VISITORS, VISITS).await?;
    writeln!(std::io::stdout(), "{}", show(&met))?;
    Ok(())
}
