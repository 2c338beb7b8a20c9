//! A client that keeps its pin in metadata.

use std::net::SocketAddr;

use http::uri::PathAndQuery;
use tonic::Status;
use tonic::metadata::{Ascii, MetadataMap, MetadataValue};
use tonic::transport::Channel;
use tonic_prost::ProstCodec;

use crate::Failure;
use crate::wire::{ADD, Item, Sum};

const PIN: &str = "affinity-pin";

/// Somebody who buys things.
#[derive(Debug)]
pub struct Shopper {
    cart: tonic::client::Grpc<Channel>,
    pin: MetadataValue<Ascii>,
}

impl Shopper {
    /// Somebody new, with a connection of their own.
    ///
    /// # Errors
    ///
    /// If there is nobody at `cart`.
    pub async fn connect(cart: SocketAddr) -> Result<Self, Failure> {
        let channel = Channel::from_shared(format!("http://{cart}"))?;
        Ok(Self {
            cart: tonic::client::Grpc::new(channel.connect().await?),
            // an empty one asks for a pin
            pin: MetadataValue::from_static(""),
        })
    }

    /// Puts something into the cart.
    ///
    /// # Errors
    ///
    /// What the service says instead of an answer.
    pub async fn add(&mut self, name: &str) -> Result<Sum, Status> {
        let mut request = tonic::Request::new(Item {
            name: name.to_owned(),
        });
        request.metadata_mut().insert(PIN, self.pin.clone());
        let away = |error| Status::unavailable(format!("cart is away: {error}"));
        self.cart.ready().await.map_err(away)?;
        let (path, codec) = (
            PathAndQuery::from_static(ADD),
            ProstCodec::<Item, Sum>::default(),
        );
        match self.cart.unary(request, path, codec).await {
            Ok(answer) => {
                self.keep(answer.metadata());
                Ok(answer.into_inner())
            }
            Err(status) => {
                // the pin of a session that has ended is cleared by an empty one
                self.keep(status.metadata());
                Err(status)
            }
        }
    }

    /// Whether it holds a pin.
    #[must_use]
    pub fn has_pin(&self) -> bool {
        !self.pin.is_empty()
    }

    fn keep(&mut self, metadata: &MetadataMap) {
        if let Some(pin) = metadata.get(PIN) {
            self.pin = pin.clone();
        }
    }
}
