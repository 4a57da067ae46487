"""Single-turn data sets: rows of a file, what is wrong with some of them, and who grades them."""
