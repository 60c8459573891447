"""Training: the only room that knows torch.

recipe       what to train, how to run it, what it builds on (without torch)
networks/    one network a file, and the table of what differs from one to another
encode       what a network sees: looks made into planes, moves into positions
feed         batches out of patch stores, read while the last one is being learned
cache        features of frozen networks, in place of pixels
loss         ordinal soft labels
supervision  what is to be learned: targets, labels, a teacher's posterior
inference    networks that do not learn, run by ONNX Runtime
rollout      where networks look when they search
start        the weights that a network starts from
learner      a network while it learns: optimiser, moving average
ranks        the processes of a distributed run
folder       a run's folder, its resume, its lineage
fit          the training loop
export       a trained network as one ONNX file that explains itself
"""
