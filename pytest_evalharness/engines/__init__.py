"""Decision engines on real calls: which decision table would have done better, told from the log alone."""
