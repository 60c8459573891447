"""From what a rig captures to what a patch should be labelled with.

register               undoing focal breathing: where each slice shows what the first one shows; resampling
composite              the slices of a sweep aligned, and one sharp picture of them
features               places in several pictures that show the same point
localise               where these are, to a few hundredths of a pixel
projection             how a rig sees points, and the derivatives of that
bundle                 poses, lenses and points that explain these, by least squares
structure_from_motion  the poses of a rig, checked before they are believed
consensus              what several captures say together about their rig
poses                  what is known of a rig before anybody looks, and what comes of it
colmap                 these as a COLMAP text model
mvs                    depth by a plane sweep, and its confidence
reconstruct            all of that in its order
kernels                what runs in the inner loops
"""
