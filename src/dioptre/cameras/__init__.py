"""Cameras that focus: one protocol, and an adapter for each kind, one SDK a file.

    base     Camera: what a lens loop needs, and the contract in words
    replay   a recorded stack as a camera
    makes    makes of camera as thin lenses, by name

A camera knows its own driver's units and hides them: outside, a lens position is an index of the ladder.
"""
