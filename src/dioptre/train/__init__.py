"""Training: the only room that knows torch.

    network  MobileNetV2 in the paper's form, and the forms that go past it
    encode   what a network sees: looks made into planes, relative answers into scores
    loss     ordinal soft labels
    feed     batches out of a patch store, read while the last one is being learned
    quick    networks that no longer learn, run by ONNX Runtime
    finished what finished networks say and where they look, for others to learn from
    recipe   what to train, and how to run it
    fit      the training loop: checkpoints, validation, several processes
    export   a trained network as one ONNX file that explains itself

Tensors have the axes of a FocalStack, (batch, slice, view, row, col); every network is a function of
(pixels, indices, where) and answers with one score for each position of the ladder.
"""
