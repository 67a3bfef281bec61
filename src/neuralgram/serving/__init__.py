"""What is served over HTTP: thin, it renders what the rooms below return."""
