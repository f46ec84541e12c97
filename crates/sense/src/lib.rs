//! What the machine and the server say: CPU, pressure, counters, I/O, server status. Changes nothing.
