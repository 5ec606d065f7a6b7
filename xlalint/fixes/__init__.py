"""Rewrites: rule code → what to change in the text so that the finding goes, or the reason why nothing can be.

`registry` lists them by rule, `toolkit.edits` puts their edits into a text, `toolkit.writing` puts texts on the disk. Which of them are
applied, in which rounds, and how their results are judged is decided by `xlalint.project.fixing`.
"""
