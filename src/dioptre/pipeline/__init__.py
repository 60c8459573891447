"""One function for each arrow of the data flow: what it needs in, one folder out.

checking    whether the labels and codes of a store can be right
demo        a small simulated test set, every method, one focus curve
importing   a store of labelled patches from the published data set or own captures
registering a store of patches with focal breathing undone
simulate    a store of labelled patches
"""
