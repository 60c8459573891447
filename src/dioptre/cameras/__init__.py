"""Cameras that focus: one protocol, and an adapter for each kind, one SDK a file.

    base       Camera and Lens: what a lens loop needs, and the contract in words
    frames     what a camera gives as a frame, or a sentence about what it is instead
    devices    cameras by their address
    replay     a recorded stack as a camera
    simulated  a phone before a random scene, with a lens that strays
    camera_presets makes of camera as thin lenses, by name

    indi           telescopes: indi_client speaks the protocol, indi_messages and fits read what comes,
                   indi_devices finds and connects what there is, indi_ccd and indi_focuser are its halves
    micromanager   microscopes; micromanager_engine focuses within an acquisition, micromanager_replay is a
                   recorded stack as a camera and a stage
    picamera2      Raspberry Pi cameras
    opencv         webcams
    pair, own_file any picture source and any lens as one camera, also from a person's own file
    device_base    what these share: closing, stopping, addresses

A camera knows its own driver's units and hides them: outside, a lens position is an index of the grid.
"""
