//! What a path leads to: a page, or one that has to be waited for.

/// An answer to a client: a page, or why there is none.
#[derive(Debug, PartialEq, Eq)]
pub struct Page {
    /// 200, 404 or 503, say.
    pub code: u16,
    pub content_type: &'static str,
    pub body: String,
}

impl Page {
    pub fn text(code: u16, body: impl Into<String>) -> Self {
        Self { code, content_type: "text/plain; charset=utf-8", body: body.into() }
    }

    pub(super) fn head(&self) -> String {
        let reason = match self.code {
            200 => "OK",
            404 => "Not Found",
            405 => "Method Not Allowed",
            500 => "Internal Server Error",
            _ => "Service Unavailable",
        };
        format!(
            "HTTP/1.1 {} {reason}\r\nContent-Type: {}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
            self.code,
            self.content_type,
            self.body.len()
        )
    }
}

/// Makes a page that may have to wait for something.
pub type Job = Box<dyn FnOnce() -> Page + Send>;

pub enum Answer {
    Now(Page),
    /// One that may take a while: it is made in another thread, so that nobody waits who asks for another one.
    Later(Job),
}

impl From<Page> for Answer {
    fn from(page: Page) -> Self {
        Self::Now(page)
    }
}
