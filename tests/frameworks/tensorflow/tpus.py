"""Programs that make a TPU ready, and the lines of what is found in them."""

from __future__ import annotations

from xlalint.config import Settings
from xlalint.project import check_text

IMPORTS = "import os\nimport tensorflow as tf\nfrom tensorflow.distribute.cluster_resolver import TPUClusterResolver\n"
LOCAL = "r = TPUClusterResolver('local')\n"
CONNECT = "tf.config.experimental_connect_to_cluster(r)\n"
INITIALISE = "tf.tpu.experimental.initialize_tpu_system(r)\n"
STRATEGY = "strategy = tf.distribute.TPUStrategy(r)\n"
READY = f"{CONNECT}{INITIALISE}{STRATEGY}"
ALL = f"{LOCAL}{READY}"
AT_ONCE = "strategy = tf.distribute.TPUStrategy(tf.distribute.cluster_resolver.TPUClusterResolver.connect('local'))\n"

# By where the TPU is: at a node of its own, in the machine of the program, or not known.
NODE = f"import keras\n{IMPORTS}r = TPUClusterResolver('grpc://10.0.0.2:8470')\n{READY}"
MACHINE = f"import keras\n{IMPORTS}r = TPUClusterResolver(tpu='local')\n{READY}"
UNKNOWN = f"import keras\n{IMPORTS}r = TPUClusterResolver(tpu=os.environ['TPU'])\n{READY}"

_MARKS = {"info": "i ", "warning": "w ", "error": ""}


def find_lines(text: str, rule: str) -> list[str]:
    """Find the lines to which a rule applies, with a mark at those that are no error."""
    report = check_text(text, "train.py", Settings(target="tf", show_info=True, select=(rule,), python=None))
    assert not report.failures
    lines = text.splitlines()
    return [_MARKS[one.severity] + lines[one.location.row - 1].strip() for one in report.findings]
