"""How programs are set up for XLA devices: hazards that no tensor is needed for, found in the calls of host code.

The interpreter enters *host code* for them (module level, and the functions that lead to a call that is asked about, the callers first),
with what parameters default to, so that values are followed through variables, helpers, defaults, `dict` literals and `**arguments` as in
traced code. Nothing else is done for it: a check looks at a call when it is evaluated, and notes what it finds in the context, whoever
entered that. Which notes count is decided from the roots (`analysis.collection`): those that a program reaches that runs on an XLA device
of the library's framework (`frameworks.platforms`). So a check asks neither where it runs nor who called.

A function that is given to a loader or a mapping is entered for what it makes of batches; `Interpreter.collating` says so meanwhile.

A check is a function of a `CallSite`, entered in the registry under the dotted names of what is called. Where a rule's check is not sure
that the code runs on the device it says nothing: `CallSite.report` leaves out what stands in a branch on the device's kind, or in an
`except`.
"""
