"""The camera in software: scenes with known focus, seen through a lens that defocuses.

So far one kind of scene, a textured plane that faces the camera in the middle of the field:

    scene   textures
    psf     what a point becomes in the left and the right view
    sensor  noise and quantisation
    render  a stack of a plane at a known depth

No files, no torch; every random draw comes from a generator that the caller passes.
"""
