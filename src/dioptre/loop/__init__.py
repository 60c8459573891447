"""Deciding: from scores to an answer that says how sure it is, and why not when it is not.

inputs     what people hand over, checked
steps      lens positions of any camera as the steps that networks think in
any_camera networks asked about looks and stacks of a camera that they do not know
stepped    such a camera's lens, moved by steps
search     from look to look: the one search of evaluation, training and a lens
curve      the noise of a focus curve, its peak, its rivals
plateau    slices that are equally sharp, and whether a curve still rises at its end
exposure   how bright a region is
verdict    is this focus curve a peak, does this posterior tell? state, confidence, reasons
depths     things in a picture that are sharp at different slices, and which is the subject
signal     where a picture that is mostly black has its light
result     FocusResult
preview    what a result looked at, small; html: a result as notebooks show it
request    methods, priors and looks as users name them
focus      one call: a stack or a few looks in, a FocusResult out
focus_map  the same of every patch of a frame
composite  each pixel from the slice in which it is sharp
journal    what a run did with a lens, step by step
drive      a camera as a run uses it: within limits, in time, from one side
sweeping   focus by contrast alone, coarse to fine
closing    has a lens looked often enough, and does it see what it was promised?
running    one run: look, verify, sweep if need be, leave the lens somewhere
tracking   a lens that stays while it is sharp, and follows a change
autofocus  a lens, focused: what its user says
camera_fit how fast blur and disparity grow along a lens's way
"""
