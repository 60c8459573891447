"""A lens that is focused: by a few looks, by a sweep if need be, and checked at the end.

autofocus        Autofocus: what its user says
search           from look to look: the one search of evaluation, training and a lens
stopping         whether the lens has looked often enough, and sees what it was promised
sweep            focus by contrast alone, coarse to fine
run              one run: look, verify, sweep if need be, leave the lens somewhere
run_settings     what a run is asked to do
controller       a camera within a run: its limits, its time, its backlash, its trace
rescaled_camera  a camera that the networks do not know, as one that they do
tracking         a lens that stays while the picture is sharp, and follows a change
"""
