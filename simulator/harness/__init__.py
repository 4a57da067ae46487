"""The bridge to lm-evaluation-harness (lm_eval): any bot as its model, any data set and judges as its task.

This package is the only one that imports lm_eval, which is an extra; nothing here imports torch.
"""
