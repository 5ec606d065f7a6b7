"""Rewrites: rule code → what to change in the text so that the finding goes, or the reason why nothing can be.

`rewrites` holds them, `edits` puts their edits into a text, `writing` puts texts on the disk. Which of them are applied, in which
rounds, and how their results are judged is `xlalint.project.fixing`'s.
"""
