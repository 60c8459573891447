"""Deciding: from scores to an answer that says how sure it is, and why not when it is not.

inputs     what people hand over, checked
steps      lens positions of any camera as the steps that networks think in
any_camera networks asked about looks and stacks of a camera that they do not know
stepped    such a camera's lens, moved by steps
search     from look to look: the one search of evaluation, training and a lens
verdict    is this focus curve a peak, does this posterior tell? state, confidence, reasons
result     FocusResult
focus      one call: a stack or a few looks in, a FocusResult out
focus_map  the same of every patch of a frame
autofocus  a lens, focused by a few looks
"""
