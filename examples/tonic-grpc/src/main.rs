//! Runs both services, sends shoppers through them, and shows what they met.

use std::io::Write;

use tonic_grpc::{Cart, Failure, NEW, Price, Shopper};
use tower_affinity::Keyring;

const SHOPPERS: usize = 6;
const ITEMS: usize = 3;

#[tokio::main]
async fn main() -> Result<(), Failure> {
    let keys = Keyring::ephemeral()?;
    let price = Price::start(keys.clone()).await?;
    let cart = Cart::start(keys, price.address()).await?;
    let mut shoppers = Vec::new();
    for _ in 0..SHOPPERS {
        shoppers.push(Shopper::connect(cart.address()).await?);
    }
    for item in 0..ITEMS {
        for (number, shopper) in shoppers.iter_mut().enumerate() {
            let sum = shopper.add(&format!("item {item}")).await?;
            let met = sum.met.join(" → ");
            writeln!(std::io::stdout(), "shopper {number}, item {item}: {met}")?;
        }
    }
    cart.end_sessions_of(NEW)?;
    for (number, shopper) in shoppers.iter_mut().enumerate() {
        let told = match shopper.add("one more").await {
            Ok(sum) => sum.met.join(" → "),
            Err(status) => format!("{:?}: {}", status.code(), status.message()),
        };
        writeln!(
            std::io::stdout(),
            "shopper {number}, after the abort: {told}"
        )?;
    }
    Ok(())
}
