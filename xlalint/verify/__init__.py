"""Verification: code runs on a real XLA compiler, in child processes, and what happens is compared with what was predicted.

    Subject + Specs ──child──▶ Backend.run(program, steps) ──▶ Step (what was counted) + Result (what was computed)
                    ──▶ Observation ──▶ verdict, table, JSON

This is the only part of xlalint that executes what it reads, and the only one that imports a framework: `backends` and `meters` do, in
the child process or, for `xlalint.watch`, in the user's own.
"""
