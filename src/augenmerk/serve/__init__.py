"""`augenmerk serve`: translating over HTTP, and the pages of the workbench.

A request travels through these modules, in this order:

connections.py     how many connections there may be, how long each waits for its client, bodies
guard.py           who may ask: Host, Origin, API keys
endpoint.py        a route, what all routes need (`Service`) and check, and their description
api.py             requests, responses and the table of routes; libretranslate.py has those for its clients
batcher.py         threads that compute: requests that arrive meanwhile are their next batch
registry.py        the models of the process, loaded once, and the runs below a folder

limits.py has the limits and errors of all of them, server.py is the process, and workbench/ has the pages.

`session.py` is a server in a function. This package can be called in its place: `augenmerk.serve(...)`.

May import: everything but bench and cli. Read first: `api.py`.
"""

from augenmerk.base.modules import make_callable

make_callable(__name__, "serve")
