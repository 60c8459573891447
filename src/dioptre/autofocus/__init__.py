"""A lens that is focused: by a few looks, by a sweep if need be, and checked at the end.

autofocus      Autofocus: what its user says
lens_settings  a lens's settings, each declared once
lens_plan      what one run is asked to do
run            one run: look, verify, sweep if need be, leave the lens somewhere
looks          what all looks say together of the focus and of the growth of blur
next_look      where a lens looks next
memory         what was learned of a lens and is kept
controller     a camera within a run: its limits, its time, its backlash, its trace
search         from look to look on a recorded stack: the search of evaluation and training
tracking       a lens that stays while the picture is sharp, and follows a change
"""
