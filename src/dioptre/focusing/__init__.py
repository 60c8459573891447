"""One call: a stack or a few looks in, a FocusResult out.

arguments        methods and priors as users name them
inputs           regions and lens positions as users give them, checked
slices           what people hand over, as pictures that are read and scaled slice by slice
looks            a few frames, each with where the lens was
own_positions    answers in the unit of a camera that was given
regions          the part of all slices that is measured
bright_regions   where a picture that is mostly black has its light
score_slices     one pass over the slices: curves of tiles, and statistics of each slice
camera_transfer  networks asked about a camera that they were not trained on
depths           things in a picture that are sharp at different slices, and which is the subject
focus            focus and focus_from
focus_map        the same for every patch of a frame
composite        one picture with everything sharp
result           FocusResult; html and preview: how notebooks show it
plain            values that JSON can say
trace            the frames that a lens took, step by step
"""
