"""The explorer: a local web page on which every number of a model can be touched.

limits, settings, address   what a visitor may ask for, what they chose, and how a link carries it
texts, run, worker          the text, one reproducible training run, and the thread that drives it
snapshot, vectors, pulls,   what the views show, as plain values: all of it works without a browser
reading, decay, inside
session                     one visitor
charts, html, shell         how values look
views/                      one file a view
app                         the page and the server
"""
