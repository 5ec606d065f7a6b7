"""`xlalint server`: the analysis for editors, by the Language Server Protocol.

`documents` keeps what is open; `workspace` holds a program (`xlalint.project.session`) for each folder, on the thread of the `analyst`;
`diagnostics`, `actions` and `hovers` put what it says as the protocol has it; `server` answers the client.
"""
