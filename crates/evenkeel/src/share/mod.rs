//! What an operator sees of a host that shares storage: metrics, logs, the live view.
