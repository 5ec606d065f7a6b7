"""Find the findings that are new: against those that a project recorded, or against a revision of its repository."""
