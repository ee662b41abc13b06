"""How are the paper's experiments run, and how do our numbers compare with the published ones?"""
