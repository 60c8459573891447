"""Cameras that focus: one protocol, and an adapter for each kind, one SDK a file.

    base       Camera: what a lens loop needs, and the contract in words
    devices    cameras by their address
    replay     a recorded stack as a camera
    simulated  a phone before a random scene, with a lens that strays
    makes      makes of camera as thin lenses, by name

A camera knows its own driver's units and hides them: outside, a lens position is an index of the ladder.
"""
