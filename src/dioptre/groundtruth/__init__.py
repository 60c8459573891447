"""From what a rig captures to what a patch should be labelled with.

register               undoing focal breathing: where each slice shows what the first one shows; resampling
composite              the slices of a sweep aligned, and one sharp picture of them
features               places in several pictures that show the same point
bundle                 poses, lenses and points that explain these, by least squares
structure_from_motion  the poses of a rig, checked before they are believed
colmap                 these as a COLMAP text model
mvs                    depth by a plane sweep, and its confidence
reconstruct            all of that in its order
kernels                what runs in the inner loops
"""
