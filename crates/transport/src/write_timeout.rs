//! A connection that does not wait forever for the other side to read.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Sleep, sleep};

/// A stream whose writes fail once nothing has been taken from it for so long.
pub(crate) struct WriteTimeout<T> {
    stream: T,
    patience: Duration,
    /// Runs while something waits to be written.
    timer: Pin<Box<Sleep>>,
    waits: bool,
}

impl<T> WriteTimeout<T> {
    pub(crate) fn new(stream: T, patience: Duration) -> Self {
        Self {
            stream,
            patience,
            timer: Box::pin(sleep(patience)),
            waits: false,
        }
    }

    /// What a write came to, unless it has waited for too long.
    fn settle<R>(
        &mut self,
        cx: &mut Context<'_>,
        written: Poll<io::Result<R>>,
    ) -> Poll<io::Result<R>> {
        if written.is_ready() {
            self.waits = false;
            return written;
        }
        if !self.waits {
            self.waits = true;
            self.timer.set(sleep(self.patience));
        }
        ready!(self.timer.as_mut().poll(cx));
        Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
    }
}

impl<T: AsyncRead + Unpin> AsyncRead for WriteTimeout<T> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, buffer)
    }
}

impl<T: AsyncWrite + Unpin> AsyncWrite for WriteTimeout<T> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(cx, bytes);
        self.settle(cx, written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(cx, slices);
        self.settle(cx, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = Pin::new(&mut self.stream).poll_flush(cx);
        self.settle(cx, flushed)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let shut = Pin::new(&mut self.stream).poll_shutdown(cx);
        self.settle(cx, shut)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    #[tokio::test(start_paused = true)]
    async fn only_who_reads_nothing_for_too_long_is_given_up() {
        let patience = Duration::from_secs(60);
        let (ours, mut theirs) = tokio::io::duplex(16);
        let mut ours = WriteTimeout::new(ours, patience);
        let slow = tokio::spawn(async move {
            let mut buffer = [0; 16];
            for _ in 0..4 {
                sleep(patience / 2).await;
                theirs.read_exact(&mut buffer).await.unwrap();
            }
            theirs
        });
        ours.write_all(&[0; 64]).await.unwrap();
        let _theirs = slow.await.unwrap();
        let error = ours.write_all(&[0; 64]).await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
    }
}
