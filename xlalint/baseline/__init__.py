"""What of the findings is new: against those that a project recorded, or against a revision of its repository."""
