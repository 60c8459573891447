"""Labels that a rig of five phones makes, beside the truth."""
