"""What `bench/cdr` is made of: a private server, the truth about a file, kills, rates and planted faults."""
