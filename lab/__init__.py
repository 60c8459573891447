"""What measures dioptre and fits its numbers: tools of its developers, not in the wheel.

    python -m lab.NAME

golden              today's answers, pinned: what a change of code may not change
shape               files, lines, functions and constants of each room
speed, scale        how fast things are, as ratios in one run; what the paper's test set would take
faults, attack      what confidence is worth when things go wrong (degradations, fault_table, true_sweeps)
loop                a lens focused by dioptre and by other searches, on simulated cameras
fit_confidence      the model of doubt, fitted to confidence_samples of true_sweeps
slow_references     the classical measures, plain and slow; slow_renderer: a scene, point by point
fuzz                hostile files, and commands that are stopped at any moment
realism             simulated pictures beside real ones
rigs                labels that five phones make, beside the truth
devices             the INDI server's simulators, and pictures of runs for the how-to pages
recipes             numbers of weights and of stopping, counted again; single ideas, tried
paper.sh            every simulated test set, predictions, and the paper's tables
"""
