"""One function for each arrow of the data flow: what it needs in, one folder out.

simulate     a store of labelled patches
importing    a store of labelled patches from the published data set or own captures
checking     whether the labels and codes of a store can be right
registering  a store of patches with focal breathing undone
training     a shipped network from nothing, by its recipe
recipes      the shipped networks as rows of data
predicting   what methods answer for the patches of a store
reporting    the paper's tables and figures out of predictions, and one page of them
illustrating the figures of a report
ledger       the files that a report wrote, and may write again
demo         all of it on a small simulated test set, and one focus curve
settings     what decides each of them: one plain value, which is also its flags
processes    pieces of work, and who runs them
shards       a store whose missing shards are such pieces
"""
