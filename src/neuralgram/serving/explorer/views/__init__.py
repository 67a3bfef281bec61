"""The views: each has a `build(shell)`, which makes it inside the current place of the page."""
