"""Starts the server in the folder `server` beside this file: `python -I start.py server`."""

import os
import sys

# Any version of Python is to get as far as the message.
if not (3, 10) <= sys.version_info[:2] <= (3, 14):
    sys.exit("xlalint needs Python 3.10 to 3.14; this is %d.%d" % sys.version_info[:2])  # noqa: UP031
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "server"))  # noqa: PTH100, PTH118, PTH120

from xlalint.start import run

run()
