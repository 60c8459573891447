"""Stacks that people have: pictures that were taken at different lens positions, in whatever files.

formats      whatever holds stacks, opened; photographs
pictures     Pictures: the slices of one stack, read one by one; Window: a part of a picture
axes         what each axis of a file or an array is, and which stacks it therefore holds
series       picture files that are the slices of one stack
tiff         stacks in TIFF files
arrays       stacks in .npy and .npz files
video        the frames of a video
microscopes  Zarr, .nd2; zeiss: .czi
positions    where the lens was at each slice
filenames    what the names of picture files say
bayer        green of a mosaic
colours      which colour of pictures is read
decoding     one picture: bytes to codes; encoding: codes to bytes
"""
