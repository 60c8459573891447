"""From what a rig captures to what a patch should be labelled with.

register  undoing focal breathing: where each slice shows what the first one shows, and resampling it there
"""
