"""A run held in parts on several machines, and the parts put together to the run that one would have held."""
