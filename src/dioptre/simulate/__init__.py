"""The camera in software: scenes with known focus, seen through a lens that defocuses.

    scene     layers with depth
    texture   what is painted on them: dead leaves, print, photographs
    relief    photographs with depth as scenes
    device    one phone: pupil, shading, bias of the lens
    psf       what a point becomes in the left and the right view
    render    what both views see of a scene
    aperture  the same, slow and plain: the reference
    lens      where the lens really goes
    sensor    clipping, binning, noise, quantisation
    capture   one random patch, from all of these
    kernels   what runs in the inner loops

No files, no torch; every random draw comes from a generator that the caller passes.
"""
