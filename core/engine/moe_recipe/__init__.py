"""See docs/MOE.md."""
