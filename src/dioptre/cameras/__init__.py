"""Cameras that focus: one protocol, and an adapter for each kind, one SDK a file.

    base       Camera: what a lens loop needs, and the contract in words
    devices    cameras by their address
    replay     a recorded stack as a camera
    simulated  a phone before a random scene, with a lens that strays
    makes      makes of camera as thin lenses, by name

    indi           telescopes: indi_client speaks the protocol, indi_messages and fits read what comes,
                   indi_devices finds and connects what there is
    micromanager   microscopes; micromanager_engine focuses within an acquisition, micromanager_replay is a
                   recorded stack as a camera and a stage
    picamera2      Raspberry Pi cameras
    opencv         webcams
    held, mosaic   what these share: closing, stopping, addresses; green of a Bayer mosaic

A camera knows its own driver's units and hides them: outside, a lens position is an index of the grid.
"""
