"""Parts of the page The bottleneck."""
