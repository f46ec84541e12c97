//! What a path leads to.

use serde_json::Value;

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

    /// For Prometheus.
    pub fn metrics(body: String) -> Self {
        Self { code: 200, content_type: "text/plain; version=0.0.4; charset=utf-8", body }
    }

    pub fn json(value: &Value) -> Self {
        Self { code: 200, content_type: "application/json", body: value.to_string() }
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
