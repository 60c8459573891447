"""The camera in software: scenes with known focus, seen through a lens that defocuses.

    scene             layers with depth
    texture           what things are made of: dead leaves, print, roughness, photographs
    clutter           things of many sizes on a ground, as pictures of surfaces
    layout            where surfaces lie in depth
    depth_photograph  photographs with depth as scenes
    light             brightness, noise, and how they change over a patch and a stack
    visibility        is there anything to focus on?
    device            one phone: pupil, blur on both sides of focus, shading, bias of the lens
    psf               what a point becomes in the left and the right view
    render            what both views see of a scene
    aperture          the same, slow and plain: the reference
    lens              where the lens really goes
    sensor            clipping, binning, noise, quantisation
    capture           one random patch, from all of these
    stage             a scene before a phone, seen at any focus, frame after frame
    world             surfaces with metric places, for whole frames
    rig               five phones in a cross, and their mounting
    tile, frame       what a phone sees of a world, by tiles
    sweeps            a whole sweep of that, in some light
    mishaps           what the world does to a sweep: flicker, dust, noise, views exchanged
    faults            these as a table, with what can be decided
    kernels           what runs in the inner loops

No files, no torch; every random draw comes from a generator that the caller passes.
"""
