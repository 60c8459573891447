"""The published data set of "Learning to Autofocus" on disk.

layout    its tree, names, splits and labels
frames    its frames as files
archives  its archives, read as streams
writing   the same tree, written
"""
