"""What agents that write code are offered, by the Model Context Protocol."""
