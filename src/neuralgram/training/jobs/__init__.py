"""Jobs: text and settings to a model directory. They call a run (`fit`), which calls the loop."""
