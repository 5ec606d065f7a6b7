"""xlalint finds Python that XLA cannot compile well.

The data goes one way, one sub-package a stage:

    source -> lowering -> semantics -> checks -> report

`xlalint.project` runs the stages over a set of paths, `xlalint.cli` is the command line.
"""

__version__ = "0.1.0"
