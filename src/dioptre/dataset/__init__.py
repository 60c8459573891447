"""What is on disk: the only room that knows file layouts.

Stacks that people have:

    pictures    whatever holds stacks, opened; photographs
    stacks      Pictures: the slices of one stack, read one by one
    axes        what each axis of a file or an array is, and which stacks it therefore holds
    series      picture files that are the slices of one stack
    tiff        stacks in TIFF files
    arrays      stacks in .npy and .npz files
    films       the frames of a video
    microscopes Zarr, .nd2, .czi; what would read what is not read
    positions   where the lens was at each slice
    names       what the names of picture files say
    decoding    one picture: bytes to codes

Labelled patches:

    store       PatchStore, which is the same for every kind of store, and its views
    patches     stores that keep each patch by itself: writer and reader
    captures    stores of whole captures, of which patches are windows: writer and reader
    shards      what both do alike: shards that are written, resumed and read one by one
    packing     frames in as few bits as hold them
    format      what all patches of a store have in common
    rows        rows of patches, checked, and their tables
    manifest    how a folder is begun, resumed and completed; whole files
    kernels     the compiled part

Captures to import:

    published   the published data set: tree, names, splits, labels
    frames      its frames as files
    archives    its archives, as streams
    folders     people's own captures
    labels      what depth and confidence maps say about each patch
    maps        depth and confidence maps as files
"""
