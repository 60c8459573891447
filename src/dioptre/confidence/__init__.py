"""What an answer is worth: what a curve, a posterior and pictures tell of it.

curve             the noise of a focus curve, its peak, its rivals
plateau           slices that are equally sharp, and whether a curve still rises at its end
exposure          how bright a region is, and whether there is light in it
sweep_statistics  what pictures show of themselves, slice by slice, whatever a method makes of them
features          all of this as named numbers
model             from features to a confidence and a risk; model.json holds what was fitted
verdict           state, confidence, risk and reasons of an answer
reasons           the states and the reasons, and their sentences
"""
