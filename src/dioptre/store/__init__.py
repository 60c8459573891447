"""What dioptre writes, and the published data set that it imports.

patches       open_patches and PatchStore, which are the same for every kind of store
patch_shards  stores that keep each patch by itself: writer and reader
captures      stores of whole captures, of which patches are windows: writer and reader
shards        what both share: parts that are written, resumed and read one by one
packing       frames in as few bits as hold them; kernels: the compiled part
format        what all patches of a store have in common
table         rows of patches, checked, and their tables
schema        what tables and JSON files must hold
parquet       tables in Parquet files, the door to pyarrow
manifest      how a folder is begun, resumed and completed; whole files
lock          one writer for each folder
checksums     whether stored pixels are what was written
npz           arrays by name in one file
recordings    a sweep of a camera as a folder of pictures
depth_images  pictures of two views with a map of depths, for networks that tell depth
own_captures  people's own captures, to be imported
labels        what depth and confidence maps say about each patch
maps          depth and confidence maps as files
published     the published data set: its tree, frames, archives and labels
"""
