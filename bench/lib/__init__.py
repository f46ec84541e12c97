"""What the benches share: private servers, measured processes, figures with intervals."""
