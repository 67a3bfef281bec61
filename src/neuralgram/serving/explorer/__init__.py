"""The explorer: a local web page on which every number of a model can be touched.

settings, address           what a visitor chooses and may use, and how a link carries it
texts, run, snapshot        the text, one reproducible training run, and its weights at one moment
session, worker             one visitor, and the thread that drives their run
inside, vectors, animals,   what the views show, as plain values: all of it works without a browser
reading
markup, drawing, wires,     how values look
charts, widgets
shell, views/               the frame of the page, and one file a view
app                         the page and the server
"""
