"""`augenmerk serve`: translating over HTTP, and the pages of the workbench.

app.py             the routes, and what they need (`Service`)
batcher.py         one thread that computes: requests that arrive meanwhile are its next batch
library.py         the models of the process, loaded once
limits.py          what a request may ask for, and how long it may wait
guard.py           who may ask: Host, Origin, API keys
body.py            the size of a body, and what happens to one that nobody reads
connections.py     how many connections there may be, and how long each may wait for its client
server.py          the process: sockets, signals, draining
schemas.py         requests and answers
libretranslate.py  the API of LibreTranslate, for clients that know that one
metrics.py         counts for Prometheus
openapi.py         the description of the API, and a page that shows it

May import: everything but bench and cli. Read first: `app.py`.
"""
