"""Controls for options, and the address that keeps what they say."""
