"""From evidence to a decision: the words, what was claimed before, and the judge.

Import from the modules: `words` alone is light enough for every pytest run.
"""
