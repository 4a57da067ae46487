"""Prompts that are applied to each row of a data set when it is asked, and chains of them."""
