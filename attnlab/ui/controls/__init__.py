"""Controls for options, and the address that holds their values."""
