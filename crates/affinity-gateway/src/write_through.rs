//! Streams that look at what is read and leave what is written alone.

/// The methods of an `AsyncWrite` that pass everything on to `self.inner`, all of them or, with
/// `but poll_shutdown`, all but that one.
macro_rules! write_through {
    () => {
        $crate::write_through::write_through!(but poll_shutdown);

        fn poll_shutdown(
            mut self: ::std::pin::Pin<&mut Self>,
            cx: &mut ::std::task::Context<'_>,
        ) -> ::std::task::Poll<::std::io::Result<()>> {
            ::std::pin::Pin::new(&mut self.inner).poll_shutdown(cx)
        }
    };
    (but poll_shutdown) => {
        fn poll_write(
            mut self: ::std::pin::Pin<&mut Self>,
            cx: &mut ::std::task::Context<'_>,
            bytes: &[u8],
        ) -> ::std::task::Poll<::std::io::Result<usize>> {
            ::std::pin::Pin::new(&mut self.inner).poll_write(cx, bytes)
        }

        fn poll_write_vectored(
            mut self: ::std::pin::Pin<&mut Self>,
            cx: &mut ::std::task::Context<'_>,
            slices: &[::std::io::IoSlice<'_>],
        ) -> ::std::task::Poll<::std::io::Result<usize>> {
            ::std::pin::Pin::new(&mut self.inner).poll_write_vectored(cx, slices)
        }

        fn is_write_vectored(&self) -> bool {
            self.inner.is_write_vectored()
        }

        fn poll_flush(
            mut self: ::std::pin::Pin<&mut Self>,
            cx: &mut ::std::task::Context<'_>,
        ) -> ::std::task::Poll<::std::io::Result<()>> {
            ::std::pin::Pin::new(&mut self.inner).poll_flush(cx)
        }
    };
}

pub(crate) use write_through;
