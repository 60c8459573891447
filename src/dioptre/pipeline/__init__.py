"""One function for each arrow of the data flow: what it needs in, one folder out.

demo      a small simulated test set, every method, one focus curve
simulate  a store of labelled patches
"""
