"""Variants of hazards that the analysis itself gives or asks about. Pages give them severities and messages of their own."""

from __future__ import annotations

from typing import Final

AGAIN: Final = "again"
"""Nothing repeats it where it stands: it counts if something repeats the function."""

EAGER: Final = "eager"
"""It costs in code that no tracer runs."""

LOOP: Final = "loop"
"""The host reads it in the loop that calls the compiled function which computes it."""

CALLED: Final = "called"
"""So it does in a function, at the call that computes it: it counts if a loop calls the function at each turn."""

COLLECTED: Final = "collected"
"""So it does, in a loop that trains nothing."""

NO_AUTOGRAPH: Final = "no-autograph"
"""The tracer does not rewrite the control flow around it."""

UNREDUCED: Final = "unreduced"
"""The step goes on with the gradients of one device."""

FORMAT: Final = "format"
"""A text's format asks for the elements of what has none while it is traced."""

LEAK: Final = "leak"
"""What the traced function keeps outlives the tracing."""

DRAWN: Final = "drawn"
"""It is about a number that the host draws at random, and no tensor."""

SEED: Final = "seed"
"""It draws any integer, as a seed for operations that draw by themselves."""

HOST_ARRAY: Final = "array"
"""It is about an array of NumPy's, which the tracer makes a value of its graph."""

ASSERT: Final = "assert"
"""An assertion that the tracer can make one of its graph."""

HOST_ASSERT: Final = "host-assert"
"""An assertion that it cannot."""

VARIABLE: Final = "variable"
"""A variable that belongs to a graph is made anew at each call."""

UNHASHABLE: Final = "unhashable"
"""A call that fails, for an argument that cannot be told from others."""

COMPUTED: Final = "computed"
"""The tensor is made by the code itself, and no argument."""

REFUSED: Final = "refused"
"""The tracer cannot make it a part of the graph, also where it is told to make one graph of all."""

FULLGRAPH: Final = "fullgraph"
"""The tracer is told to make one graph of all, and raises an exception."""

COMPILED: Final = "compiled"
"""The compiler of the traced graph raises an exception, which run by itself it does not."""

SAVED: Final = "save"
"""It is written to a file: what does so saves a model now and then, unless a loop shows that it does at each step."""

ANY_GRAPH = frozenset((NO_AUTOGRAPH, FORMAT, VARIABLE))
"""What fails while a graph is recorded, whatever is to run it."""

WRONG_RESULTS = frozenset((NO_AUTOGRAPH, UNREDUCED, FULLGRAPH, COMPILED))
"""What fails or gives wrong results. Of several variants at one place it comes before what is slow."""
