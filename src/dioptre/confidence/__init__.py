"""What an answer is worth: what a curve, a posterior and pictures tell of it.

curve       the noise of a focus curve, and its peak between slices
exposure    how bright a region is, and whether there is light in it
statistics  what is kept of each picture, so that it can be forgotten
contrast    the posterior of contrast: where the focus is by sharpness at some positions
features    what pictures say of an answer, as a few named numbers
model       from features to the odds of a miss; model.json holds what was fitted
verdict     state, confidence, risk and reasons of an answer
reasons     the states and the reasons, and their sentences
"""
